/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef WIRE_VQ_H
#define WIRE_VQ_H

#include "base/cpu.h"
#include "wire/ring.h"

/*
 * What the driver's and the device's side of a virtqueue have in common, in either format: the
 * entries they make visible to each other, and the notifications that this takes.
 *
 * Indices are a split ring's free-running ones, or positions of a packed ring (wire/ring.h). The
 * format of a queue never changes, so a branch on it is always predicted.
 */

/* Descriptors a request may take up when the device takes no indirect tables. */
#define VQ_CHAIN	3

/**
 * struct vq_segment - one piece of a request
 * @addr: guest physical address
 * @len: bytes
 * @device_writes: the device writes it (read data, status), else it reads it
 */
struct vq_segment {
	uint64_t addr;
	uint32_t len;
	bool device_writes;
};

/**
 * struct vq_notify - what one side of a virtqueue has published, and who wants to be notified
 * @is_packed: VIRTIO_F_RING_PACKED was negotiated
 * @event_idx: VIRTIO_RING_F_EVENT_IDX was negotiated
 * @num: queue size
 * @published: up to where the other side has been shown our entries
 * @unchecked: entries published since we last made certain whether the other side wants a notification
 * @wish: what @ours says: a packed ring's event structure, or a split one's flags
 * @ours: where we say whether we want one: an event index or flags (split), an event structure
 * @theirs: where the other side does
 *
 * A driver sends kicks and wants calls, a device sends calls and wants kicks.
 */
struct vq_notify {
	bool is_packed;
	bool event_idx;
	unsigned int num;
	unsigned int published;
	unsigned int unchecked;
	uint32_t wish;
	void *ours;
	const void *theirs;
};

_Static_assert(VRING_USED_F_NO_NOTIFY == VRING_AVAIL_F_NO_INTERRUPT, "one flag for both sides");

static inline unsigned int vq_advance(const struct vq_notify *n, unsigned int index,
				      unsigned int entries)
{
	return n->is_packed ? packed_advance(index, entries, n->num) : (uint16_t)(index + entries);
}

static inline unsigned int vq_distance(const struct vq_notify *n, unsigned int from, unsigned int to)
{
	return n->is_packed ? packed_distance(from, to, n->num) : (uint16_t)(to - from);
}

/**
 * vq_notify_init - begin with what the ring says of our wish
 * @n: filled in
 * @is_packed: format
 * @event_idx: negotiated
 * @num: queue size
 * @ours: split: our event index with @event_idx, else our flags; packed: our event structure
 * @theirs: the other side's
 */
static inline void vq_notify_init(struct vq_notify *n, bool is_packed, bool event_idx,
				  unsigned int num, void *ours, const void *theirs)
{
	*n = (struct vq_notify) {
		.is_packed = is_packed, .event_idx = event_idx, .num = num,
		.ours = ours, .theirs = theirs,
	};
	if (is_packed)
		n->wish = packed_event_load(ours);
	else if (!event_idx)
		n->wish = ring_load16(ours, memory_order_relaxed) & VRING_USED_F_NO_NOTIFY;
}

/* Whether the other side asks for a notification of the unchecked entries (2.7.7, 2.7.10, 2.8.10). */
static inline bool vq_notify_asked(const struct vq_notify *n)
{
	if (n->is_packed)
		return packed_event_wanted(packed_event_load(n->theirs), n->event_idx, n->published,
					   n->unchecked, n->num);
	if (n->event_idx)
		return vring_need_event(ring_load16(n->theirs, memory_order_relaxed), n->published,
					n->published - n->unchecked);
	return !(ring_load16(n->theirs, memory_order_relaxed) & VRING_USED_F_NO_NOTIFY);
}

/* Count entries up to @index as published; the caller stores what publishes them. */
static inline void vq_notify_publish(struct vq_notify *n, unsigned int index)
{
	unsigned int unchecked = n->unchecked + vq_distance(n, n->published, index);

	n->published = index;
	/* A side that sleeps is not further behind than the ring is long. */
	n->unchecked = unchecked < n->num ? unchecked : n->num;
}

/**
 * vq_notify_wanted - look whether what was just published needs a notification
 * @n: the state
 *
 * A side that sleeps has said so long ago, and is seen to want one at once. One that is just
 * falling asleep may be missed, as seeing it needs a full fence, a cache line's way to the other
 * side and back for each request: vq_notify_check() makes up for it.
 *
 * Return: whether to notify now.
 */
static inline bool vq_notify_wanted(struct vq_notify *n)
{
	if (likely(!vq_notify_asked(n)))
		return false;
	n->unchecked = 0;
	return true;
}

/**
 * vq_notify_check - make certain whether what was published needs a notification
 * @n: the state
 *
 * To be called before waiting for the other side.
 *
 * Return: whether to notify now.
 */
static inline bool vq_notify_check(struct vq_notify *n)
{
	bool wanted;

	if (!n->unchecked)
		return false;
	/*
	 * The other side stores its wish and then looks for entries; we have published entries
	 * and now look at its wish. Pairs with the fence in vq_notify_enable().
	 */
	atomic_thread_fence(memory_order_seq_cst);
	wanted = vq_notify_asked(n);
	n->unchecked = 0;
	return wanted;
}

/* Store a wish, unless it is there already: the other side keeps its copy of the line then. */
static inline void vq_notify_wish(struct vq_notify *n, uint32_t wish)
{
	if (n->wish == wish)
		return;
	n->wish = wish;
	if (n->is_packed)
		packed_event_store(n->ours, wish);
	else
		ring_store16(n->ours, wish, memory_order_relaxed);
}

/**
 * vq_notify_enable - ask for a notification at the next entry
 * @n: the state
 * @index: where that will be
 *
 * The caller must look for entries afterwards: one may have come in between.
 */
static inline void vq_notify_enable(struct vq_notify *n, unsigned int index)
{
	if (n->is_packed)
		vq_notify_wish(n, n->event_idx ? packed_event(VRING_PACKED_EVENT_FLAG_DESC,
							      packed_to_wire(index, n->num)) :
						 packed_event(VRING_PACKED_EVENT_FLAG_ENABLE, 0));
	else if (n->event_idx)
		ring_store16(n->ours, index, memory_order_relaxed);
	else
		vq_notify_wish(n, 0);
	/* pairs with the fence in vq_notify_check(): our wish first, then their entries */
	atomic_thread_fence(memory_order_seq_cst);
}

/**
 * vq_notify_disable - ask for no notification
 * @n: the state
 * @index: the next entry to come
 *
 * In a split ring an event index that has been passed asks for nothing until the index comes
 * round again, 65536 requests later, so only one that is still ahead is moved out of the way. One
 * stray notification in as many requests is the price for not touching the line.
 */
static inline void vq_notify_disable(struct vq_notify *n, unsigned int index)
{
	if (n->is_packed) {
		vq_notify_wish(n, packed_event(VRING_PACKED_EVENT_FLAG_DISABLE, 0));
	} else if (n->event_idx) {
		uint16_t ahead = ring_load16(n->ours, memory_order_relaxed) - index;

		if (ahead < 0x8000)
			ring_store16(n->ours, index - 1, memory_order_relaxed);
	} else {
		vq_notify_wish(n, VRING_USED_F_NO_NOTIFY);
	}
}

#endif
