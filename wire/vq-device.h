/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef WIRE_VQ_DEVICE_H
#define WIRE_VQ_DEVICE_H

#include <errno.h>
#include <sys/uio.h>
#include "wire/guest-memory.h"
#include "wire/vq.h"

/* Pieces of one request after translation; seg_max in the device's config stays below. */
#define VQ_IOV_MAX	130

/**
 * struct vq_chain - a request as the device sees it
 * @head: names the request when it is returned: its first descriptor in a split ring, its
 *	buffer id in a packed one
 * @count: descriptors it takes in a packed ring
 * @entry: its entry in a packed ring's record of requests in flight, where there is one
 * @nr_read: pieces the device reads, first in @iov
 * @nr_write: pieces the device writes, behind them
 * @iov: host addresses
 */
struct vq_chain {
	uint16_t head;
	uint16_t count;
	uint16_t entry;
	uint16_t nr_read;
	uint16_t nr_write;
	struct iovec iov[VQ_IOV_MAX];
};

/**
 * struct vq_device - the device's side of a virtqueue of either format
 * @notify: calls to send, and kicks wanted
 * @indirect: VIRTIO_RING_F_INDIRECT_DESC was negotiated
 * @last_avail_idx: next available entry to take
 * @used_idx: next used entry to fill
 * @shadow_avail_idx: split: available index as last read from the ring
 * @expected: where the next request will probably be read from, see vq_device_prefetch()
 * @split: the three parts of a split ring
 * @packed: the parts of a packed ring; @first_tail is the used descriptor that publishes the
 *	batch, kept back until then
 *
 * Owned by one iothread at a time.
 */
struct vq_device {
	struct vq_notify notify;
	bool indirect;
	unsigned int last_avail_idx;
	unsigned int used_idx;
	unsigned int shadow_avail_idx;
	const void *expected;
	union {
		struct {
			struct vring_desc *desc;
			struct vring_avail *avail;
			struct vring_used *used;
		} split;
		struct {
			struct vring_packed_desc *desc;
			struct vring_packed_desc_event *driver_event;
			struct vring_packed_desc_event *device_event;
			uint64_t first_tail;
		} packed;
	};
};

/**
 * struct vq_addresses - where the driver says that the parts are, in the front end
 * @desc: descriptor table, or ring
 * @driver: what the driver writes: available ring, or its event suppression structure
 * @device: what the device writes: used ring, or its event suppression structure
 */
struct vq_addresses {
	uint64_t desc;
	uint64_t driver;
	uint64_t device;
};

int vq_device_init(struct vq_device *d, const struct guest_memory *mem, uint64_t features,
		   unsigned int num, const struct vq_addresses *at);
void vq_device_start(struct vq_device *d, unsigned int avail, unsigned int used);
int vq_device_resume(struct vq_device *d, uint32_t base);
uint32_t vq_device_base(const struct vq_device *d);
int vq_chain_add_pieces(struct vq_chain *c, const struct guest_memory *mem, uint64_t addr,
			uint64_t len, bool device_writes);

/* Whether a queue can have so many entries (VIRTIO 1.2, 2.7 and 2.8). */
static inline bool vq_size_valid(bool is_packed, unsigned int num)
{
	return num && num <= PACKED_NUM_MAX && (is_packed || !(num & (num - 1)));
}

/* Tables may lie at any address, so nothing is promised about a descriptor's. */
struct vq_any_split {
	struct vring_desc d;
} __attribute__((packed));

struct vq_any_packed {
	struct vring_packed_desc d;
} __attribute__((packed));

/* Read a descriptor once, hence volatile: the driver could change it while we look. */
static inline struct vring_desc vq_split_desc(const struct vring_desc *p)
{
	const volatile struct vq_any_split *a = (const void *)p;

	return (struct vring_desc) {
		.addr = le64toh(a->d.addr),
		.len = le32toh(a->d.len),
		.flags = le16toh(a->d.flags),
		.next = le16toh(a->d.next),
	};
}

static inline struct vring_packed_desc vq_packed_desc(const struct vring_packed_desc *p)
{
	const volatile struct vq_any_packed *a = (const void *)p;

	return (struct vring_packed_desc) {
		.addr = le64toh(a->d.addr),
		.len = le32toh(a->d.len),
		.id = le16toh(a->d.id),
		.flags = le16toh(a->d.flags),
	};
}

static inline bool vq_packed_is_avail(const struct vq_device *d, unsigned int pos)
{
	unsigned int num = d->notify.num;
	/* pairs with the release in vq_driver_publish() */
	uint16_t flags = packed_tail_flags(packed_load_tail(&d->packed.desc[packed_index(pos, num)]));

	return (flags & (PACKED_AVAIL | PACKED_USED)) == packed_avail_flags(pos, num);
}

