/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Any ring a driver may build, served by the device: nothing outside the driver's
 * memory is touched, and it ends. The input is a list of small changes to the ring,
 * most of them plausible, as plain noise would hardly ever make a chain.
 *
 * For libFuzzer, see fuzz.sh; tests/unit/fuzz-ring.c runs it on numbers drawn.
 */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <linux/virtio_config.h>
#include "targets/device/virtio-blk.h"
#include "tests/fuzz/input.h"
#include "wire/vq-device.h"

#define REGION	16384u
#define GUEST	0x100000ull
#define USER	0x7f0000000000ull
#define DISK	65536u

/* Places in the first region */
#define AVAIL	1024u
#define USED	2048u
#define HEADERS	4096u		/* room for 32 requests and a shift of up to 127 */
#define STATUS	7168u
#define TABLES	8192u
#define DATA	10240u

static struct backend backend;
static struct iothread iothread;	/* its statistics are of all inputs so far */
static struct channel channel;
static unsigned long served[2];	/* split and packed, of all inputs so far */
static char *region[2];

static void set_up_once(void)
{
	const struct backend_config disk = { .ops = &ram_backend, .size = DISK };
	const struct channel_config through = { 0 };

	if (region[0])
		return;
	/* Allocated apart, so that a step from one into the other is seen. */
	region[0] = aligned_alloc(64, REGION);
	region[1] = aligned_alloc(64, REGION);
	iothread.source = calloc(IOTHREAD_SOURCES, sizeof(*iothread.source));
	poll_policy_init(&iothread.policy, &(struct poll_config) { .mode = POLL_BUSY });
	if (!region[0] || !region[1] || !iothread.source || backend_open(&backend, &disk) ||
	    channel_open(&channel, &iothread, &through))
		abort();
}

static const struct {
	uint32_t type;
	uint32_t len;
	bool device_writes;
} kinds[] = {
	{ VIRTIO_BLK_T_IN, 4096, true },
	{ VIRTIO_BLK_T_OUT, 1024, false },
	{ VIRTIO_BLK_T_FLUSH, 0, false },
	{ VIRTIO_BLK_T_GET_ID, VIRTIO_BLK_ID_BYTES, true },
	{ VIRTIO_BLK_T_DISCARD, 32, false },
	{ VIRTIO_BLK_T_WRITE_ZEROES, 16, false },
	{ 77, 512, true },
};

#define KINDS	(sizeof(kinds) / sizeof(kinds[0]))

static void put(struct vring_desc *desc, unsigned int place, uint32_t len, uint16_t flags,
		uint16_t next)
{
	*desc = (struct vring_desc) {
		.addr = htole64(GUEST + place), .len = htole32(len),
		.flags = htole16(flags), .next = htole16(next),
	};
}

/* A chain that is right, in three descriptors from @first on */
static void fill_chain(struct vring_desc *table, unsigned int first, unsigned int i)
{
	struct virtio_blk_outhdr hdr = {
		.type = htole32(kinds[i % KINDS].type), .sector = htole64(i * 8 % (DISK / 512)),
	};
	uint32_t len = kinds[i % KINDS].len;
	uint16_t writes = kinds[i % KINDS].device_writes ? VRING_DESC_F_WRITE : 0;

	memcpy(region[0] + HEADERS + i * sizeof(hdr), &hdr, sizeof(hdr));
	put(&table[first], HEADERS + i * sizeof(hdr), sizeof(hdr), VRING_DESC_F_NEXT,
	    len ? first + 1 : first + 2);
	put(&table[first + 1], DATA + i * 64, len, VRING_DESC_F_NEXT | writes, first + 2);
	put(&table[first + 2], STATUS + i, 1, VRING_DESC_F_WRITE, 0);
}

/* What the changes begin from: requests of all kinds, in the ring or in tables */
static void fill_ring(struct vq_device *d, unsigned int shift)
{
	struct vring_desc *tables = (struct vring_desc *)(region[0] + TABLES);

	for (unsigned int i = 0; i < d->notify.num; i++) {
		fill_chain(tables + 3 * i, 0, i + shift);
		if (d->indirect)
			put(&d->split.desc[i], TABLES + 48 * i, 48, VRING_DESC_F_INDIRECT, 0);
		else if (3 * i + 2 < d->notify.num)
			fill_chain(d->split.desc, 3 * i, i + shift);
	}
}

static void put_packed(struct vring_packed_desc *desc, unsigned int place, uint32_t len,
		       uint16_t flags, uint16_t id)
{
	*desc = (struct vring_packed_desc) {
		.addr = htole64(GUEST + place), .len = htole32(len),
		.id = htole16(id), .flags = htole16(flags),
	};
}

