/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef WIRE_RING_H
#define WIRE_RING_H

#include <endian.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <linux/virtio_ring.h>

/*
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

/* The event index a side asks for sits behind the other side's ring (VIRTIO 1.2, 2.7.6, 2.7.8). */
static inline __virtio16 *ring_used_event(struct vring_avail *avail, unsigned int num)
{
	return &avail->ring[num];
}

static inline __virtio16 *ring_avail_event(struct vring_used *used, unsigned int num)
{
	return (__virtio16 *)&used->ring[num];
}

/* Bytes of each part, event index included (VIRTIO 1.2, 2.7). */
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

#endif
