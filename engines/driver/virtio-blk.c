/* SPDX-License-Identifier: GPL-2.0-only */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <linux/virtio_config.h>
#include "base/fd.h"
#include "base/mmio.h"
#include "engines/driver/trace.h"
#include "engines/driver/virtio-blk.h"

#define SECTOR_SHIFT	9

/* The most any peer takes: QEMU refuses requests of 2 GiB and more. */
#define TRANSFER_MAX	(1u << 30)

static bool has(uint64_t features, unsigned int bit)
{
	return features >> bit & 1;
}

/**
 * blk_limits_read - put a device's configuration into the driver's terms
 * @l: filled in
 * @c: the configuration space, little-endian
 * @features: negotiated features; a field counts only with its feature
 *
 * VIRTIO 1.2, 5.2.4. A size_max of 0, which qemu-storage-daemon offers, means no limit.
 */
void blk_limits_read(struct blk_limits *l, const struct virtio_blk_config *c, uint64_t features)
{
	uint64_t discard = has(features, VIRTIO_BLK_F_DISCARD) ?
			   (uint64_t)le32toh(c->max_discard_sectors) << SECTOR_SHIFT : 0;

	*l = (struct blk_limits) {
		.capacity = le64toh(c->capacity) << SECTOR_SHIFT,
		.block_size = 1u << SECTOR_SHIFT,
		.max_transfer = TRANSFER_MAX,
		.max_segments = 1,
		.flush = has(features, VIRTIO_BLK_F_FLUSH),
		.read_only = has(features, VIRTIO_BLK_F_RO),
	};
	if (has(features, VIRTIO_BLK_F_BLK_SIZE) && c->blk_size)
		l->block_size = le32toh(c->blk_size);
	if (has(features, VIRTIO_BLK_F_SIZE_MAX) && c->size_max && le32toh(c->size_max) < TRANSFER_MAX)
		l->max_transfer = le32toh(c->size_max);
	/* Without the feature, or with 0, a device promises no more than one. */
	if (has(features, VIRTIO_BLK_F_SEG_MAX) && c->seg_max)
		l->max_segments = le32toh(c->seg_max);
	l->max_discard = discard < TRANSFER_MAX ? discard : TRANSFER_MAX;

	/* A request that is split must be split between blocks. */
	l->max_transfer -= l->max_transfer % l->block_size;
	l->max_discard -= l->max_discard % l->block_size;
}

/**
 * blk_driver_features - features this driver has a use for
 * @packed: packed rings rather than split ones
 * @event_idx: let notifications be suppressed by event index
 * @indirect: use indirect tables
 *
 * Return: feature bits, to be masked with what the device offers.
 */
uint64_t blk_driver_features(bool packed, bool event_idx, bool indirect)
{
	return 1ull << VIRTIO_F_VERSION_1 | 1ull << VIRTIO_BLK_F_SIZE_MAX |
	       1ull << VIRTIO_BLK_F_SEG_MAX | 1ull << VIRTIO_BLK_F_RO |
	       1ull << VIRTIO_BLK_F_BLK_SIZE | 1ull << VIRTIO_BLK_F_FLUSH |
	       1ull << VIRTIO_BLK_F_MQ | 1ull << VIRTIO_BLK_F_DISCARD |
	       (uint64_t)packed << VIRTIO_F_RING_PACKED |
	       (uint64_t)event_idx << VIRTIO_RING_F_EVENT_IDX |
	       (uint64_t)indirect << VIRTIO_RING_F_INDIRECT_DESC;
}

/**
 * blk_queue_slots - how many requests fit into a queue
 * @num: queue size
 * @indirect: through indirect tables, a descriptor each
 *
 * Return: requests that can be in flight.
 */
unsigned int blk_queue_slots(unsigned int num, bool indirect)
{
	return indirect ? num : num / VQ_CHAIN;
}

static bool is_packed(const struct blk_shape *shape)
{
	return has(shape->features, VIRTIO_F_RING_PACKED);
}

