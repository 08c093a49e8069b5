/* SPDX-License-Identifier: GPL-2.0-only */
/* engines/transport/virtio-pci.c on devices that are memory, and say wrong things of themselves */

#include <endian.h>
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <linux/virtio_config.h>
#include <linux/virtio_ids.h>
#include <cmocka.h>

#include "base/rng.h"
#include "engines/transport/virtio-pci.h"

#define BAR_BYTES	0x4000u
#define COMMON_AT	0x0000u
#define NOTIFY_AT	0x3000u
#define DEVICE_AT	0x2000u
#define NOTIFY_BYTES	0x20u

/* Registers that are memory answer with what was written: a reset ends at once. */
static struct {
	uint8_t config[PCI_CFG_SPACE_SIZE];
	char mem[BAR_BYTES] __attribute__((aligned(8)));
	struct pci_bar bar[PCI_STD_NUM_BARS];
	struct virtio_pci d;
} t;

static struct virtio_pci_common_cfg *common(void)
{
	return (void *)(t.mem + COMMON_AT);
}

static void put16(unsigned int at, uint16_t value)
{
	t.config[at] = value;
	t.config[at + 1] = value >> 8;
}

static struct virtio_pci_notify_cap *cap(unsigned int at)
{
	return (void *)(t.config + at);
}

static void add_cap(unsigned int at, unsigned int next, unsigned int type, uint32_t offset,
		    uint32_t length)
{
	*cap(at) = (struct virtio_pci_notify_cap) {
		.cap = {
			.cap_vndr = PCI_CAP_ID_VNDR,
			.cap_next = next,
			.cap_len = sizeof(struct virtio_pci_notify_cap),
			.cfg_type = type,
			.bar = 4,
			.offset = htole32(offset),
			.length = htole32(length),
		},
		.notify_off_multiplier = htole32(4),
	};
}

/* A device with two queues that is as it should be. */
static int set_up(void **state)
{
	(void)state;
	memset(&t, 0, sizeof(t));
	put16(PCI_VENDOR_ID, 0x1af4);
	put16(PCI_DEVICE_ID, 0x1042);
	put16(PCI_STATUS, PCI_STATUS_CAP_LIST);
	t.config[PCI_CAPABILITY_LIST] = 0x40;
	add_cap(0x40, 0x60, VIRTIO_PCI_CAP_COMMON_CFG, COMMON_AT, sizeof(struct virtio_pci_common_cfg));
	add_cap(0x60, 0x80, VIRTIO_PCI_CAP_NOTIFY_CFG, NOTIFY_AT, NOTIFY_BYTES);
	add_cap(0x80, 0, VIRTIO_PCI_CAP_DEVICE_CFG, DEVICE_AT, 0x40);
	t.bar[4] = (struct pci_bar) { .at = t.mem, .size = BAR_BYTES };
	t.d.timeout_ms = 10;
	common()->num_queues = htole16(2);
	common()->queue_size = htole16(256);
	common()->device_feature = htole32(3);
	return 0;
}

static int find(void)
{
	return virtio_pci_find(&t.d, VIRTIO_ID_BLOCK, t.config, t.bar);
}

static void refused(int err, const char *why)
{
	assert_int_equal(find(), -err);
	if (!strstr(t.d.why.text, why))
		fail_msg("'%s' is not in '%s'", why, t.d.why.text);
}

static void test_found(void **state)
{
	(void)state;
	assert_int_equal(find(), 0);
	assert_ptr_equal(t.d.common, t.mem + COMMON_AT);
	assert_ptr_equal(t.d.notify.at, t.mem + NOTIFY_AT);
	assert_ptr_equal(t.d.device.at, t.mem + DEVICE_AT);
	assert_int_equal(t.d.notify_multiplier, 4);
}

static void test_transitional(void **state)
{
	(void)state;
	put16(PCI_DEVICE_ID, 0x1001);
	refused(ENODEV, "no virtio device of type 2");
	put16(PCI_SUBSYSTEM_ID, VIRTIO_ID_BLOCK);
	assert_int_equal(find(), 0);
}