/* A request that is right, at a place of a packed ring, not available yet */
static void fill_packed(struct vq_device *d, unsigned int pos, unsigned int i)
{
	struct vring_packed_desc *table = (struct vring_packed_desc *)(region[0] + TABLES) + 3 * (i % 32);
	struct virtio_blk_outhdr hdr = {
		.type = htole32(kinds[i % KINDS].type), .sector = htole64(i * 8 % (DISK / 512)),
	};
	uint32_t len = kinds[i % KINDS].len ? kinds[i % KINDS].len : 1;
	uint16_t writes = kinds[i % KINDS].device_writes ? VRING_DESC_F_WRITE : 0;
	struct vring_packed_desc *to[3];
	uint16_t next = d->indirect ? 0 : VRING_DESC_F_NEXT;

	memcpy(region[0] + HEADERS + i * sizeof(hdr), &hdr, sizeof(hdr));
	for (unsigned int j = 0; j < 3; j++)
		to[j] = d->indirect ? &table[j] :
			&d->packed.desc[packed_index(packed_advance(pos, j, d->notify.num), d->notify.num)];
	put_packed(to[0], HEADERS + i * sizeof(hdr), sizeof(hdr), next, i);
	put_packed(to[1], DATA + i * 64, len, next | writes, i);
	put_packed(to[2], STATUS + i, 1, VRING_DESC_F_WRITE, i);
	if (d->indirect)
		put_packed(&d->packed.desc[packed_index(pos, d->notify.num)], TABLES + 48 * (i % 32), 48,
			   VRING_DESC_F_INDIRECT, i);
}

/* An address, mostly one that makes sense */
static uint64_t take_addr(struct input *in)
{
	uint32_t v = take_bytes(in, 2), i = v >> 4;

	switch (v & 15) {
	case 0: case 1: case 2: case 3:
		return GUEST + HEADERS + i % 128 * 16;
	case 4: case 5: case 6:
		return GUEST + STATUS + i % 512;
	case 7: case 8: case 9:
		return GUEST + DATA + i;
	case 10: case 11:
		return GUEST + TABLES + i % 2048;
	case 12:
		return GUEST + REGION - 256 + i % 512;	/* where the regions meet */
	case 13:
		return GUEST + 2 * REGION - 128 + i % 256;
	case 14:
		return GUEST + i * 8;			/* the ring itself, too */
	default:
		return (uint64_t)take_bytes(in, 4) << 32 | take_bytes(in, 4);
	}
}

static uint32_t take_len(struct input *in)
{
	static const uint32_t lens[] = {
		16, 1, 512, 4096, 32, 48, 0, 513, 8, 15, 20, 1024, REGION, REGION + 1, 511
	};
	uint32_t v = take_bytes(in, 1) % 16;

	return v < 15 ? lens[v] : take_bytes(in, 4);
}

static void change_desc(struct input *in, struct vring_desc *desc, unsigned int num)
{
	switch (take_bytes(in, 1) % 4) {
	case 0:
		desc->addr = htole64(take_addr(in));
		break;
	case 1:
		desc->len = htole32(take_len(in));
		break;
	case 2:
		desc->flags = htole16(take_bytes(in, 1) & 15);
		break;
	default:
		desc->next = htole16(take_bytes(in, 1) % (num + 2));
		break;
	}
}

static void change_packed_desc(struct input *in, struct vring_packed_desc *desc)
{
	switch (take_bytes(in, 1) % 4) {
	case 0:
		desc->addr = htole64(take_addr(in));
		break;
	case 1:
		desc->len = htole32(take_len(in));
		break;
	case 2:
		desc->flags = htole16((le16toh(desc->flags) & 0xff80) | (take_bytes(in, 1) & 15));
		break;
	default:
		desc->id = htole16(take_bytes(in, 2));
		break;
	}
}

/* One change; returns false at the end of the input */
static bool change(struct input *in, struct vq_device *d, uint16_t *avail_idx)
{
	uint32_t op = take_bytes(in, 1);
	uint16_t *avail = (uint16_t *)(region[0] + AVAIL);
	unsigned int step = d->indirect ? 1 : 3;

	if (!in->left)
		return false;
	switch (op & 7) {
	case 0: case 1:
		change_desc(in, &d->split.desc[(op >> 3) % d->notify.num], d->notify.num);
		break;
	case 2:
		change_desc(in, (struct vring_desc *)(region[0] + TABLES) + (op >> 3) % 32, 3);
		break;
	case 3:
		region[op >> 7][take_bytes(in, 2) % REGION] = (char)take_bytes(in, 1);
		break;
	default:
		avail[2 + *avail_idx % d->notify.num] = htole16((op >> 3) * step % (d->notify.num + 1));
		*avail_idx += op < 250 ? 1 : take_bytes(in, 2);
		avail[1] = htole16(*avail_idx);
		break;
	}
	return true;
}

/* Descriptors of a packed ring from @pos on become available, or look as if; returns where they end. */
static unsigned int show_packed(struct vq_device *d, unsigned int pos, unsigned int n,
				uint16_t wrong)
{
	for (unsigned int i = 0; i < n; i++) {
		__virtio16 *flags = &d->packed.desc[packed_index(pos, d->notify.num)].flags;
		uint16_t kept = le16toh(*flags) & ~(PACKED_AVAIL | PACKED_USED);

		*flags = htole16(kept | (packed_avail_flags(pos, d->notify.num) ^ wrong));
		pos = packed_advance(pos, 1, d->notify.num);
	}
	return pos;
}