/**
 * vq_device_has_avail - look for a request without taking it
 * @d: the queue
 *
 * Return: whether vq_device_pop() would find one.
 */
static inline bool vq_device_has_avail(struct vq_device *d)
{
	if (d->notify.is_packed)
		return vq_packed_is_avail(d, d->last_avail_idx);
	if (d->last_avail_idx == d->shadow_avail_idx)
		/* pairs with the release of avail->idx in vq_driver_publish() */
		d->shadow_avail_idx = ring_load16(&d->split.avail->idx, memory_order_acquire);
	return d->last_avail_idx != d->shadow_avail_idx;
}

/**
 * vq_device_avail_end - see how far the driver has gone
 * @d: the queue, in which vq_device_has_avail() has found a request
 *
 * Return: the index behind the last entry that is available now.
 */
static inline unsigned int vq_device_avail_end(const struct vq_device *d)
{
	unsigned int num = d->notify.num, pos;

	if (!d->notify.is_packed)
		return d->shadow_avail_idx;
	pos = packed_advance(d->last_avail_idx, 1, num);
	for (unsigned int n = 1; n < num && vq_packed_is_avail(d, pos); n++)
		pos = packed_advance(pos, 1, num);
	return pos;
}

/**
 * struct vq_walk - pieces of a request while its descriptors are read; in registers
 * @n: so far
 * @nr_read: those of them that the device reads
 */
struct vq_walk {
	unsigned int n;
	unsigned int nr_read;
};

static inline void vq_walk_end(const struct vq_walk *w, struct vq_chain *c)
{
	c->nr_read = w->nr_read;
	c->nr_write = w->n - w->nr_read;
}

/**
 * vq_walk_add - add a descriptor's memory to a request
 * @w: the walk
 * @c: the request
 * @mem: the driver's memory
 * @addr: guest physical address
 * @len: bytes
 * @device_writes: the device writes them, else it reads them
 *
 * Return: 0 or a negative errno, see vq_chain_add_pieces().
 */
static inline int vq_walk_add(struct vq_walk *w, struct vq_chain *c, const struct guest_memory *mem,
			      uint64_t addr, uint64_t len, bool device_writes)
{
	char *host = guest_memory_first(mem, addr, len);
	int ret;

	if (likely(host && w->n != VQ_IOV_MAX && (device_writes || w->nr_read == w->n))) {
		c->iov[w->n++] = (struct iovec) { .iov_base = host, .iov_len = len };
		w->nr_read += !device_writes;
		return 0;
	}
	vq_walk_end(w, c);
	ret = vq_chain_add_pieces(c, mem, addr, len, device_writes);
	*w = (struct vq_walk) { c->nr_read + c->nr_write, c->nr_read };
	return ret;
}

/* The table of an indirect descriptor, which must be in one piece (VIRTIO 1.2, 2.7.5.3 and 2.8.7). */
static inline const void *vq_table(const struct guest_memory *mem, uint64_t addr, uint64_t bytes)
{
	const void *table = guest_memory_first(mem, addr, bytes);
	uint64_t run = bytes;

	if (unlikely(!table)) {
		table = guest_memory_run(mem, addr, &run);
		if (run != bytes)
			return NULL;
	}
	return table;
}

/**
 * vq_split_read - read the descriptors of a request in a split ring
 * @d: the queue
 * @mem: the driver's memory
 * @c: the request, of which the head is set, below the queue size; the rest is filled in
 *
 * Return: 0, or a negative errno as vq_device_pop() has it.
 */
static inline int vq_split_read(const struct vq_device *d, const struct guest_memory *mem,
				struct vq_chain *c)
{
	const struct vring_desc *table = d->split.desc;
	unsigned int num = d->notify.num, steps = 0;
	struct vring_desc desc = vq_split_desc(&table[c->head]);
	struct vq_walk w = { 0 };
	bool in_ring = true;

	for (;;) {
		int ret;

		if (desc.flags & VRING_DESC_F_INDIRECT) {
			unsigned int entries = desc.len / sizeof(desc);

			if (unlikely(!in_ring || !d->indirect || desc.flags & VRING_DESC_F_NEXT ||
				     desc.len % sizeof(desc) || !entries || entries > 65536))
				return -EINVAL;
			table = vq_table(mem, desc.addr, desc.len);
			if (unlikely(!table))
				return -EFAULT;
			in_ring = false;
			num = entries;
			steps = 0;
			desc = vq_split_desc(table);
			continue;
		}
		ret = vq_walk_add(&w, c, mem, desc.addr, desc.len, desc.flags & VRING_DESC_F_WRITE);
		if (unlikely(ret))
			return ret;
		if (!(desc.flags & VRING_DESC_F_NEXT))
			break;
		if (unlikely(desc.next >= num))
			return -ERANGE;
		/* A chain visits each descriptor once at most, so a longer one is a loop. */
		if (unlikely(++steps == num))
			return -ELOOP;
		desc = vq_split_desc(&table[desc.next]);
	}
	vq_walk_end(&w, c);
	return 0;
}