static size_t slots_offset(const struct blk_shape *shape)
{
	return (vq_ring_bytes(is_packed(shape), shape->num) + 4095) / 4096 * 4096;
}

static size_t tables_offset(const struct blk_shape *shape)
{
	return slots_offset(shape) + shape->num * sizeof(struct blk_slot);
}

/**
 * blk_queue_bytes - device-visible memory that a queue takes
 * @shape: of the queue
 *
 * Return: bytes, for memory that starts on a page.
 */
size_t blk_queue_bytes(const struct blk_shape *shape)
{
	return tables_offset(shape) +
	       (shape->segments > 1 ? shape->num * sizeof(struct blk_table) : 0);
}

/**
 * blk_queue_ring - look at the ring of a queue that another may drive
 * @ring: filled in, good for vq_driver_parts() and vq_driver_base()
 * @mem: the queue's memory
 * @shape: of the queue
 */
void blk_queue_ring(struct vq_driver *ring, void *mem, const struct blk_shape *shape)
{
	vq_driver_init(ring, is_packed(shape), mem, shape->num,
		       has(shape->features, VIRTIO_RING_F_EVENT_IDX), NULL);
}

/* All that stays the same from request to request is written here. */
static void prepare_slot(struct blk_queue *q, unsigned int i)
{
	struct blk_slot *s = &q->slot[i];
	uint64_t guest = (uintptr_t)s + q->guest_offset;

	if (q->ring.notify.is_packed) {
		s->packed[0] = (struct vring_packed_desc) {
			.addr = htole64(guest + offsetof(struct blk_slot, hdr)),
			.len = htole32(sizeof(s->hdr)),
		};
		return;
	}
	s->table[0] = (struct vring_desc) {
		.addr = htole64(guest + offsetof(struct blk_slot, hdr)),
		.len = htole32(sizeof(s->hdr)),
		.flags = htole16(VRING_DESC_F_NEXT),
		.next = htole16(1),
	};
	s->table[2] = (struct vring_desc) {
		.addr = htole64(guest + offsetof(struct blk_slot, status)),
		.len = htole32(sizeof(s->status)),
		.flags = htole16(VRING_DESC_F_WRITE),
	};
}

/**
 * blk_queue_init - take a queue up
 * @q: filled in
 * @mem: blk_queue_bytes() of memory that the device can reach, zero for a new queue
 * @shape: of the queue
 * @guest_offset: what to add to an address here for the guest physical address
 * @kick_fd: the device's eventfd; stays the caller's
 *
 * Return: 0, or -ENOMEM, or -EBUSY when an earlier owner left requests in flight.
 */
int blk_queue_init(struct blk_queue *q, void *mem, const struct blk_shape *shape,
		   uint64_t guest_offset, int kick_fd)
{
	memset(q, 0, sizeof(*q));
	q->indirect = has(shape->features, VIRTIO_RING_F_INDIRECT_DESC);
	q->guest_offset = guest_offset;
	q->kick_fd = kick_fd;
	q->nr_slots = blk_queue_slots(shape->num, q->indirect);
	q->owns_chain = !q->indirect && !is_packed(shape);
	q->slot = (void *)((char *)mem + slots_offset(shape));
	q->table = (void *)((char *)mem + tables_offset(shape));
	q->count = calloc(shape->num, sizeof(*q->count));
	if (!q->count)
		return -ENOMEM;
	vq_driver_init(&q->ring, is_packed(shape), mem, shape->num,
		       has(shape->features, VIRTIO_RING_F_EVENT_IDX), q->count);
	if (vq_driver_busy(&q->ring)) {
		blk_queue_destroy(q);
		return -EBUSY;
	}

	q->request = calloc(q->nr_slots, sizeof(*q->request));
	q->free = calloc(q->nr_slots, sizeof(*q->free));
	if (!q->request || !q->free) {
		blk_queue_destroy(q);
		return -ENOMEM;
	}
	for (unsigned int i = q->nr_slots; i-- > 0; ) {
		prepare_slot(q, i);
		q->free[q->nr_free++] = i;
	}
	return 0;
}

