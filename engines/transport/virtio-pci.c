/* SPDX-License-Identifier: GPL-2.0-only */
#include <errno.h>
#include <inttypes.h>
#include <linux/virtio_config.h>
#include <string.h>
#include <time.h>
#include "base/clock.h"
#include "base/mmio.h"
#include "engines/transport/virtio-pci.h"

/*
 * A modern virtio device on PCI (VIRTIO 1.2, 4.1), wherever its memory is mapped. What it says of
 * itself is not trusted: no access leaves its BARs, and no loop depends on it for its end.
 */

#define VENDOR			0x1af4
#define MODERN_ID(type)		(0x1040 + (type))
#define IS_TRANSITIONAL(id)	((id) >= 0x1000 && (id) < MODERN_ID(0))

/* More capabilities than fit into the configuration space are a circle. */
#define CAPABILITIES_MAX	48

/* A device that changes its configuration so often while it is read is not for us. */
#define CONFIG_TRIES		64

static uint16_t get16(const uint8_t *config, unsigned int at)
{
	return config[at] | config[at + 1] << 8;
}

/* The smallest part of a structure that can be used; @align is of its offset (4.1.4). */
static const struct {
	const char *name;
	uint32_t length;
	uint32_t align;
	uint8_t cap_len;
} structure[] = {
	[VIRTIO_PCI_CAP_COMMON_CFG] = {
		"common configuration", sizeof(struct virtio_pci_common_cfg), 4,
		sizeof(struct virtio_pci_cap),
	},
	[VIRTIO_PCI_CAP_NOTIFY_CFG] = {
		"notification structure", 2, 2, sizeof(struct virtio_pci_notify_cap),
	},
	[VIRTIO_PCI_CAP_DEVICE_CFG] = {
		"device configuration", 1, 4, sizeof(struct virtio_pci_cap),
	},
};

/**
 * struct found - a virtio structure that a capability describes
 * @window: where it is
 * @multiplier: what else a notification structure's capability says
 */
struct found {
	struct virtio_window window;
	uint32_t multiplier;
};

/* Returns 1 with the structure in @f, 0 when it is one to be passed over, or -EPROTO. */
static int read_capability(struct virtio_pci *d, const uint8_t *config, unsigned int at,
			   unsigned int type, const struct pci_bar *bar, struct found *f)
{
	struct virtio_pci_notify_cap cap = { 0 };
	uint64_t offset, length;

	if (at + structure[type].cap_len > PCI_CFG_SPACE_SIZE ||
	    config[at + VIRTIO_PCI_CAP_LEN] < structure[type].cap_len)
		return why_not(&d->why, EPROTO, "its capability for the %s is too short", structure[type].name);
	memcpy(&cap, config + at, structure[type].cap_len);
	/* Other values are reserved, and to be passed over; so is what cannot be mapped. */
	if (cap.cap.bar >= PCI_STD_NUM_BARS || !bar[cap.cap.bar].at)
		return 0;
	offset = le32toh(cap.cap.offset);
	length = le32toh(cap.cap.length);
	if (offset + length > bar[cap.cap.bar].size)
		return why_not(&d->why, EPROTO, "its %s is outside BAR %u: %" PRIu64 " bytes at %#" PRIx64 " of %#" PRIx64,
			       structure[type].name, cap.cap.bar, length, offset, bar[cap.cap.bar].size);
	if (length < structure[type].length || offset % structure[type].align)
		return why_not(&d->why, EPROTO, "its %s is too short or not aligned: %" PRIu64 " bytes at %#" PRIx64 " of BAR %u",
			       structure[type].name, length, offset, cap.cap.bar);
	*f = (struct found) {
		.window = { bar[cap.cap.bar].at + offset, length },
		.multiplier = le32toh(cap.notify_off_multiplier),
	};
	return 1;
}