/**
 * vq_packed_add - add what a packed ring's descriptor refers to, memory or a table, to a request
 * @w: the walk, at the request's first descriptor when it is new
 * @d: the queue
 * @mem: the driver's memory
 * @desc: the descriptor, in this host's byte order
 * @c: the request
 *
 * A list has tables or segments (VIRTIO 1.2, 2.8.5), and a table only by itself (2.8.19). It lists
 * its segments one behind the other; only their WRITE flags count (2.8.7).
 *
 * Return: 0, -EINVAL for a bad indirect table, -EFAULT for one that is not in one piece of memory,
 * or what vq_walk_add() says.
 */
static inline int vq_packed_add(struct vq_walk *w, const struct vq_device *d,
				const struct guest_memory *mem,
				const struct vring_packed_desc *desc, struct vq_chain *c)
{
	const struct vring_packed_desc *table;
	int ret = 0;

	if (!(desc->flags & VRING_DESC_F_INDIRECT))
		return vq_walk_add(w, c, mem, desc->addr, desc->len, desc->flags & VRING_DESC_F_WRITE);
	if (unlikely(w->n || !d->indirect || desc->flags & VRING_DESC_F_NEXT ||
		     desc->len % sizeof(*desc) || !desc->len))
		return -EINVAL;
	table = vq_table(mem, desc->addr, desc->len);
	if (unlikely(!table))
		return -EFAULT;
	for (unsigned int i = 0; i < desc->len / sizeof(*desc) && !ret; i++) {
		struct vring_packed_desc entry = vq_packed_desc(&table[i]);

		ret = vq_walk_add(w, c, mem, entry.addr, entry.len, entry.flags & VRING_DESC_F_WRITE);
	}
	return ret;
}

static inline int vq_split_pop(struct vq_device *d, const struct guest_memory *mem,
			       struct vq_chain *c)
{
	unsigned int num = d->notify.num;
	int ret;

	if (!vq_device_has_avail(d))
		return 0;
	if (unlikely((uint16_t)(d->shadow_avail_idx - d->last_avail_idx) > num))
		return -ERANGE;
	c->head = ring_load16(&d->split.avail->ring[d->last_avail_idx & (num - 1)],
			      memory_order_relaxed);
	if (unlikely(c->head >= num))
		return -ERANGE;
	ret = vq_split_read(d, mem, c);
	if (unlikely(ret))
		return ret;
	d->last_avail_idx = (uint16_t)(d->last_avail_idx + 1);
	return 1;
}

static inline int vq_packed_pop(struct vq_device *d, const struct guest_memory *mem,
				struct vq_chain *c)
{
	unsigned int num = d->notify.num, pos = d->last_avail_idx, count = 0;
	struct vring_packed_desc desc;
	struct vq_walk w = { 0 };

	if (!vq_packed_is_avail(d, pos))
		return 0;
	do {
		int ret;

		if (unlikely(count == num))
			return -ELOOP;
		desc = vq_packed_desc(&d->packed.desc[packed_index(pos, num)]);
		ret = vq_packed_add(&w, d, mem, &desc, c);
		if (unlikely(ret))
			return ret;
		pos = packed_advance(pos, 1, num);
		count++;
	} while (desc.flags & VRING_DESC_F_NEXT);

	vq_walk_end(&w, c);
	/* What the driver has not been given back is not its to reuse. */
	if (unlikely(packed_distance(d->notify.published, d->last_avail_idx, num) + count > num))
		return -EOVERFLOW;
	/* The last one names the list (2.8.6). */
	c->head = desc.id;
	c->count = count;
	d->last_avail_idx = pos;
	return 1;
}

/**
 * vq_device_pop - take the next request
 * @d: the queue
 * @mem: the driver's memory
 * @c: filled in
 *
 * Return: 1 with a request, 0 without, or a negative errno when the ring is broken (VIRTIO 1.2,
 * 2.7.4, 2.7.5, 2.8.5 to 2.8.7 and 2.8.17): -ERANGE for an index outside the queue, -ELOOP for a
 * loop or a list longer than the queue, -EOVERFLOW for more descriptors than are free, -EFAULT
 * for an address outside the driver's memory, -E2BIG for too many segments, -EINVAL for an empty
 * segment, a wrong direction or a bad indirect table.
 */
