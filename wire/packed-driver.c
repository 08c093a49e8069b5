/* SPDX-License-Identifier: GPL-2.0-only */
#include <errno.h>
#include "base/cpu.h"
#include "wire/packed-driver.h"

/* Each part is on cache lines of its own, two of them, as they are fetched in pairs. */
#define PART	(2 * CACHE_LINE)

static size_t parts_offset(unsigned int num)
{
	return (num * sizeof(struct vring_packed_desc) + PART - 1) / PART * PART;
}

/**
 * packed_ring_bytes - memory that a queue's ring takes
 * @num: queue size, up to PACKED_NUM_MAX
 *
 * Return: bytes, for memory that starts on a cache line.
 */
size_t packed_ring_bytes(unsigned int num)
{
	return parts_offset(num) + 3 * PART;
}

/**
 * packed_driver_init - take a ring up where its last driver left it
 * @d: the queue
 * @mem: packed_ring_bytes(@num) of memory on a cache line; all zero for a new ring
 * @num: queue size
 * @event_idx: VIRTIO_RING_F_EVENT_IDX was negotiated
 * @count: room for @num numbers that the device does not see, all zero; stays the caller's
 *
 * With requests in flight avail and used differ, and nobody can take them up.
 */
void packed_driver_init(struct packed_driver *d, void *mem, unsigned int num, bool event_idx,
			uint8_t *count)
{
	char *parts = (char *)mem + parts_offset(num);

	*d = (struct packed_driver) {
		.desc = mem,
		.driver_event = (void *)parts,
		.device_event = (void *)(parts + PART),
		.place = (void *)(parts + 2 * PART),
		.count = count,
		.num = num,
		.event_idx = event_idx,
	};
	/* The device can reach these numbers, so they are made to fit whatever they are. */
	d->avail = atomic_load_explicit(&d->place->avail, memory_order_relaxed) % (2 * num);
	d->used = atomic_load_explicit(&d->place->used, memory_order_relaxed) % (2 * num);
	d->published = d->avail;
	d->event = packed_event_load(d->driver_event);
}

/*
 * The first descriptor of a batch is written last, and shows all others. The device looks at
 * it all the time, so that writing it in two goes would fetch its cache line back twice.
 */
static void put(struct packed_driver *d, unsigned int slot, uint64_t addr, uint32_t len,
		uint16_t flags)
{
	struct vring_packed_desc *desc = &d->desc[packed_index(d->avail, d->num)];
	uint64_t tail = packed_tail(len, slot, flags | packed_avail_flags(d->avail, d->num));

	if (d->avail == d->published) {
		d->first_addr = addr;
		d->first = tail;
	} else {
		ring_store64(&desc->addr, addr);
		packed_store_tail(desc, tail, memory_order_relaxed);
	}
	d->avail = packed_advance(d->avail, 1, d->num);
}

/**
 * packed_driver_add_indirect - queue a request whose segments are in a table
 * @d: the queue
 * @slot: which request, below the queue size, not in flight
 * @table: guest physical address of the table of struct vring_packed_desc
 * @entries: descriptors in it
 *
 * The device sees it after packed_driver_publish(). VIRTIO 1.2, 2.8.7.
 */
void packed_driver_add_indirect(struct packed_driver *d, unsigned int slot, uint64_t table,
				unsigned int entries)
{
	put(d, slot, table, entries * sizeof(struct vring_packed_desc), VRING_DESC_F_INDIRECT);
	d->count[slot] = 1;
}

/**
 * packed_driver_add_chain - queue a request as a list in the ring itself
 * @d: the queue
 * @slot: which request, below the queue size, not in flight
 * @seg: the segments, those that the device writes last
 * @n: how many, up to VQ_CHAIN
 *
 * The device sees it after packed_driver_publish(). VIRTIO 1.2, 2.8.6.
 */
void packed_driver_add_chain(struct packed_driver *d, unsigned int slot,
			     const struct vq_segment *seg, unsigned int n)
{
	for (unsigned int i = 0; i < n; i++)
		put(d, slot, seg[i].addr, seg[i].len,
		    (seg[i].device_writes ? VRING_DESC_F_WRITE : 0) |
		    (i + 1 < n ? VRING_DESC_F_NEXT : 0));
	d->count[slot] = n;
}

