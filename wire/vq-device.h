/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef WIRE_VQ_DEVICE_H
#define WIRE_VQ_DEVICE_H

#include "base/cpu.h"
#include "wire/inflight.h"

/**
 * struct vq_device - the device's side of a virtqueue of either format
 * @is_packed: VIRTIO_F_RING_PACKED was negotiated
 * @inflight: record of what is in flight, NULL without one
 *
 * The functions below are those of wire/split-device.c and wire/packed-device.c; see
 * there. The format of a queue never changes, so the branch costs next to nothing.
 */
struct vq_device {
	bool is_packed;
	struct vq_inflight *inflight;
	union {
		struct split_device split;
		struct packed_device packed;
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
int vq_device_resume(struct vq_device *d, uint32_t base);
uint32_t vq_device_base(const struct vq_device *d);
int vq_device_track(struct vq_device *d, struct vq_inflight *t, bool recover);
int vq_device_again(struct vq_device *d, const struct guest_memory *mem, struct vq_chain *c);

/* What the functions below are with a record to keep. */
int vq_device_pop_tracked(struct vq_device *d, const struct guest_memory *mem, struct vq_chain *c);
void vq_device_push_tracked(struct vq_device *d, const struct vq_chain *c, uint32_t written);
bool vq_device_publish_tracked(struct vq_device *d);

/* Whether a queue can have so many entries (VIRTIO 1.2, 2.7 and 2.8). */
static inline bool vq_size_valid(bool is_packed, unsigned int num)
{
	return num && num <= PACKED_NUM_MAX && (is_packed || !(num & (num - 1)));
}

static inline unsigned int vq_device_num(const struct vq_device *d)
{
	return d->is_packed ? d->packed.num : d->split.num;
}

static inline bool vq_device_has_avail(struct vq_device *d)
{
	return d->is_packed ? packed_device_has_avail(&d->packed) : split_device_has_avail(&d->split);
}

/* What has been found by vq_device_has_avail() ends here... */
static inline unsigned int vq_device_seen(const struct vq_device *d)
{
	return d->is_packed ? packed_device_seen(&d->packed) : d->split.avail_seen;
}

/* ... and the next request is here. */
static inline unsigned int vq_device_at(const struct vq_device *d)
{
	return d->is_packed ? d->packed.avail : d->split.avail_idx;
}

static inline int vq_device_pop(struct vq_device *d, const struct guest_memory *mem,
				struct vq_chain *c)
{
	if (unlikely(d->inflight))
		return vq_device_pop_tracked(d, mem, c);
	return d->is_packed ? packed_device_pop(&d->packed, mem, c) :
			      split_device_pop(&d->split, mem, c);
}

/* Of @c only what names the request and how much of the ring it takes count. */
static inline void vq_device_push(struct vq_device *d, const struct vq_chain *c, uint32_t written)
{
	if (unlikely(d->inflight))
		vq_device_push_tracked(d, c, written);
	else if (d->is_packed)
		packed_device_push(&d->packed, c->head, c->count, written);
	else
		split_device_push(&d->split, c->head, written);
}

/* Whether something has been returned that the driver has not been shown. */
static inline bool vq_device_unpublished(const struct vq_device *d)
{
	return d->is_packed ? d->packed.used != d->packed.published :
			      d->split.used_idx != d->split.published;
}

static inline bool vq_device_publish(struct vq_device *d)
{
	if (unlikely(d->inflight))
		return vq_device_publish_tracked(d);
	return d->is_packed ? packed_device_publish(&d->packed) : split_device_publish(&d->split);
}

static inline bool vq_device_settle(struct vq_device *d)
{
	return d->is_packed ? packed_device_settle(&d->packed) : split_device_settle(&d->split);
}

static inline bool vq_device_enable_kicks(struct vq_device *d)
{
	return d->is_packed ? packed_device_enable_kicks(&d->packed) :
			      split_device_enable_kicks(&d->split);
}

static inline void vq_device_disable_kicks(struct vq_device *d)
{
	if (d->is_packed)
		packed_device_disable_kicks(&d->packed);
	else
		split_device_disable_kicks(&d->split);
}

#endif
