/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef WIRE_RING_H
#define WIRE_RING_H

#include <endian.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <linux/virtio_ring.h>

/*
 * The formats of split and packed rings (VIRTIO 1.2, 2.7 and 2.8): fields, sizes and positions.
 *
 * Ring fields are plain integers in <linux/virtio_ring.h>, shared with a peer in
 * another address space. These accessors make each shared access atomic and give
 * its ordering; VIRTIO 1.2 section 2.7.13 and 2.7.14 ask for the pairs named at
 * each call. Fields are little-endian; a swap costs nothing on the hosts we have.
 */
static inline uint16_t ring_load16(const __virtio16 *p, memory_order order)
{
	return le16toh(atomic_load_explicit((_Atomic uint16_t *)p, order));
}

static inline void ring_store16(__virtio16 *p, uint16_t v, memory_order order)
{
	atomic_store_explicit((_Atomic uint16_t *)p, htole16(v), order);
}

static inline uint32_t ring_load32(const __virtio32 *p)
{
	return le32toh(atomic_load_explicit((_Atomic uint32_t *)p, memory_order_relaxed));
}

static inline void ring_store32(__virtio32 *p, uint32_t v)
{
	atomic_store_explicit((_Atomic uint32_t *)p, htole32(v), memory_order_relaxed);
}

static inline void ring_store64(__virtio64 *p, uint64_t v)
{
	atomic_store_explicit((_Atomic uint64_t *)p, htole64(v), memory_order_relaxed);
}

/* The event index a side asks for sits behind the other side's ring (VIRTIO 1.2, 2.7.6, 2.7.8). */
static inline __virtio16 *ring_used_event(struct vring_avail *avail, unsigned int num)
{
	return &avail->ring[num];
}

static inline __virtio16 *ring_avail_event(struct vring_used *used, unsigned int num)
{
	return (__virtio16 *)&used->ring[num];
}

/* Bytes of each part of a split ring, event index included (VIRTIO 1.2, 2.7). */
static inline uint64_t ring_desc_size(unsigned int num)
{
	return sizeof(struct vring_desc) * (uint64_t)num;
}

static inline uint64_t ring_avail_size(unsigned int num)
{
	return sizeof(struct vring_avail) + sizeof(__virtio16) * ((uint64_t)num + 1);
}

static inline uint64_t ring_used_size(unsigned int num)
{
	return sizeof(struct vring_used) + sizeof(struct vring_used_elem) * (uint64_t)num +
	       sizeof(__virtio16);
}

/*
 * Arithmetic of packed rings (VIRTIO 1.2, 2.8). A position is the index of a descriptor
 * together with the wrap counter: it counts from 0 up to twice the queue size, and the
 * counter is 1 in the first half, where a new ring starts.
 */

/* Most entries (2.8); unlike a split ring's they need not be a power of two. */
#define PACKED_NUM_MAX		32768u

#define PACKED_AVAIL		(1u << VRING_PACKED_DESC_F_AVAIL)
#define PACKED_USED		(1u << VRING_PACKED_DESC_F_USED)
#define PACKED_WRAP		(1u << VRING_PACKED_EVENT_F_WRAP_CTR)

static inline unsigned int packed_index(unsigned int pos, unsigned int num)
{
	return pos < num ? pos : pos - num;
}

static inline unsigned int packed_advance(unsigned int pos, unsigned int n, unsigned int num)
{
	pos += n;
	return pos < 2 * num ? pos : pos - 2 * num;
}

static inline unsigned int packed_distance(unsigned int from, unsigned int to, unsigned int num)
{
	return to >= from ? to - from : to + 2 * num - from;
}

/* The two flags of a descriptor that has been made available, or used, at a position (2.8.1). */
static inline uint16_t packed_avail_flags(unsigned int pos, unsigned int num)
{
	return pos < num ? PACKED_AVAIL : PACKED_USED;
}

static inline uint16_t packed_used_flags(unsigned int pos, unsigned int num)
{
	return pos < num ? PACKED_AVAIL | PACKED_USED : 0;
}

/* The second half of a descriptor is one number for both sides: length, id and flags go together. */
typedef _Atomic uint64_t packed_word __attribute__((may_alias));

_Static_assert(offsetof(struct vring_packed_desc, len) == 8 &&
	       offsetof(struct vring_packed_desc, id) == 12 &&
	       offsetof(struct vring_packed_desc, flags) == 14, "VIRTIO 1.2, 2.8.13");

static inline uint64_t packed_tail(uint32_t len, uint16_t id, uint16_t flags)
{
	return len | (uint64_t)id << 32 | (uint64_t)flags << 48;
}

static inline void packed_store_tail(struct vring_packed_desc *desc, uint64_t tail,
				     memory_order order)
{
	atomic_store_explicit((packed_word *)&desc->len, htole64(tail), order);
}

static inline uint64_t packed_load_tail(const struct vring_packed_desc *desc)
{
	/* acquire: pairs with the release with which each side shows the first of a batch */
	return le64toh(atomic_load_explicit((packed_word *)&desc->len, memory_order_acquire));
}

static inline uint32_t packed_tail_len(uint64_t tail)
{
	return tail;
}

static inline uint16_t packed_tail_id(uint64_t tail)
{
	return tail >> 32;
}

static inline uint16_t packed_tail_flags(uint64_t tail)
{
	return tail >> 48;
}

/* A position as event suppression structures and vhost-user messages carry it (2.8.14). */
static inline uint16_t packed_to_wire(unsigned int pos, unsigned int num)
{
	return pos < num ? pos | PACKED_WRAP : pos - num;
}

/* The position, or 2 * @num, which is none, for an index outside the queue. */
static inline unsigned int packed_from_wire(uint16_t wire, unsigned int num)
{
	unsigned int index = wire & (PACKED_WRAP - 1);

	if (index >= num)
		return 2 * num;
	return wire & PACKED_WRAP ? index : index + num;
}

/* An event suppression structure as one number, so that no half of it is seen (2.8.14). */
static inline uint32_t packed_event(uint16_t flags, uint16_t off_wrap)
{
	return (uint32_t)flags << 16 | off_wrap;
}

static inline uint32_t packed_event_load(const struct vring_packed_desc_event *e)
{
	return ring_load32((const __virtio32 *)e);
}

static inline void packed_event_store(struct vring_packed_desc_event *e, uint32_t v)
{
	ring_store32((__virtio32 *)e, v);
}

/*
 * Whether whoever wrote @event wants to be told of the last @n descriptors before @pos
 * (2.8.10). Asking for a single descriptor counts only with VIRTIO_RING_F_EVENT_IDX.
 */
static inline bool packed_event_wanted(uint32_t event, bool event_idx, unsigned int pos,
				       unsigned int n, unsigned int num)
{
	unsigned int at;

	switch (event >> 16 & 3) {
	case VRING_PACKED_EVENT_FLAG_DISABLE:
		return false;
	case VRING_PACKED_EVENT_FLAG_DESC:
		if (!event_idx)
			return true;
		at = packed_from_wire(event, num);
		return at < 2 * num && packed_distance(at, pos, num) - 1 < n;
	default:
		return true;
	}
}

#endif