/**
 * blk_queue_destroy - leave a queue; its memory stays for the next owner
 * @q: the queue
 */
void blk_queue_destroy(struct blk_queue *q)
{
	free(q->count);
	free(q->request);
	free(q->free);
}

/* @offset and @len are those of the data on the device, in bytes. */
static inline unsigned int take_slot(struct blk_queue *q, uint32_t type, uint64_t offset,
				     uint32_t len, void *tag)
{
	unsigned int i = q->free[--q->nr_free];

	q->batch++;
	q->request[i] = (struct blk_tagged) { .tag = tag, .age = q->age, .busy = true };
	q->slot[i].hdr.type = htole32(type);
	q->slot[i].hdr.sector = htole64(type == VIRTIO_BLK_T_DISCARD ? 0 : offset >> SECTOR_SHIFT);
	PROBE5(queued, IN_MEM(q->number), IN_REG(i), IN_REG(type), IN_REG(offset), IN_REG(len));
	if (unlikely(q->trace))
		blk_note_queued(q, i, type, offset, len);
	return i;
}

/* Without a next to jump over a missing one, entries are as many as there are (VIRTIO 1.2, 2.8.7). */
static void add_packed_table(struct blk_queue *q, unsigned int i, uint64_t data, uint32_t len,
			     bool device_writes)
{
	struct blk_slot *s = &q->slot[i];
	uint64_t guest = (uintptr_t)s + q->guest_offset;
	unsigned int n = 1;

	if (len)
		s->packed[n++] = (struct vring_packed_desc) {
			.addr = htole64(data),
			.len = htole32(len),
			.flags = htole16(device_writes ? VRING_DESC_F_WRITE : 0),
		};
	s->packed[n++] = (struct vring_packed_desc) {
		.addr = htole64(guest + offsetof(struct blk_slot, status)),
		.len = htole32(sizeof(s->status)),
		.flags = htole16(VRING_DESC_F_WRITE),
	};
	vq_driver_add_indirect(&q->ring, i, guest, n);
}

/* @data is a guest physical address; a request without data has header and status only. */
static void add(struct blk_queue *q, unsigned int i, uint64_t data, uint32_t len, bool device_writes)
{
	struct blk_slot *s = &q->slot[i];
	uint64_t guest = (uintptr_t)s + q->guest_offset;

	if (!q->indirect) {
		struct vq_segment seg[VQ_CHAIN] = {
			{ guest + offsetof(struct blk_slot, hdr), sizeof(s->hdr), false },
			{ data, len, device_writes },
			{ guest + offsetof(struct blk_slot, status), sizeof(s->status), true },
		};

		if (!len)
			seg[1] = seg[2];
		vq_driver_add_chain(&q->ring, i, seg, len ? 3 : 2);
		return;
	}
	if (q->ring.notify.is_packed) {
		add_packed_table(q, i, data, len, device_writes);
		return;
	}

	s->table[0].next = htole16(len ? 1 : 2);
	s->table[1] = (struct vring_desc) {
		.addr = htole64(data),
		.len = htole32(len),
		.flags = htole16(VRING_DESC_F_NEXT | (device_writes ? VRING_DESC_F_WRITE : 0)),
		.next = htole16(2),
	};
	vq_driver_add_indirect(&q->ring, i, guest, 3);
}

/**
 * blk_queue_rw - queue a read or a write
 * @q: the queue, with a slot free
 * @write: write rather than read
 * @offset: bytes from the start of the device, a multiple of 512
 * @buf: data, in memory that the device can reach
 * @len: bytes, not 0, at most blk_limits.max_transfer
 * @tag: comes back from blk_queue_next()
 *
 * VIRTIO 1.2, 5.2.6.
 */