/* The first structure of a type that we can reach (4.1.4.1); returns as read_capability(). */
static int find_structure(struct virtio_pci *d, const uint8_t *config, unsigned int type,
			  const struct pci_bar *bar, struct found *f)
{
	unsigned int at = config[PCI_CAPABILITY_LIST] & ~3u;

	if (!(get16(config, PCI_STATUS) & PCI_STATUS_CAP_LIST))
		return 0;
	for (unsigned int n = 0; at >= PCI_STD_HEADER_SIZEOF && n < CAPABILITIES_MAX; n++) {
		if (config[at + PCI_CAP_LIST_ID] == PCI_CAP_ID_VNDR &&
		    config[at + VIRTIO_PCI_CAP_CFG_TYPE] == type) {
			int ret = read_capability(d, config, at, type, bar, f);

			if (ret)
				return ret;
		}
		at = config[at + PCI_CAP_LIST_NEXT] & ~3u;
	}
	return 0;
}

static int require_structure(struct virtio_pci *d, const uint8_t *config, unsigned int type,
			     const struct pci_bar *bar, struct found *f)
{
	int ret = find_structure(d, config, type, bar, f);

	if (ret < 0)
		return ret;
	return ret ? 0 : why_not(&d->why, ENODEV, "no capability of it tells where its %s is, in memory that can be mapped: it may be a legacy device (disable-modern=on of QEMU)",
				 structure[type].name);
}

/**
 * virtio_pci_find - look where the parts of a device are
 * @d: filled in
 * @type: kind of device, VIRTIO_ID_*
 * @config: PCI configuration space, PCI_CFG_SPACE_SIZE bytes
 * @bar: its memory, PCI_STD_NUM_BARS
 *
 * VIRTIO 1.2, 4.1.2 and 4.1.4.
 *
 * Return: 0, or a negative errno with @d->why.
 */
int virtio_pci_find(struct virtio_pci *d, unsigned int type, const uint8_t *config,
		    const struct pci_bar *bar)
{
	unsigned int vendor = get16(config, PCI_VENDOR_ID), id = get16(config, PCI_DEVICE_ID);
	struct found common, notify, device;
	int ret;

	if (vendor != VENDOR || (id != MODERN_ID(type) &&
				 !(IS_TRANSITIONAL(id) && get16(config, PCI_SUBSYSTEM_ID) == type)))
		return why_not(&d->why, ENODEV, "it is no virtio device of type %u (its vendor is %04x, its device id %04x)",
			       type, vendor, id);
	ret = require_structure(d, config, VIRTIO_PCI_CAP_COMMON_CFG, bar, &common);
	if (!ret)
		ret = require_structure(d, config, VIRTIO_PCI_CAP_NOTIFY_CFG, bar, &notify);
	if (!ret)
		ret = require_structure(d, config, VIRTIO_PCI_CAP_DEVICE_CFG, bar, &device);
	if (ret)
		return ret;
	d->common = (volatile void *)common.window.at;
	d->notify = notify.window;
	d->notify_multiplier = notify.multiplier;
	d->device = device.window;
	return 0;
}

/**
 * virtio_pci_status - read the device's status
 * @d: the device
 *
 * Return: VIRTIO_CONFIG_S_*; 0xff of one that is gone.
 */
uint8_t virtio_pci_status(const struct virtio_pci *d)
{
	return mmio_read8(&d->common->device_status);
}

static void add_status(struct virtio_pci *d, uint8_t status)
{
	mmio_write8(&d->common->device_status, virtio_pci_status(d) | status);
}

/**
 * virtio_pci_reset - reset the device, and wait until that is done
 * @d: the device
 *
 * VIRTIO 1.2, 4.1.4.3.2.
 *
 * Return: 0, or a negative errno with @d->why.
 */