static inline int vq_device_pop(struct vq_device *d, const struct guest_memory *mem,
				struct vq_chain *c)
{
	int ret = d->notify.is_packed ? vq_packed_pop(d, mem, c) : vq_split_pop(d, mem, c);

	if (ret > 0)
		d->expected = c->iov[0].iov_base;
	return ret;
}

/**
 * vq_device_prefetch - fetch what the next request will probably be read from
 * @d: the queue, in which there is none
 *
 * Fetch it along with the line that shows the request, which has just been looked at: read one
 * after the other, they would be two ways between the CPUs. A driver that sends one request at a
 * time, and for it reuses the one it has got back last, as ours and others do, has the header, and
 * ours its table too, in the same line again. Fetching what is not there any more is harmless.
 */
static inline void vq_device_prefetch(const struct vq_device *d)
{
	__builtin_prefetch(d->expected);
}

static inline void vq_split_push(struct vq_device *d, uint16_t head, uint32_t written)
{
	struct vring_used_elem *elem = &d->split.used->ring[d->used_idx & (d->notify.num - 1)];

	/* An element that is right already, as at depth 1, is left to the driver's cache. */
	if (ring_load32(&elem->id) != head)
		ring_store32(&elem->id, head);
	if (ring_load32(&elem->len) != written)
		ring_store32(&elem->len, written);
	d->used_idx = (uint16_t)(d->used_idx + 1);
}

/*
 * All used descriptors but the first of a batch are complete at once: the driver does not
 * look at them before that one (VIRTIO 1.2, 2.8.2).
 */
static inline void vq_packed_push(struct vq_device *d, uint16_t id, uint16_t count, uint32_t written)
{
	unsigned int num = d->notify.num, pos = d->used_idx;
	uint16_t flags = packed_used_flags(pos, num) | (written ? VRING_DESC_F_WRITE : 0);
	uint64_t tail = packed_tail(written, id, flags);

	if (pos == d->notify.published)
		d->packed.first_tail = tail;
	else
		packed_store_tail(&d->packed.desc[packed_index(pos, num)], tail, memory_order_relaxed);
	d->used_idx = packed_advance(pos, count, num);
}

/**
 * vq_device_push - return a request; shown to the driver by vq_device_publish()
 * @d: the queue
 * @c: the request; only what names it and how much of the ring it takes count
 * @written: bytes written into the request's memory
 */
static inline void vq_device_push(struct vq_device *d, const struct vq_chain *c, uint32_t written)
{
	if (d->notify.is_packed)
		vq_packed_push(d, c->head, c->count, written);
	else
		vq_split_push(d, c->head, written);
}

/* Whether something has been returned that the driver has not been shown. */
static inline bool vq_device_unpublished(const struct vq_device *d)
{
	return d->used_idx != d->notify.published;
}

/**
 * vq_device_publish - show the driver all requests returned so far
 * @d: the queue
 *
 * A driver that is just falling asleep may be missed: see vq_notify_wanted().
 *
 * Return: whether to call the driver now.
 */
static inline bool vq_device_publish(struct vq_device *d)
{
	unsigned int first = d->notify.published;

	if (first == d->used_idx)
		return false;
	vq_notify_publish(&d->notify, d->used_idx);
	/* release: pairs with the acquire in vq_driver_has_used() */
	if (d->notify.is_packed)
		packed_store_tail(&d->packed.desc[packed_index(first, d->notify.num)],
				  d->packed.first_tail, memory_order_release);
	else
		ring_store16(&d->split.used->idx, d->used_idx, memory_order_release);
	return vq_notify_wanted(&d->notify);
}

/**
 * vq_device_needs_call - make certain whether published requests need a call
 * @d: the queue
 *
 * To be called when no request is at hand, before waiting for one.
 *
 * Return: whether to call the driver now.
 */
static inline bool vq_device_needs_call(struct vq_device *d)
{
	return vq_notify_check(&d->notify);
}

/**
 * vq_device_enable_kicks - ask for a kick at the next request
 * @d: the queue
 *
 * Return: whether a request came in between, so that the caller must not sleep.
 */
static inline bool vq_device_enable_kicks(struct vq_device *d)
{
	vq_notify_enable(&d->notify, d->last_avail_idx);
	return vq_device_has_avail(d);
}

/**
 * vq_device_disable_kicks - ask not to be kicked
 * @d: the queue
 */
static inline void vq_device_disable_kicks(struct vq_device *d)
{
	vq_notify_disable(&d->notify, d->last_avail_idx);
}

#endif