void blk_queue_rw(struct blk_queue *q, bool write, uint64_t offset, void *buf, uint32_t len,
		  void *tag)
{
	unsigned int i = take_slot(q, write ? VIRTIO_BLK_T_OUT : VIRTIO_BLK_T_IN, offset, len, tag);

	add(q, i, (uintptr_t)buf + q->guest_offset, len, !write);
}

static void set_entry(const struct blk_queue *q, struct blk_table *t, unsigned int i, uint64_t addr,
		      uint32_t len, uint16_t flags)
{
	if (q->ring.notify.is_packed)
		t->entry[i].packed = (struct vring_packed_desc) {
			.addr = htole64(addr), .len = htole32(len),
			.flags = htole16(flags & VRING_DESC_F_WRITE),
		};
	else
		t->entry[i].split = (struct vring_desc) {
			.addr = htole64(addr), .len = htole32(len),
			.flags = htole16(flags), .next = htole16(i + 1),
		};
}

static uint32_t iov_bytes(const struct iovec *iov, unsigned int n)
{
	uint32_t len = 0;

	while (n--)
		len += iov[n].iov_len;
	return len;
}

/**
 * blk_queue_rwv - queue a read or a write of several pieces of memory
 * @q: the queue, with a slot free and a shape that has segments
 * @write: write rather than read
 * @offset: bytes from the start of the device, a multiple of 512
 * @iov: the memory, in memory that the device can reach
 * @n: pieces, at most the shape's segments; together at most blk_limits.max_transfer
 * @tag: comes back from blk_queue_next()
 */
void blk_queue_rwv(struct blk_queue *q, bool write, uint64_t offset, const struct iovec *iov,
		   unsigned int n, void *tag)
{
	unsigned int i = take_slot(q, write ? VIRTIO_BLK_T_OUT : VIRTIO_BLK_T_IN, offset,
				   q->trace ? iov_bytes(iov, n) : 0, tag);
	uint64_t slot = (uintptr_t)&q->slot[i] + q->guest_offset;
	uint16_t flags = VRING_DESC_F_NEXT | (write ? 0 : VRING_DESC_F_WRITE);
	struct blk_table *t = &q->table[i];

	set_entry(q, t, 0, slot + offsetof(struct blk_slot, hdr), sizeof(q->slot[i].hdr),
		  VRING_DESC_F_NEXT);
	for (unsigned int j = 0; j < n; j++)
		set_entry(q, t, 1 + j, (uintptr_t)iov[j].iov_base + q->guest_offset, iov[j].iov_len,
			  flags);
	set_entry(q, t, 1 + n, slot + offsetof(struct blk_slot, status), sizeof(q->slot[i].status),
		  VRING_DESC_F_WRITE);
	vq_driver_add_indirect(&q->ring, i, (uintptr_t)t + q->guest_offset, n + 2);
}

/**
 * blk_queue_flush - queue a flush of the device's cache
 * @q: the queue, with a slot free
 * @tag: comes back from blk_queue_next()
 */
void blk_queue_flush(struct blk_queue *q, void *tag)
{
	add(q, take_slot(q, VIRTIO_BLK_T_FLUSH, 0, 0, tag), 0, 0, false);
}

/**
 * blk_queue_discard - queue a discard of one range
 * @q: the queue, with a slot free
 * @offset: bytes from the start of the device, a multiple of 512
 * @len: bytes, at most blk_limits.max_discard
 * @tag: comes back from blk_queue_next()
 */
void blk_queue_discard(struct blk_queue *q, uint64_t offset, uint32_t len, void *tag)
{
	unsigned int i = take_slot(q, VIRTIO_BLK_T_DISCARD, offset, len, tag);
	struct blk_slot *s = &q->slot[i];

	s->range = (struct virtio_blk_discard_write_zeroes) {
		.sector = htole64(offset >> SECTOR_SHIFT),
		.num_sectors = htole32(len >> SECTOR_SHIFT),
	};
	add(q, i, (uintptr_t)&s->range + q->guest_offset, sizeof(s->range), false);
}