static void test_other_device(void **state)
{
	(void)state;
	put16(PCI_DEVICE_ID, 0x1041);
	refused(ENODEV, "device id 1041");
	put16(PCI_DEVICE_ID, 0x1042);
	put16(PCI_VENDOR_ID, 0x8086);
	refused(ENODEV, "vendor is 8086");
}

static void test_no_capabilities(void **state)
{
	(void)state;
	put16(PCI_STATUS, 0);
	refused(ENODEV, "legacy");
}

static void test_outside_bar(void **state)
{
	(void)state;
	cap(0x60)->cap.offset = htole32(BAR_BYTES - NOTIFY_BYTES + 2);
	refused(EPROTO, "notification structure is outside BAR 4");
	cap(0x60)->cap.offset = htole32(NOTIFY_AT);
	cap(0x80)->cap.offset = htole32(0xfffffff0);
	refused(EPROTO, "device configuration is outside BAR 4");
	cap(0x80)->cap.offset = htole32(DEVICE_AT);
	cap(0x40)->cap.length = htole32(0xffffffff);
	refused(EPROTO, "common configuration is outside BAR 4");
}

static void test_too_short(void **state)
{
	(void)state;
	cap(0x40)->cap.length = htole32(sizeof(struct virtio_pci_common_cfg) - 1);
	refused(EPROTO, "too short");
	cap(0x40)->cap.length = htole32(sizeof(struct virtio_pci_common_cfg));
	cap(0x60)->cap.cap_len = sizeof(struct virtio_pci_cap);
	refused(EPROTO, "too short");
}

static void test_unaligned(void **state)
{
	(void)state;
	cap(0x40)->cap.offset = htole32(2);
	refused(EPROTO, "not aligned");
}

/* A capability of a reserved BAR, or of one that is not mapped, is passed over. */
static void test_passed_over(void **state)
{
	(void)state;
	add_cap(0xa0, 0x40, VIRTIO_PCI_CAP_COMMON_CFG, 0, 0xffffffff);
	cap(0xa0)->cap.bar = 6;
	t.config[PCI_CAPABILITY_LIST] = 0xa0;
	assert_int_equal(find(), 0);
	cap(0xa0)->cap.bar = 0;
	assert_int_equal(find(), 0);
	cap(0x40)->cap.bar = 0;
	refused(ENODEV, "common configuration");
}

static void test_circle(void **state)
{
	(void)state;
	cap(0x60)->cap.cap_next = 0x40;
	refused(ENODEV, "device configuration");
}

static void test_end_of_space(void **state)
{
	(void)state;
	t.config[PCI_CAPABILITY_LIST] = 0xfc;
	t.config[0xfc] = PCI_CAP_ID_VNDR;
	t.config[0xfc + VIRTIO_PCI_CAP_LEN] = 16;
	t.config[0xfc + VIRTIO_PCI_CAP_CFG_TYPE] = VIRTIO_PCI_CAP_COMMON_CFG;
	refused(EPROTO, "too short");
}

/* Whatever the configuration space holds, what is found lies in memory that there is. */
static void test_noise(void **state)
{
	unsigned int found = 0;
	struct rng rng;

	rng_seed(&rng, 1);
	for (unsigned int n = 0; n < 100000; n++) {
		set_up(state);
		for (unsigned int i = rng_below(&rng, 16); i; i--)
			t.config[0x34 + rng_below(&rng, PCI_CFG_SPACE_SIZE - 0x34)] = rng_below(&rng, 256);
		if (find())
			continue;
		found++;
		assert_in_range((volatile char *)t.d.common - t.mem, 0, BAR_BYTES - sizeof(*t.d.common));
		assert_true(t.d.notify.at >= t.mem &&
			    t.d.notify.at + t.d.notify.length <= t.mem + BAR_BYTES);
		assert_true(t.d.device.at >= t.mem &&
			    t.d.device.at + t.d.device.length <= t.mem + BAR_BYTES);
	}
	assert_in_range(found, 1000, 99000);
}