/* Whether the device asked to be kicked for unsettled descriptors. */
static bool kick_wanted(const struct packed_driver *d)
{
	return packed_event_wanted(packed_event_load(d->device_event), d->event_idx, d->published,
				   d->unsettled, d->num);
}

/**
 * packed_driver_publish - show the device all requests added so far
 * @d: the queue
 *
 * A device that is just falling asleep may be missed: see split_driver_publish().
 *
 * Return: whether to kick the device now.
 */
bool packed_driver_publish(struct packed_driver *d)
{
	struct vring_packed_desc *first = &d->desc[packed_index(d->published, d->num)];
	unsigned int unsettled;

	if (d->published == d->avail)
		return false;
	unsettled = d->unsettled + packed_distance(d->published, d->avail, d->num);
	d->published = d->avail;
	/* A device that sleeps is not further behind than its ring is long. */
	d->unsettled = unsettled < d->num ? unsettled : d->num;

	/* First of all: whoever comes after a driver that was killed must not think the ring empty. */
	atomic_store_explicit(&d->place->avail, d->avail, memory_order_relaxed);
	/* pairs with the acquire in packed_device_has_avail() */
	ring_store64(&first->addr, d->first_addr);
	packed_store_tail(first, d->first, memory_order_release);
	if (!kick_wanted(d))
		return false;
	d->unsettled = 0;
	return true;
}

/**
 * packed_driver_settle - find out for certain whether published requests need a kick
 * @d: the queue
 *
 * To be called when no completion is at hand, before waiting for one.
 *
 * Return: whether to kick the device now.
 */
bool packed_driver_settle(struct packed_driver *d)
{
	bool wanted;

	if (!d->unsettled)
		return false;
	/* pairs with the fence in packed_device_enable_kicks(): descriptor first, then its wish */
	atomic_thread_fence(memory_order_seq_cst);
	wanted = kick_wanted(d);
	d->unsettled = 0;
	return wanted;
}

static void set_event(struct packed_driver *d, uint32_t event)
{
	if (d->event == event)
		return;
	d->event = event;
	packed_event_store(d->driver_event, event);
}

/**
 * packed_driver_enable_calls - ask for a call at the next completion
 * @d: the queue
 *
 * Return: whether a completion came in between, so that the caller must not sleep.
 */
bool packed_driver_enable_calls(struct packed_driver *d)
{
	set_event(d, d->event_idx ? packed_event(VRING_PACKED_EVENT_FLAG_DESC,
						 packed_to_wire(d->used, d->num)) :
				    packed_event(VRING_PACKED_EVENT_FLAG_ENABLE, 0));
	/* pairs with the fence in packed_device_settle() */
	atomic_thread_fence(memory_order_seq_cst);
	return packed_driver_has_used(d);
}

/**
 * packed_driver_disable_calls - ask not to be called
 * @d: the queue
 */
void packed_driver_disable_calls(struct packed_driver *d)
{
	set_event(d, packed_event(VRING_PACKED_EVENT_FLAG_DISABLE, 0));
}

/**
 * packed_driver_next_used - take the next completion
 * @d: the queue
 * @slot: set to the request's slot
 * @written: set to the bytes the device says it wrote
 *
 * Return: 1 with a completion, 0 without, -EPROTO if the device returned what is not in
 * flight.
 */
int packed_driver_next_used(struct packed_driver *d, uint32_t *slot, uint32_t *written)
{
	/* pairs with the release in packed_device_publish() */
	uint64_t tail = packed_load_tail(&d->desc[packed_index(d->used, d->num)]);
	uint16_t flags = packed_tail_flags(tail), id = packed_tail_id(tail);

	if ((flags & (PACKED_AVAIL | PACKED_USED)) != packed_used_flags(d->used, d->num))
		return 0;
	if (unlikely(id >= d->num || !d->count[id]))
		return -EPROTO;
	*slot = id;
	/* Without the flag the length says nothing (2.8.4). */
	*written = flags & VRING_DESC_F_WRITE ? packed_tail_len(tail) : 0;
	d->used = packed_advance(d->used, d->count[id], d->num);
	d->count[id] = 0;
	atomic_store_explicit(&d->place->used, d->used, memory_order_relaxed);
	return 1;
}
