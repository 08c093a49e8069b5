/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef WIRE_VQ_DRIVER_H
#define WIRE_VQ_DRIVER_H

#include <errno.h>
#include "wire/vq.h"

/**
 * struct vq_place - where a driver is in its packed ring, in memory beside the ring
 * @avail: position of the next descriptor to fill
 * @used: position of the next used descriptor to read
 *
 * A packed ring does not tell.
 */
struct vq_place {
	_Atomic uint16_t avail;
	_Atomic uint16_t used;
};

/**
 * struct vq_driver - the driver's side of a virtqueue of either format
 * @notify: kicks to send, and calls wanted
 * @avail_idx: next entry to fill
 * @last_used_idx: next used entry to read
 * @shadow_used_idx: split: used index as last read from the ring
 * @split: the three parts of a split ring
 * @packed: the parts of a packed ring; @place and @count, see vq_driver_init(); the descriptor
 *	that publishes the batch (@first_addr, @first_tail), kept back until it is complete
 *
 * Every request has a fixed identity, its slot. In a split ring a slot always uses the same
 * descriptors; one that already says what the request needs is not written again, so that its
 * cache line stays shared with the device. In a packed ring it is the buffer id.
 */
struct vq_driver {
	struct vq_notify notify;
	unsigned int avail_idx;
	unsigned int last_used_idx;
	unsigned int shadow_used_idx;
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
			struct vq_place *place;
			uint8_t *count;
			uint64_t first_addr;
			uint64_t first_tail;
		} packed;
	};
};

/**
 * struct vq_parts - where the device finds a virtqueue
 * @desc: descriptor table, or ring
 * @driver: what the driver writes: available ring, or its event suppression structure
 * @device: what the device writes: used ring, or its event suppression structure
 */
struct vq_parts {
	void *desc;
	void *driver;
	void *device;
};

size_t vq_ring_bytes(bool is_packed, unsigned int num);
void vq_driver_init(struct vq_driver *d, bool is_packed, void *mem, unsigned int num,
		    bool event_idx, uint8_t *count);
struct vq_parts vq_driver_parts(const struct vq_driver *d);
uint32_t vq_driver_base(const struct vq_driver *d);

/* Whether the ring holds requests of which the driver has not seen the end. */
static inline bool vq_driver_busy(const struct vq_driver *d)
{
	return d->avail_idx != d->last_used_idx;
}

static inline void vq_split_set(struct vring_desc *desc, uint64_t addr, uint32_t len,
				uint16_t flags, uint16_t next)
{
	if (desc->addr != htole64(addr))
		ring_store64(&desc->addr, addr);
	if (desc->len != htole32(len))
		ring_store32(&desc->len, len);
	if (desc->flags != htole16(flags))
		ring_store16(&desc->flags, flags, memory_order_relaxed);
	if (desc->next != htole16(next))
		ring_store16(&desc->next, next, memory_order_relaxed);
}

/* An entry that is right already, as at depth 1, is left to the device's cache. */
static inline void vq_split_add(struct vq_driver *d, uint16_t head)
{
	__virtio16 *entry = &d->split.avail->ring[d->avail_idx & (d->notify.num - 1)];

	if (ring_load16(entry, memory_order_relaxed) != head)
		ring_store16(entry, head, memory_order_relaxed);
	d->avail_idx = (uint16_t)(d->avail_idx + 1);
}

/*
 * The first descriptor of a batch is written last, and shows all others. The device looks at
 * it all the time, so that writing it in two goes would fetch its cache line back twice.
 */
static inline void vq_packed_put(struct vq_driver *d, unsigned int slot, uint64_t addr,
				 uint32_t len, uint16_t flags)
{
	unsigned int num = d->notify.num, pos = d->avail_idx;
	struct vring_packed_desc *desc = &d->packed.desc[packed_index(pos, num)];
	uint64_t tail = packed_tail(len, slot, flags | packed_avail_flags(pos, num));

	if (pos == d->notify.published) {
		d->packed.first_addr = addr;
		d->packed.first_tail = tail;
	} else {
		ring_store64(&desc->addr, addr);
		packed_store_tail(desc, tail, memory_order_relaxed);
	}
	d->avail_idx = packed_advance(pos, 1, num);
}

/**
 * vq_driver_add_indirect - queue a request whose segments are in a table
 * @d: the queue
 * @slot: which request, below the queue size, not in flight
 * @table: guest physical address of the table of descriptors
 * @entries: descriptors in it
 *
 * The device sees it after vq_driver_publish(). VIRTIO 1.2, 2.7.5.3 and 2.8.7.
 */
static inline void vq_driver_add_indirect(struct vq_driver *d, unsigned int slot, uint64_t table,
					  unsigned int entries)
{
	if (d->notify.is_packed) {
		vq_packed_put(d, slot, table, entries * sizeof(struct vring_packed_desc),
			      VRING_DESC_F_INDIRECT);
		d->packed.count[slot] = 1;
	} else {
		vq_split_set(&d->split.desc[slot], table, entries * sizeof(struct vring_desc),
			     VRING_DESC_F_INDIRECT, 0);
		vq_split_add(d, slot);
	}
}

void vq_driver_add_chain(struct vq_driver *d, unsigned int slot, const struct vq_segment *seg,
			 unsigned int n);