int virtio_pci_reset(struct virtio_pci *d)
{
	const struct timespec pause = { .tv_nsec = 1000000 };
	uint64_t end = clock_ns() + d->timeout_ms * 1000000ull;
	uint8_t status;

	mmio_write8(&d->common->device_status, 0);
	while ((status = virtio_pci_status(d))) {
		if (status == 0xff)
			return why_not(&d->why, ENODEV, "it does not answer: all its registers read as ones");
		if (clock_ns() > end)
			return why_not(&d->why, ETIMEDOUT, "it has not finished its reset in %u s (stuck_timeout)",
				       d->timeout_ms / 1000);
		nanosleep(&pause, NULL);
	}
	return 0;
}

static uint64_t offered(struct virtio_pci *d)
{
	uint64_t features;

	mmio_write32(&d->common->device_feature_select, 1);
	features = (uint64_t)mmio_read32(&d->common->device_feature) << 32;
	mmio_write32(&d->common->device_feature_select, 0);
	return features | mmio_read32(&d->common->device_feature);
}

static void accept(struct virtio_pci *d, uint64_t features)
{
	mmio_write32(&d->common->guest_feature_select, 0);
	mmio_write32(&d->common->guest_feature, features);
	mmio_write32(&d->common->guest_feature_select, 1);
	mmio_write32(&d->common->guest_feature, features >> 32);
}

/**
 * virtio_pci_negotiate - reset the device, and agree on features
 * @d: the device
 * @wanted: features to have where the device offers them
 * @needed: those of them without which nothing goes
 *
 * VIRTIO 1.2, 3.1.1, steps 1 to 6. @needed is for the caller to explain: -EOPNOTSUPP comes with
 * what the device offers in @d->features.
 *
 * Return: 0 with @d->features and @d->max_queues, or a negative errno with @d->why.
 */
int virtio_pci_negotiate(struct virtio_pci *d, uint64_t wanted, uint64_t needed)
{
	int ret = virtio_pci_reset(d);

	if (ret)
		return ret;
	add_status(d, VIRTIO_CONFIG_S_ACKNOWLEDGE);
	add_status(d, VIRTIO_CONFIG_S_DRIVER);
	d->features = offered(d);
	if (needed & ~d->features)
		return why_not(&d->why, EOPNOTSUPP, "it offers features %#" PRIx64 ", but %#" PRIx64 " are needed",
			       d->features, needed);
	d->features &= wanted;
	accept(d, d->features);
	add_status(d, VIRTIO_CONFIG_S_FEATURES_OK);
	if (!(virtio_pci_status(d) & VIRTIO_CONFIG_S_FEATURES_OK))
		return why_not(&d->why, EOPNOTSUPP, "it does not take features %#" PRIx64 ", which it offers",
			       d->features);
	d->max_queues = mmio_read16(&d->common->num_queues);
	return 0;
}

/* Fields have to be read in their own width (4.1.3.1); one of 64 bits in two halves. */
static void read_field(struct virtio_pci *d, char *config, const struct virtio_field *f)
{
	volatile char *at = d->device.at + f->offset;
	union {
		uint8_t u8;
		uint16_t u16;
		uint32_t u32[2];
	} v;

	switch (f->width) {
	case 1:
		v.u8 = mmio_read8(at);
		break;
	case 2:
		v.u16 = htole16(mmio_read16(at));
		break;
	case 8:
		v.u32[1] = htole32(mmio_read32(at + 4));
		/* fallthrough */
	default:
		v.u32[0] = htole32(mmio_read32(at));
	}
	memcpy(config + f->offset, &v, f->width);
}

/**
 * virtio_pci_read_config - read fields of the device's configuration, at one point in time
 * @d: the device
 * @config: where they go, little-endian; what the device does not have stays as it is
 * @field: which
 * @n: how many
 *
 * VIRTIO 1.2, 2.5.2.
 *
 * Return: 0, or a negative errno with @d->why.
 */
int virtio_pci_read_config(struct virtio_pci *d, void *config, const struct virtio_field *field,
			   unsigned int n)
{
	for (unsigned int tries = 0; tries < CONFIG_TRIES; tries++) {
		uint8_t generation = mmio_read8(&d->common->config_generation);

		for (unsigned int i = 0; i < n; i++) {
			if (field[i].offset + field[i].width <= d->device.length)
				read_field(d, config, &field[i]);
		}
		if (mmio_read8(&d->common->config_generation) == generation)
			return 0;
	}
	return why_not(&d->why, EPROTO, "it changes its configuration all the time");
}

