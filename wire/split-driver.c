/* SPDX-License-Identifier: GPL-2.0-only */
#include <errno.h>
#include "base/cpu.h"
#include "wire/split-driver.h"

static size_t round_up(size_t n, size_t to)
{
	return (n + to - 1) / to * to;
}

/* Each part starts on its own cache line: driver and device write different parts. */
static size_t avail_offset(unsigned int num)
{
	return round_up(ring_desc_size(num), CACHE_LINE);
}

static size_t used_offset(unsigned int num)
{
	return avail_offset(num) + round_up(ring_avail_size(num), 2 * CACHE_LINE);
}

/**
 * split_ring_bytes - memory that a queue's ring takes
 * @num: queue size, a power of two up to 32768 (VIRTIO 1.2, 2.7)
 *
 * Return: bytes, for memory that starts on a cache line.
 */
size_t split_ring_bytes(unsigned int num)
{
	return used_offset(num) + round_up(ring_used_size(num), 2 * CACHE_LINE);
}

/**
 * split_driver_init - take a ring up where its indices stand
 * @d: the queue
 * @mem: split_ring_bytes(@num) of memory on a cache line; all zero for a new ring
 * @num: queue size
 * @event_idx: VIRTIO_RING_F_EVENT_IDX was negotiated
 *
 * The indices live in the ring, so a driver may go and another take over, as long
 * as nothing is in flight.
 */
void split_driver_init(struct split_driver *d, void *mem, unsigned int num, bool event_idx)
{
	char *base = mem;

	*d = (struct split_driver) {
		.desc = mem,
		.avail = (void *)(base + avail_offset(num)),
		.used = (void *)(base + used_offset(num)),
		.num = num,
		.event_idx = event_idx,
	};
	d->avail_idx = ring_load16(&d->avail->idx, memory_order_relaxed);
	d->published = d->avail_idx;
	/* pairs with the release of used->idx in split_device_publish() */
	d->used_idx = ring_load16(&d->used->idx, memory_order_acquire);
	d->used_seen = d->used_idx;
	d->calls_off = ring_load16(&d->avail->flags, memory_order_relaxed) &
		       VRING_AVAIL_F_NO_INTERRUPT;
}

static void set_desc(struct vring_desc *desc, uint64_t addr, uint32_t len, uint16_t flags,
		     uint16_t next)
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
static void add_head(struct split_driver *d, uint16_t head)
{
	__virtio16 *entry = &d->avail->ring[d->avail_idx & (d->num - 1)];

	if (ring_load16(entry, memory_order_relaxed) != head)
		ring_store16(entry, head, memory_order_relaxed);
	d->avail_idx++;
}

/**
 * split_driver_add_indirect - queue a request whose segments are in a table
 * @d: the queue
 * @slot: which request, below the queue size, not in flight
 * @table: guest physical address of the table of descriptors
 * @entries: descriptors in it
 *
 * The device sees it after split_driver_publish(). VIRTIO 1.2, 2.7.5.3.
 */
void split_driver_add_indirect(struct split_driver *d, unsigned int slot, uint64_t table,
			       unsigned int entries)
{
	set_desc(&d->desc[slot], table, entries * sizeof(struct vring_desc), VRING_DESC_F_INDIRECT, 0);
	add_head(d, slot);
}

/**
 * split_driver_add_chain - queue a request as a chain in the ring itself
 * @d: the queue
 * @slot: which request, below a third of the queue size, not in flight
 * @seg: the segments, those that the device writes last
 * @n: how many, up to VQ_CHAIN
 *
 * The device sees it after split_driver_publish(). VIRTIO 1.2, 2.7.5.
 */
void split_driver_add_chain(struct split_driver *d, unsigned int slot,
			    const struct vq_segment *seg, unsigned int n)
{
	unsigned int head = slot * VQ_CHAIN;

	for (unsigned int i = 0; i < n; i++) {
		uint16_t flags = seg[i].device_writes ? VRING_DESC_F_WRITE : 0;
		bool more = i + 1 < n;

		set_desc(&d->desc[head + i], seg[i].addr, seg[i].len,
			 flags | (more ? VRING_DESC_F_NEXT : 0), more ? head + i + 1 : 0);
	}
	add_head(d, head);
}

