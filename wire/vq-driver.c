/* SPDX-License-Identifier: GPL-2.0-only */
/* The driver's side of a virtqueue: where its ring lies, and requests without an indirect table */

#include "wire/vq-driver.h"

/* Lines are fetched in pairs, so what the two sides write is kept two apart. */
#define PART	(2 * CACHE_LINE)

static size_t round_up(size_t n, size_t to)
{
	return (n + to - 1) / to * to;
}

/* Split: descriptors, available ring, used ring. */
static size_t avail_offset(unsigned int num)
{
	return round_up(ring_desc_size(num), CACHE_LINE);
}

static size_t used_offset(unsigned int num)
{
	return avail_offset(num) + round_up(ring_avail_size(num), PART);
}

/* Packed: descriptors, the two event structures, and the driver's place. */
static size_t parts_offset(unsigned int num)
{
	return round_up(num * sizeof(struct vring_packed_desc), PART);
}

/**
 * vq_ring_bytes - memory that a queue's ring takes
 * @is_packed: format
 * @num: queue size: up to PACKED_NUM_MAX, in a split ring a power of two (VIRTIO 1.2, 2.7)
 *
 * Return: bytes, for memory that starts on a cache line.
 */
size_t vq_ring_bytes(bool is_packed, unsigned int num)
{
	return is_packed ? parts_offset(num) + 3 * PART :
			   used_offset(num) + round_up(ring_used_size(num), PART);
}

/* The indices live in the ring. */
static void init_split(struct vq_driver *d, char *mem, unsigned int num, bool event_idx)
{
	struct vring_avail *avail = (void *)(mem + avail_offset(num));
	struct vring_used *used = (void *)(mem + used_offset(num));

	d->split.desc = (void *)mem;
	d->split.avail = avail;
	d->split.used = used;
	vq_notify_init(&d->notify, false, event_idx, num,
		       event_idx ? ring_used_event(avail, num) : &avail->flags,
		       event_idx ? ring_avail_event(used, num) : &used->flags);
	d->avail_idx = ring_load16(&avail->idx, memory_order_relaxed);
	/* pairs with the release of used->idx in vq_device_publish() */
	d->last_used_idx = ring_load16(&used->idx, memory_order_acquire);
	d->shadow_used_idx = d->last_used_idx;
}

static void init_packed(struct vq_driver *d, char *mem, unsigned int num, bool event_idx,
			uint8_t *count)
{
	char *parts = mem + parts_offset(num);

	d->packed.desc = (void *)mem;
	d->packed.driver_event = (void *)parts;
	d->packed.device_event = (void *)(parts + PART);
	d->packed.place = (void *)(parts + 2 * PART);
	d->packed.count = count;
	vq_notify_init(&d->notify, true, event_idx, num, d->packed.driver_event,
		       d->packed.device_event);
	/* The device can reach these numbers, so they are made to fit whatever they are. */
	d->avail_idx = atomic_load_explicit(&d->packed.place->avail, memory_order_relaxed) % (2 * num);
	d->last_used_idx = atomic_load_explicit(&d->packed.place->used, memory_order_relaxed) % (2 * num);
}

/**
 * vq_driver_init - take a ring up where its last driver left it
 * @d: filled in
 * @is_packed: format
 * @mem: vq_ring_bytes() of memory on a cache line; all zero for a new ring
 * @num: queue size
 * @event_idx: VIRTIO_RING_F_EVENT_IDX was negotiated
 * @count: packed: room for @num numbers that the device does not see, all zero: of each slot the
 *	descriptors it has in the ring; stays the caller's, and only a driver that adds requests
 *	needs it
 *
 * A driver may go and another take over as long as nothing is in flight: see vq_driver_busy().
 */
void vq_driver_init(struct vq_driver *d, bool is_packed, void *mem, unsigned int num,
		    bool event_idx, uint8_t *count)
{
	*d = (struct vq_driver) { 0 };
	if (is_packed)
		init_packed(d, mem, num, event_idx, count);
	else
		init_split(d, mem, num, event_idx);
	d->notify.published = d->avail_idx;
}

/**
 * vq_driver_parts - where the device finds the queue
 * @d: the queue
 *
 * Return: addresses here.
 */
struct vq_parts vq_driver_parts(const struct vq_driver *d)
{
	if (d->notify.is_packed)
		return (struct vq_parts) {
			d->packed.desc, d->packed.driver_event, d->packed.device_event
		};
	return (struct vq_parts) { d->split.desc, d->split.avail, d->split.used };
}

/**
 * vq_driver_base - where a device that has returned everything goes on
 * @d: the queue
 *
 * Return: see vq_device_resume().
 */
uint32_t vq_driver_base(const struct vq_driver *d)
{
	uint16_t pos;

	if (!d->notify.is_packed)
		return d->last_used_idx;
	pos = packed_to_wire(d->last_used_idx, d->notify.num);
	return pos | (uint32_t)pos << 16;
}

/**
 * vq_driver_add_chain - queue a request as a chain in the ring itself
 * @d: the queue
 * @slot: which request, not in flight; below the queue size, in a split ring below a third of it
 * @seg: the segments, those that the device writes last
 * @n: how many, up to VQ_CHAIN
 *
 * The device sees it after vq_driver_publish(). VIRTIO 1.2, 2.7.5 and 2.8.6.
 */
void vq_driver_add_chain(struct vq_driver *d, unsigned int slot, const struct vq_segment *seg,
			 unsigned int n)
{
	unsigned int head = slot * VQ_CHAIN;

	for (unsigned int i = 0; i < n; i++) {
		bool more = i + 1 < n;
		uint16_t flags = (seg[i].device_writes ? VRING_DESC_F_WRITE : 0) |
				 (more ? VRING_DESC_F_NEXT : 0);

		if (d->notify.is_packed)
			vq_packed_put(d, slot, seg[i].addr, seg[i].len, flags);
		else
			vq_split_set(&d->split.desc[head + i], seg[i].addr, seg[i].len, flags,
				     more ? head + i + 1 : 0);
	}
	if (d->notify.is_packed)
		d->packed.count[slot] = n;
	else
		vq_split_add(d, head);
}