static int kick(struct blk_queue *q)
{
	int ret;

	q->stats.kicks++;
	PROBE1(kicked, IN_MEM(q->number));
	trace_batch(q->trace, TRACE_KICK, q->number, 0);
	if (q->doorbell) {
		mmio_write16(q->doorbell, q->number);
		return 0;
	}
	ret = eventfd_signal(q->kick_fd);
	/* EAGAIN: the counter is full of kicks not taken yet, so one is pending anyway. */
	return ret == -EAGAIN ? 0 : ret;
}

/**
 * blk_queue_submit - show the device all that was queued; one kick, if it wants one
 * @q: the queue
 *
 * Return: 0, or what writing the kick eventfd said.
 */
int blk_queue_submit(struct blk_queue *q)
{
	bool wanted;

	if (!q->batch)
		return 0;
	PROBE2(submitted, IN_MEM(q->number), IN_MEM(q->batch));
	trace_batch(q->trace, TRACE_SUBMIT, q->number, q->batch);
	wanted = vq_driver_publish(&q->ring);
	hist_add(&q->stats.batch, q->batch);
	q->batch = 0;
	q->stats.batches++;
	return wanted ? kick(q) : 0;
}

/**
 * blk_queue_check_kick - make certain that the device notices what was submitted
 * @q: the queue, in which no completion is at hand
 *
 * Must come between blk_queue_submit() and waiting for a completion.
 *
 * Return: 0, or what writing the kick eventfd said.
 */
int blk_queue_check_kick(struct blk_queue *q)
{
	return vq_driver_needs_kick(&q->ring) ? kick(q) : 0;
}

static int status_to_errno(uint8_t status)
{
	switch (status) {
	case VIRTIO_BLK_S_OK:
		return 0;
	case VIRTIO_BLK_S_UNSUPP:
		return EOPNOTSUPP;
	default:
		return EIO;
	}
}

/**
 * blk_queue_next - take the next completion
 * @q: the queue
 * @tag: set to the request's
 * @err: set to 0, or the request's errno: EOPNOTSUPP or EIO
 *
 * Return: 1 with a completion, 0 without, -EPROTO when the device returned something
 * that is not in flight.
 */
int blk_queue_next(struct blk_queue *q, void **tag, int *err)
{
	uint32_t id, written;
	unsigned int i;
	int ret;

	ret = vq_driver_next_used(&q->ring, &id, &written);
	if (ret <= 0)
		return ret;
	i = q->owns_chain ? id / VQ_CHAIN : id;
	if (unlikely(i >= q->nr_slots || !q->request[i].busy || (q->owns_chain && id % VQ_CHAIN)))
		return -EPROTO;

	q->request[i].busy = false;
	*tag = q->request[i].tag;
	*err = status_to_errno(q->slot[i].status);
	q->free[q->nr_free++] = i;
	/* Last, as nothing is to be kept for later then. */
	blk_note_seen(q, i, id);
	return 1;
}

/**
 * blk_queue_renew - count the age of requests in flight from now on
 * @q: the queue, of which another device has taken over what is in flight
 *
 * Once for each request: a device that takes a request over and goes again without having answered
 * it has made no progress, however often it does so.
 */
void blk_queue_renew(struct blk_queue *q)
{
	for (unsigned int i = 0; i < q->nr_slots; i++) {
		struct blk_tagged *r = &q->request[i];

		if (!r->busy || r->renewed)
			continue;
		r->age = q->age;
		r->renewed = true;
	}
}

/**
 * blk_queue_stuck - look for requests in flight for too long
 * @q: the queue
 * @max_age: how far blk_queue.age may have advanced since a request was queued
 * @gone: the device is gone and may come back, which excuses what no other has taken over yet
 *
 * Return: whether there is one.
 */
bool blk_queue_stuck(const struct blk_queue *q, uint32_t max_age, bool gone)
{
	for (unsigned int i = 0; i < q->nr_slots; i++) {
		const struct blk_tagged *r = &q->request[i];

		if (r->busy && q->age - r->age > max_age && (r->renewed || !gone))
			return true;
	}
	return false;
}
