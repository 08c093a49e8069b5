/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef WIRE_VQ_DRIVER_H
#define WIRE_VQ_DRIVER_H

#include "wire/packed-driver.h"
#include "wire/split-driver.h"

/**
 * struct vq_driver - the driver's side of a virtqueue of either format
 * @is_packed: VIRTIO_F_RING_PACKED was negotiated
 *
 * The functions below are those of wire/split-driver.c and wire/packed-driver.c; see
 * there. The format of a queue never changes, so the branch costs next to nothing.
 */
struct vq_driver {
	bool is_packed;
	union {
		struct split_driver split;
		struct packed_driver packed;
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

static inline size_t vq_ring_bytes(bool is_packed, unsigned int num)
{
	return is_packed ? packed_ring_bytes(num) : split_ring_bytes(num);
}

/* @count is for packed rings alone, and only a driver that adds requests needs it. */
static inline void vq_driver_init(struct vq_driver *d, bool is_packed, void *mem, unsigned int num,
				  bool event_idx, uint8_t *count)
{
	d->is_packed = is_packed;
	if (is_packed)
		packed_driver_init(&d->packed, mem, num, event_idx, count);
	else
		split_driver_init(&d->split, mem, num, event_idx);
}

static inline struct vq_parts vq_driver_parts(const struct vq_driver *d)
{
	if (d->is_packed)
		return (struct vq_parts) {
			d->packed.desc, d->packed.driver_event, d->packed.device_event
		};
	return (struct vq_parts) { d->split.desc, d->split.avail, d->split.used };
}

/* Where a device that has returned everything goes on: see vq_device_resume(). */
static inline uint32_t vq_driver_base(const struct vq_driver *d)
{
	uint16_t pos;

	if (!d->is_packed)
		return d->split.used_idx;
	pos = packed_to_wire(d->packed.used, d->packed.num);
	return pos | (uint32_t)pos << 16;
}

/* Whether the ring holds requests of which the driver has not seen the end. */
static inline bool vq_driver_busy(const struct vq_driver *d)
{
	return d->is_packed ? d->packed.avail != d->packed.used :
			      d->split.avail_idx != d->split.used_idx;
}

static inline void vq_driver_add_indirect(struct vq_driver *d, unsigned int slot, uint64_t table,
					  unsigned int entries)
{
	if (d->is_packed)
		packed_driver_add_indirect(&d->packed, slot, table, entries);
	else
		split_driver_add_indirect(&d->split, slot, table, entries);
}

static inline void vq_driver_add_chain(struct vq_driver *d, unsigned int slot,
				       const struct vq_segment *seg, unsigned int n)
{
	if (d->is_packed)
		packed_driver_add_chain(&d->packed, slot, seg, n);
	else
		split_driver_add_chain(&d->split, slot, seg, n);
}

static inline bool vq_driver_publish(struct vq_driver *d)
{
	return d->is_packed ? packed_driver_publish(&d->packed) : split_driver_publish(&d->split);
}

static inline bool vq_driver_settle(struct vq_driver *d)
{
	return d->is_packed ? packed_driver_settle(&d->packed) : split_driver_settle(&d->split);
}

static inline bool vq_driver_enable_calls(struct vq_driver *d)
{
	return d->is_packed ? packed_driver_enable_calls(&d->packed) :
			      split_driver_enable_calls(&d->split);
}

static inline void vq_driver_disable_calls(struct vq_driver *d)
{
	if (d->is_packed)
		packed_driver_disable_calls(&d->packed);
	else
		split_driver_disable_calls(&d->split);
}

static inline bool vq_driver_has_used(struct vq_driver *d)
{
	return d->is_packed ? packed_driver_has_used(&d->packed) : split_driver_has_used(&d->split);
}

/* @slot is set to the request's slot in either format. */
static inline int vq_driver_next_used(struct vq_driver *d, uint32_t *slot, uint32_t *written)
{
	return d->is_packed ? packed_driver_next_used(&d->packed, slot, written) :
			      split_driver_next_used(&d->split, slot, written);
}

#endif
