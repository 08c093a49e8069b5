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
	d->inflight = NULL;
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

/**
 * vq_device_track - keep a record of what is in flight from now on
 * @d: the queue, resumed, with nothing in flight
 * @t: the record, opened for its format and at least its size; stays the caller's
 * @recover: go on where the record ends, rather than where the queue has been resumed
 *
 * Requests that an earlier device left are then found by vq_device_again().
 *
 * Return: 0, -ENOMEM, or -EUCLEAN for a record that no device has written.
 */
int vq_device_track(struct vq_device *d, struct vq_inflight *t, bool recover)
{
	int ret = d->is_packed ? inflight_packed_resume(t, &d->packed, recover) :
				 inflight_split_resume(t, &d->split, recover);

	if (!ret)
		d->inflight = t;
	return ret;
}

/**
 * vq_device_again - take the next of the requests that an earlier device left
 * @d: the queue
 * @mem: the driver's memory
 * @c: filled in
 *
 * Return: 1 with a request, 0 without, or a negative errno as vq_device_pop() has it.
 */
int vq_device_again(struct vq_device *d, const struct guest_memory *mem, struct vq_chain *c)
{
	struct vq_inflight *t = d->inflight;
	int ret;

	if (!t || t->next_again == t->nr_again)
		return 0;
	c->head = t->again[t->next_again];
	ret = d->is_packed ? inflight_packed_again(t, &d->packed, mem, c->head, c) :
			     split_device_read(&d->split, mem, c);
	if (ret)
		return ret;
	t->next_again++;
	return 1;
}

int vq_device_pop_tracked(struct vq_device *d, const struct guest_memory *mem, struct vq_chain *c)
{
	unsigned int pos;
	int ret;

	if (!d->is_packed) {
		ret = split_device_pop(&d->split, mem, c);
		if (ret > 0)
			inflight_split_taken(d->inflight, c->head);
		return ret;
	}
	pos = d->packed.avail;
	ret = packed_device_pop(&d->packed, mem, c);
	if (ret > 0)
		inflight_packed_taken(d->inflight, &d->packed, pos, c);
	return ret;
}

void vq_device_push_tracked(struct vq_device *d, const struct vq_chain *c, uint32_t written)
{
	if (d->is_packed) {
		packed_device_push(&d->packed, c->head, c->count, written);
		inflight_packed_returned(d->inflight, c);
	} else {
		split_device_push(&d->split, c->head, written);
		inflight_split_returned(d->inflight, c->head);
	}
}

bool vq_device_publish_tracked(struct vq_device *d)
{
	bool call;

	if (!vq_device_unpublished(d))
		return false;
	if (d->is_packed) {
		inflight_packed_show(d->inflight, &d->packed);
		call = packed_device_publish(&d->packed);
		inflight_packed_shown(d->inflight, &d->packed);
	} else {
		call = split_device_publish(&d->split);
		inflight_split_shown(d->inflight, d->split.published);
	}
	return call;
}