/**
 * virtio_pci_set_config_vector - have changes of the configuration signalled
 * @d: the device
 * @vector: MSI-X vector
 *
 * Return: 0, or a negative errno with @d->why.
 */
int virtio_pci_set_config_vector(struct virtio_pci *d, uint16_t vector)
{
	mmio_write16(&d->common->msix_config, vector);
	if (mmio_read16(&d->common->msix_config) == vector)
		return 0;
	return why_not(&d->why, EBUSY, "it does not take MSI-X vector %u for its configuration", vector);
}

/**
 * virtio_pci_queue_size - look how long a queue may be
 * @d: the device, with features negotiated and the queue not started
 * @index: which queue
 *
 * Return: most entries, 0 of a queue that it does not have.
 */
unsigned int virtio_pci_queue_size(struct virtio_pci *d, unsigned int index)
{
	mmio_write16(&d->common->queue_select, index);
	return mmio_read16(&d->common->queue_size);
}

static void write_address(volatile __le32 *low, volatile __le32 *high, uint64_t address)
{
	mmio_write32(low, address);
	mmio_write32(high, address >> 32);
}

/**
 * virtio_pci_start_queue - tell the device of a queue and start it
 * @d: the device, before virtio_pci_driver_ok()
 * @index: which queue
 * @q: what to tell
 * @doorbell: set to where the queue's index is stored, in 16 bits, as a notification
 *
 * VIRTIO 1.2, 4.1.5.1.3 and 4.1.4.4.
 *
 * Return: 0, -ERANGE for a queue longer than the device takes, or another negative errno; with
 * @d->why.
 */
int virtio_pci_start_queue(struct virtio_pci *d, unsigned int index,
			   const struct virtio_pci_queue *q, volatile void **doorbell)
{
	volatile struct virtio_pci_common_cfg *c = d->common;
	unsigned int max = virtio_pci_queue_size(d, index);
	uint64_t notify;

	if (!max)
		return why_not(&d->why, EPROTO, "it says that it has %u queues, but not which is queue %u", d->max_queues,
			       index);
	if (q->num > max)
		return why_not(&d->why, ERANGE, "its queue %u has at most %u entries, %u are needed: lower iodepth= or set queue_size=",
			       index, max, q->num);
	notify = (uint64_t)mmio_read16(&c->queue_notify_off) * d->notify_multiplier;
	if (notify + sizeof(uint16_t) > d->notify.length || notify % sizeof(uint16_t))
		return why_not(&d->why, EPROTO, "queue %u is to be notified outside its notification structure: at %#" PRIx64 " of %#" PRIx32,
			       index, notify, d->notify.length);
	if (mmio_read16(&c->queue_enable))
		return why_not(&d->why, EPROTO, "its queue %u is running although it was reset", index);
	mmio_write16(&c->queue_size, q->num);
	mmio_write16(&c->queue_msix_vector, q->vector);
	if (mmio_read16(&c->queue_msix_vector) != q->vector)
		return why_not(&d->why, EBUSY, "it does not take MSI-X vector %u for queue %u", q->vector, index);
	write_address(&c->queue_desc_lo, &c->queue_desc_hi, q->desc);
	write_address(&c->queue_avail_lo, &c->queue_avail_hi, q->driver);
	write_address(&c->queue_used_lo, &c->queue_used_hi, q->device);
	mmio_write16(&c->queue_enable, 1);
	*doorbell = d->notify.at + notify;
	return 0;
}

/**
 * virtio_pci_driver_ok - let the device begin
 * @d: the device, with its queues started
 */
void virtio_pci_driver_ok(struct virtio_pci *d)
{
	add_status(d, VIRTIO_CONFIG_S_DRIVER_OK);
}