static void test_negotiate(void **state)
{
	const uint64_t platform = 1ull << VIRTIO_F_VERSION_1 | 1ull << VIRTIO_F_ACCESS_PLATFORM;

	(void)state;
	assert_int_equal(find(), 0);
	/* Both halves of the features read as bits 0 and 1. */
	assert_int_equal(virtio_pci_negotiate(&t.d, platform | 1, platform), 0);
	assert_int_equal(t.d.features, platform | 1);
	assert_int_equal(t.d.max_queues, 2);
	assert_int_equal(virtio_pci_status(&t.d), VIRTIO_CONFIG_S_ACKNOWLEDGE |
			 VIRTIO_CONFIG_S_DRIVER | VIRTIO_CONFIG_S_FEATURES_OK);
	assert_int_equal(virtio_pci_negotiate(&t.d, ~0ull, platform | 4), -EOPNOTSUPP);
	assert_int_equal(t.d.features, 3ull << 32 | 3);
}

static void test_config(void **state)
{
	static const struct virtio_field field[] = { { 0, 8 }, { 8, 1 }, { 10, 2 }, { 12, 4 }, { 62, 4 } };
	uint8_t got[80];

	(void)state;
	assert_int_equal(find(), 0);
	for (unsigned int i = 0; i < sizeof(got); i++)
		t.mem[DEVICE_AT + i] = i + 1;
	memset(got, 0, sizeof(got));
	assert_int_equal(virtio_pci_read_config(&t.d, got, field, 5), 0);
	assert_memory_equal(got, t.mem + DEVICE_AT, 9);
	assert_int_equal(got[9], 0);
	assert_memory_equal(got + 10, t.mem + DEVICE_AT + 10, 6);
	/* half outside the structure */
	assert_int_equal(got[62], 0);
}

static int start(unsigned int num, volatile void **doorbell)
{
	const struct virtio_pci_queue q = {
		.num = num, .desc = 0x1122334455667000, .driver = 0x200000, .device = 0x300000,
		.vector = VIRTIO_MSI_NO_VECTOR,
	};

	common()->queue_enable = 0;
	return virtio_pci_start_queue(&t.d, 1, &q, doorbell);
}

static void test_queue(void **state)
{
	volatile void *doorbell;

	(void)state;
	assert_int_equal(find(), 0);
	common()->queue_notify_off = htole16(7);
	assert_int_equal(start(128, &doorbell), 0);
	assert_ptr_equal(doorbell, t.mem + NOTIFY_AT + 28);
	assert_int_equal(le16toh(common()->queue_size), 128);
	assert_int_equal(le16toh(common()->queue_select), 1);
	assert_int_equal(le32toh(common()->queue_desc_lo), 0x55667000);
	assert_int_equal(le32toh(common()->queue_desc_hi), 0x11223344);
	assert_int_equal(le16toh(common()->queue_enable), 1);
}

static void test_bad_queue(void **state)
{
	volatile void *doorbell;

	(void)state;
	assert_int_equal(find(), 0);
	common()->queue_notify_off = htole16(8);
	assert_int_equal(start(128, &doorbell), -EPROTO);
	assert_non_null(strstr(t.d.why.text, "outside its notification structure"));
	common()->queue_notify_off = htole16(0xffff);
	t.d.notify_multiplier = 0xffffffff;
	assert_int_equal(start(128, &doorbell), -EPROTO);
	common()->queue_notify_off = 0;
	assert_int_equal(start(512, &doorbell), -ERANGE);
	common()->queue_size = 0;
	assert_int_equal(start(128, &doorbell), -EPROTO);
}

#define TEST(name)	cmocka_unit_test_setup(test_##name, set_up)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(found), TEST(transitional), TEST(other_device), TEST(no_capabilities),
		TEST(outside_bar), TEST(too_short), TEST(unaligned), TEST(passed_over), TEST(circle),
		TEST(end_of_space), TEST(noise), TEST(negotiate), TEST(config), TEST(queue), TEST(bad_queue),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
