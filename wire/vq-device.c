/* SPDX-License-Identifier: GPL-2.0-only */
/* The device's side of a virtqueue: where its ring lies, where it begins, and requests that lie across regions or are malformed */

#include <linux/virtio_config.h>
#include "wire/vq-device.h"

static bool has(uint64_t features, unsigned int bit)
{
	return features >> bit & 1;
}

/* Alignment: VIRTIO 1.2, 2.7 */
static int find_split(struct vq_device *d, const struct guest_memory *mem, unsigned int num,
		      bool event_idx, const struct vq_addresses *at)
{
	struct vring_avail *avail = guest_memory_user(mem, at->driver, ring_avail_size(num));
	struct vring_used *used = guest_memory_user(mem, at->device, ring_used_size(num));
	void *desc = guest_memory_user(mem, at->desc, ring_desc_size(num));

	if (!desc || !avail || !used || (uintptr_t)desc % VRING_DESC_ALIGN_SIZE ||
	    (uintptr_t)avail % VRING_AVAIL_ALIGN_SIZE || (uintptr_t)used % VRING_USED_ALIGN_SIZE)
		return -EFAULT;
	d->split.desc = desc;
	d->split.avail = avail;
	d->split.used = used;
	vq_notify_init(&d->notify, false, event_idx, num,
		       event_idx ? ring_avail_event(used, num) : &used->flags,
		       event_idx ? ring_used_event(avail, num) : &avail->flags);
	return 0;
}

/* Alignment: VIRTIO 1.2, 2.8.10.1 */
static int find_packed(struct vq_device *d, const struct guest_memory *mem, unsigned int num,
		       bool event_idx, const struct vq_addresses *at)
{
	void *desc = guest_memory_user(mem, at->desc, (uint64_t)num * sizeof(*d->packed.desc));
	void *driver = guest_memory_user(mem, at->driver, sizeof(*d->packed.driver_event));
	void *device = guest_memory_user(mem, at->device, sizeof(*d->packed.device_event));

	if (!desc || !driver || !device || (uintptr_t)desc % 16 || (uintptr_t)driver % 4 ||
	    (uintptr_t)device % 4)
		return -EFAULT;
	d->packed.desc = desc;
	d->packed.driver_event = driver;
	d->packed.device_event = device;
	vq_notify_init(&d->notify, true, event_idx, num, device, driver);
	return 0;
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

	*d = (struct vq_device) { .indirect = has(features, VIRTIO_RING_F_INDIRECT_DESC) };
	return has(features, VIRTIO_F_RING_PACKED) ? find_packed(d, mem, num, event_idx, at) :
						     find_split(d, mem, num, event_idx, at);
}

/**
 * vq_device_start - start at a given place
 * @d: the queue, initialised
 * @avail: the next entry to take
 * @used: the next used entry to write; a split ring's is in the ring, where whoever served it
 *	before left it
 */
void vq_device_start(struct vq_device *d, unsigned int avail, unsigned int used)
{
	struct vq_notify *n = &d->notify;

	if (!n->is_packed) {
		avail = (uint16_t)avail;
		used = ring_load16(&d->split.used->idx, memory_order_relaxed);
	}
	vq_notify_init(n, n->is_packed, n->event_idx, n->num, n->ours, n->theirs);
	n->published = used;
	d->last_avail_idx = avail;
	d->shadow_avail_idx = avail;
	d->used_idx = used;
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
	unsigned int num = d->notify.num, pos = base;

	if (d->notify.is_packed)
		pos = packed_from_wire(base, num);
	if (d->notify.is_packed ? pos == 2 * num : base > UINT16_MAX)
		return -ERANGE;
	vq_device_start(d, pos, pos);
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
	if (!d->notify.is_packed)
		return d->last_avail_idx;
	return packed_to_wire(d->last_avail_idx, d->notify.num) |
	       (uint32_t)packed_to_wire(d->used_idx, d->notify.num) << 16;
}

/**
 * vq_chain_add_pieces - add a descriptor's memory, which may lie in several regions, to a request
 * @c: the request
 * @mem: the driver's memory
 * @addr: guest physical address
 * @len: bytes
 * @device_writes: the device writes them, else it reads them
 *
 * Return: 0, -EINVAL for an empty descriptor or one that the device reads behind one that
 * it writes (VIRTIO 1.2, 2.7.4.2 and 2.8.17), -EFAULT for an address outside the memory,
 * -E2BIG for too many pieces.
 */
int vq_chain_add_pieces(struct vq_chain *c, const struct guest_memory *mem, uint64_t addr,
			uint64_t len, bool device_writes)
{
	if (!len || (!device_writes && c->nr_write))
		return -EINVAL;

	while (len) {
		unsigned int n = c->nr_read + c->nr_write;
		uint64_t run = len;
		void *host = guest_memory_run(mem, addr, &run);

		if (!host)
			return -EFAULT;
		if (n == VQ_IOV_MAX)
			return -E2BIG;
		c->iov[n] = (struct iovec) { .iov_base = host, .iov_len = run };
		if (device_writes)
			c->nr_write++;
		else
			c->nr_read++;
		addr += run;
		len -= run;
	}
	return 0;
}