/* Whether the device asked to be kicked for unsettled requests (VIRTIO 1.2, 2.7.10). */
static bool kick_wanted(const struct split_driver *d)
{
	uint16_t old = d->published - d->unsettled;

	if (d->event_idx)
		return vring_need_event(ring_load16(ring_avail_event(d->used, d->num),
						    memory_order_relaxed), d->published, old);
	return !(ring_load16(&d->used->flags, memory_order_relaxed) & VRING_USED_F_NO_NOTIFY);
}

/**
 * split_driver_publish - show the device all requests added so far
 * @d: the queue
 *
 * A device that sleeps has said so long ago, and is seen to want a kick at once. One that
 * is just falling asleep may be missed, as that would need a full fence, a cache line's
 * way to the device and back for each request: split_driver_settle() makes up for it.
 *
 * Return: whether to kick the device now.
 */
bool split_driver_publish(struct split_driver *d)
{
	unsigned int unsettled = d->unsettled + (uint16_t)(d->avail_idx - d->published);

	if (d->published == d->avail_idx)
		return false;
	d->published = d->avail_idx;
	/* A device that sleeps is not further behind than its ring is long. */
	d->unsettled = unsettled < d->num ? unsettled : d->num;

	/* pairs with the acquire of avail->idx in split_device_has_avail() */
	ring_store16(&d->avail->idx, d->avail_idx, memory_order_release);
	if (!kick_wanted(d))
		return false;
	d->unsettled = 0;
	return true;
}

/**
 * split_driver_settle - find out for certain whether published requests need a kick
 * @d: the queue
 *
 * To be called when no completion is at hand, before waiting for one.
 *
 * Return: whether to kick the device now.
 */
bool split_driver_settle(struct split_driver *d)
{
	bool wanted;

	if (!d->unsettled)
		return false;
	/*
	 * The device stores its wish and then looks at avail->idx; we have stored avail->idx
	 * and now look at its wish. Pairs with the fence in split_device_enable_kicks().
	 */
	atomic_thread_fence(memory_order_seq_cst);
	wanted = kick_wanted(d);
	d->unsettled = 0;
	return wanted;
}

/**
 * split_driver_enable_calls - ask for a call at the next completion
 * @d: the queue
 *
 * Return: whether a completion came in between, so that the caller must not sleep.
 */
bool split_driver_enable_calls(struct split_driver *d)
{
	if (d->event_idx) {
		ring_store16(ring_used_event(d->avail, d->num), d->used_idx, memory_order_relaxed);
	} else if (d->calls_off) {
		d->calls_off = false;
		ring_store16(&d->avail->flags, 0, memory_order_relaxed);
	}
	/* pairs with the fence in split_device_settle(): see split_device_settle() */
	atomic_thread_fence(memory_order_seq_cst);
	return split_driver_has_used(d);
}

/**
 * split_driver_disable_calls - ask not to be called
 * @d: the queue
 *
 * With event_idx an index that has been passed asks for nothing until the index comes
 * round again, 65536 requests later, so only one that is still ahead is moved out of the
 * way. One stray call in as many requests is the price for not touching the line.
 */
void split_driver_disable_calls(struct split_driver *d)
{
	if (d->event_idx) {
		__virtio16 *event = ring_used_event(d->avail, d->num);
		uint16_t ahead = ring_load16(event, memory_order_relaxed) - d->used_idx;

		if (ahead < 0x8000)
			ring_store16(event, d->used_idx - 1, memory_order_relaxed);
	} else if (!d->calls_off) {
		d->calls_off = true;
		ring_store16(&d->avail->flags, VRING_AVAIL_F_NO_INTERRUPT, memory_order_relaxed);
	}
}

/**
 * split_driver_next_used - take the next completion
 * @d: the queue
 * @id: set to the slot's first descriptor, as the device returned it
 * @written: set to the bytes the device says it wrote
 *
 * Return: 1 with a completion, 0 without, -EPROTO if the device returned an index
 * outside the queue or more completions than there are descriptors.
 */
int split_driver_next_used(struct split_driver *d, uint32_t *id, uint32_t *written)
{
	const struct vring_used_elem *elem;

	if (!split_driver_has_used(d))
		return 0;
	if (unlikely((uint16_t)(d->used_seen - d->used_idx) > d->num))
		return -EPROTO;

	elem = &d->used->ring[d->used_idx & (d->num - 1)];
	*id = ring_load32(&elem->id);
	*written = ring_load32(&elem->len);
	if (unlikely(*id >= d->num))
		return -EPROTO;
	d->used_idx++;
	return 1;
}
