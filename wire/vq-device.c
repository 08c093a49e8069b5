/* SPDX-License-Identifier: GPL-2.0-only */
#include <linux/virtio_config.h>
#include "wire/vq-device.h"

static bool has(uint64_t features, unsigned int bit)
{
	return features >> bit & 1;
}

/**
 * vq_device_init - find a ring in the driver's memory
 * @d: filled in; its indices are set by vq_device_resume()
 * @mem: the driver's memory
 * @features: negotiated features, of which those of the ring count
 * @num: queue size, one for which vq_size_valid()
 * @at: where its parts are
 *
 * Return: 0, or -EFAULT for a part outside the memory or off its alignment.
 */
int vq_device_init(struct vq_device *d, const struct guest_memory *mem, uint64_t features,
		   unsigned int num, const struct vq_addresses *at)
{
	bool event_idx = has(features, VIRTIO_RING_F_EVENT_IDX);
	bool indirect = has(features, VIRTIO_RING_F_INDIRECT_DESC);

	d->is_packed = has(features, VIRTIO_F_RING_PACKED);
	if (d->is_packed) {
		d->packed = (struct packed_device) { .event_idx = event_idx, .indirect = indirect };
		return packed_device_init(&d->packed, mem, num, at->desc, at->driver, at->device);
	}
	d->split = (struct split_device) { .event_idx = event_idx, .indirect = indirect };
	return split_device_init(&d->split, mem, num, at->desc, at->driver, at->device);
}

/**
 * vq_device_resume - start where a device before this one stopped
 * @d: the queue, initialised
 * @base: the number in a VHOST_USER_SET_VRING_BASE message: the available index, or for a
 *	packed ring the next descriptor to take, its wrap counter in bit 15
 *
 * The upper half, a packed ring's next used descriptor, is not looked at: nothing is in
 * flight, so it is the same one, and some front ends leave it out.
 *
 * Return: 0, or -ERANGE for a base that the queue cannot have.
 */
int vq_device_resume(struct vq_device *d, uint32_t base)
{
	unsigned int pos;

	if (!d->is_packed) {
		if (base > UINT16_MAX)
			return -ERANGE;
		split_device_resume(&d->split, base);
		return 0;
	}
	pos = packed_from_wire(base, d->packed.num);
	if (pos == 2 * d->packed.num)
		return -ERANGE;
	packed_device_resume(&d->packed, pos, pos);
	return 0;
}

/**
 * vq_device_base - where the next device goes on
 * @d: the queue, with nothing in flight
 *
 * Return: the number for the answer to VHOST_USER_GET_VRING_BASE; for a packed ring the
 * next descriptor to take is in the lower half and the next used one in the upper.
 */
uint32_t vq_device_base(const struct vq_device *d)
{
	if (!d->is_packed)
		return d->split.avail_idx;
	return packed_to_wire(d->packed.avail, d->packed.num) |
	       (uint32_t)packed_to_wire(d->packed.used, d->packed.num) << 16;
}