/* The same for a packed ring, whose next descriptor to show is at @pos */
static bool change_packed(struct input *in, struct vq_device *d, unsigned int *pos)
{
	struct vring_packed_desc *tables = (struct vring_packed_desc *)(region[0] + TABLES);
	uint32_t op = take_bytes(in, 1);

	if (!in->left)
		return false;
	switch (op & 7) {
	case 0: case 1:
		change_packed_desc(in, &d->packed.desc[(op >> 3) % d->notify.num]);
		break;
	case 2:
		change_packed_desc(in, &tables[(op >> 3) % 32]);
		break;
	case 3:
		region[op >> 7][take_bytes(in, 2) % REGION] = (char)take_bytes(in, 1);
		break;
	default:
		fill_packed(d, *pos, op >> 3);
		*pos = show_packed(d, *pos, d->indirect ? 1 : op < 240 ? 3 : take_bytes(in, 1) % 64,
				   op < 250 ? 0 : PACKED_USED);
		break;
	}
	return true;
}

static bool inside(const struct iovec *iov)
{
	for (unsigned int i = 0; i < 2; i++) {
		const char *base = iov->iov_base;

		if (base >= region[i] && base < region[i] + REGION)
			return iov->iov_len && iov->iov_len <= (size_t)(region[i] + REGION - base);
	}
	return false;
}

static int finished;

static void slices_done(struct vblk_request *r)
{
	finished = r->status;
}

/* What is too long for a turn: take as many as it needs. */
static int finish_slices(void)
{
	finished = VBLK_PENDING;
	while (finished == VBLK_PENDING)
		channel.slices.ops->dispatch(&channel.slices);
	return finished;
}

/* Serve what is there; returns false when the ring is broken */
static bool serve(struct vq_device *d, const struct guest_memory *mem, struct blk_device *dev)
{
	static struct vblk_request r = { .done = slices_done };
	struct vq_chain *c = &r.chain;

	for (;;) {
		uint64_t room = 0;
		int ret = vq_device_pop(d, mem, c);

		if (ret <= 0)
			return !ret;
		if ((!d->notify.is_packed && c->head >= d->notify.num) ||
		    (d->notify.is_packed && (!c->count || c->count > d->notify.num)) || c->nr_read + c->nr_write > VQ_IOV_MAX)
			abort();
		for (unsigned int i = 0; i < (unsigned int)c->nr_read + c->nr_write; i++) {
			if (!inside(&c->iov[i]))
				abort();
			room += i >= c->nr_read ? c->iov[i].iov_len : 0;
		}
		channel_turn(&channel);
		ret = vblk_submit(&r, dev, &channel);
		if (ret < 0)
			return false;
		if (ret == VBLK_PENDING)
			ret = finish_slices();
		if (ret > VIRTIO_BLK_S_UNSUPP || r.written > room ||
		    !inside(&(struct iovec) { r.status_at, 1 }))
			abort();
		*r.status_at = ret;
		served[d->notify.is_packed]++;
		vq_device_push(d, c, r.written);
		vq_device_publish(d);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct input in = { data, size };
	uint32_t shape = take_bytes(&in, 3);
	const struct vq_addresses at = { USER, USER + AVAIL, USER + USED };
	uint64_t features = (uint64_t)(shape & 1) << VIRTIO_RING_F_EVENT_IDX |
			    (uint64_t)(shape >> 1 & 1) << VIRTIO_RING_F_INDIRECT_DESC |
			    (uint64_t)(shape >> 16 & 1) << VIRTIO_F_RING_PACKED;
	unsigned int num = 2u << (shape >> 6 & 7) % 5;
	struct guest_memory mem = { .nr = 2 };
	struct vq_device d;
	struct blk_device dev;
	uint16_t avail_idx = shape & 8 ? 65533 : 0;
	unsigned int pos = 0;

	set_up_once();
	memset(region[0], 0, REGION);
	memset(region[1], 0, REGION);
	for (unsigned int i = 0; i < 2; i++)
		mem.region[i] = (struct guest_region) {
			.guest = GUEST + i * REGION, .user = USER + i * REGION, .size = REGION,
			.host = region[i],
		};
	blk_device_init(&dev, &backend, shape & 16 ? 4096 : 512, shape & 32, 1);
	if (features >> VIRTIO_F_RING_PACKED)
		num += shape >> 17 & 1;
	if (vq_device_init(&d, &mem, features, num, &at))
		abort();
	if (d.notify.is_packed) {
		if (vq_device_resume(&d, packed_to_wire(pos, num)))
			abort();
	} else {
		((uint16_t *)(region[0] + AVAIL))[1] = htole16(avail_idx);
		if (vq_device_resume(&d, avail_idx))
			abort();
		fill_ring(&d, shape >> 9 & 127);
	}

	while (d.notify.is_packed ? change_packed(&in, &d, &pos) :
			     change(&in, &d, &avail_idx)) {
		if (shape & 4)
			vq_device_enable_kicks(&d);
		if (!serve(&d, &mem, &dev))
			break;
		vq_device_disable_kicks(&d);
	}
	return 0;
}