/**
 * vq_driver_publish - show the device all requests added so far
 * @d: the queue
 *
 * A device that is just falling asleep may be missed: see vq_notify_wanted().
 *
 * Return: whether to kick the device now.
 */
static inline bool vq_driver_publish(struct vq_driver *d)
{
	unsigned int first = d->notify.published;

	if (first == d->avail_idx)
		return false;
	vq_notify_publish(&d->notify, d->avail_idx);
	if (d->notify.is_packed) {
		struct vring_packed_desc *desc = &d->packed.desc[packed_index(first, d->notify.num)];

		/* First: whoever comes after a driver that was killed must not think the ring empty. */
		atomic_store_explicit(&d->packed.place->avail, d->avail_idx, memory_order_relaxed);
		ring_store64(&desc->addr, d->packed.first_addr);
		/* release: pairs with the acquire in vq_device_has_avail() */
		packed_store_tail(desc, d->packed.first_tail, memory_order_release);
	} else {
		/* release: pairs with the acquire in vq_device_has_avail() */
		ring_store16(&d->split.avail->idx, d->avail_idx, memory_order_release);
	}
	return vq_notify_wanted(&d->notify);
}

/**
 * vq_driver_needs_kick - make certain whether published requests need a kick
 * @d: the queue
 *
 * To be called when no completion is at hand, before waiting for one.
 *
 * Return: whether to kick the device now.
 */
static inline bool vq_driver_needs_kick(struct vq_driver *d)
{
	return vq_notify_check(&d->notify);
}

/**
 * vq_driver_has_used - look for a completion without taking it
 * @d: the queue
 *
 * Return: whether vq_driver_next_used() would find one.
 */
static inline bool vq_driver_has_used(struct vq_driver *d)
{
	unsigned int num = d->notify.num, pos = d->last_used_idx;
	uint16_t flags;

	if (!d->notify.is_packed) {
		if (pos == d->shadow_used_idx)
			/* pairs with the release of used->idx in vq_device_publish() */
			d->shadow_used_idx = ring_load16(&d->split.used->idx, memory_order_acquire);
		return pos != d->shadow_used_idx;
	}
	/* pairs with the release in vq_device_publish() */
	flags = packed_tail_flags(packed_load_tail(&d->packed.desc[packed_index(pos, num)]));
	return (flags & (PACKED_AVAIL | PACKED_USED)) == packed_used_flags(pos, num);
}

/**
 * vq_driver_enable_calls - ask for a call at the next completion
 * @d: the queue
 *
 * Return: whether a completion came in between, so that the caller must not sleep.
 */
static inline bool vq_driver_enable_calls(struct vq_driver *d)
{
	vq_notify_enable(&d->notify, d->last_used_idx);
	return vq_driver_has_used(d);
}

/**
 * vq_driver_disable_calls - ask not to be called
 * @d: the queue
 */
static inline void vq_driver_disable_calls(struct vq_driver *d)
{
	vq_notify_disable(&d->notify, d->last_used_idx);
}

static inline int vq_split_next_used(struct vq_driver *d, uint32_t *id, uint32_t *written)
{
	unsigned int num = d->notify.num;
	const struct vring_used_elem *elem;

	if (!vq_driver_has_used(d))
		return 0;
	if (unlikely((uint16_t)(d->shadow_used_idx - d->last_used_idx) > num))
		return -EPROTO;
	elem = &d->split.used->ring[d->last_used_idx & (num - 1)];
	*id = ring_load32(&elem->id);
	*written = ring_load32(&elem->len);
	if (unlikely(*id >= num))
		return -EPROTO;
	d->last_used_idx = (uint16_t)(d->last_used_idx + 1);
	return 1;
}

static inline int vq_packed_next_used(struct vq_driver *d, uint32_t *slot, uint32_t *written)
{
	unsigned int num = d->notify.num, pos = d->last_used_idx;
	/* pairs with the release in vq_device_publish() */
	uint64_t tail = packed_load_tail(&d->packed.desc[packed_index(pos, num)]);
	uint16_t flags = packed_tail_flags(tail), id = packed_tail_id(tail);

	if ((flags & (PACKED_AVAIL | PACKED_USED)) != packed_used_flags(pos, num))
		return 0;
	if (unlikely(id >= num || !d->packed.count[id]))
		return -EPROTO;
	*slot = id;
	/* Without the flag the length says nothing (2.8.4). */
	*written = flags & VRING_DESC_F_WRITE ? packed_tail_len(tail) : 0;
	d->last_used_idx = packed_advance(pos, d->packed.count[id], num);
	d->packed.count[id] = 0;
	atomic_store_explicit(&d->packed.place->used, d->last_used_idx, memory_order_relaxed);
	return 1;
}

/**
 * vq_driver_next_used - take the next completion
 * @d: the queue
 * @id: set to what names the request: its slot, or, of a chain in a split ring, the chain's
 *	first descriptor
 * @written: set to the bytes the device says it wrote
 *
 * Return: 1 with a completion, 0 without, -EPROTO if the device returned an index outside the
 * queue, more completions than there are descriptors, or (packed) what is not in flight.
 */
static inline int vq_driver_next_used(struct vq_driver *d, uint32_t *id, uint32_t *written)
{
	return d->notify.is_packed ? vq_packed_next_used(d, id, written) :
				     vq_split_next_used(d, id, written);
}

#endif
