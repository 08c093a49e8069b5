/* SPDX-License-Identifier: GPL-2.0-only */
/* The device's side of a virtqueue: where its ring lies, where it begins, and what a request is made of */

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

/* Move from the ring into an indirect table (VIRTIO 1.2, 2.7.5.3). */
static int enter_table(const struct vq_device *d, const struct guest_memory *mem,
		       const struct vring_desc *desc, const struct vring_desc **table,
		       unsigned int *num)
{
	uint64_t len = desc->len;

	if (!d->indirect || desc->flags & VRING_DESC_F_NEXT || len % sizeof(*desc) || !len ||
	    len / sizeof(*desc) > 65536)
		return -EINVAL;
	*table = guest_memory_run(mem, desc->addr, &len);
	if (!*table || len != desc->len)
		return -EFAULT;
	*num = len / sizeof(*desc);
	return 0;
}

/**
 * vq_split_read - read the descriptors of a request in a split ring
 * @d: the queue
 * @mem: the driver's memory
 * @c: the request, of which the head is set, below the queue size; the rest is filled in
 *
 * Return: 0, or a negative errno as vq_device_pop() has it.
 */
int vq_split_read(const struct vq_device *d, const struct guest_memory *mem, struct vq_chain *c)
{
	const struct vring_desc *table = d->split.desc;
	unsigned int num = d->notify.num;
	struct vring_desc desc = vq_split_desc(&table[c->head]);

	c->nr_read = 0;
	c->nr_write = 0;

	/* A chain visits each descriptor once at most, so a longer one is a loop. */
	for (unsigned int steps = 1; ; steps++) {
		int ret;

		if (desc.flags & VRING_DESC_F_INDIRECT) {
			if (table != d->split.desc)
				return -EINVAL;
			ret = enter_table(d, mem, &desc, &table, &num);
			if (ret)
				return ret;
			desc = vq_split_desc(table);
			steps = 1;
			if (desc.flags & VRING_DESC_F_INDIRECT)
				return -EINVAL;
		}
		ret = vq_chain_add(c, mem, desc.addr, desc.len, desc.flags & VRING_DESC_F_WRITE);
		if (ret)
			return ret;
		if (!(desc.flags & VRING_DESC_F_NEXT))
			return 0;
		if (desc.next >= num)
			return -ERANGE;
		if (steps == num)
			return -ELOOP;
		desc = vq_split_desc(&table[desc.next]);
	}
}

/* A table lists its segments one behind the other; only their WRITE flags count (2.8.7). */
static int walk_table(const struct vq_device *d, const struct guest_memory *mem,
		      const struct vring_packed_desc *desc, struct vq_chain *c)
{
	const struct vring_packed_desc *table;
	uint64_t len = desc->len;
	int ret = 0;

	if (!d->indirect || desc->flags & VRING_DESC_F_NEXT || len % sizeof(*desc) || !len)
		return -EINVAL;
	table = guest_memory_run(mem, desc->addr, &len);
	if (!table || len != desc->len)
		return -EFAULT;
	for (uint64_t i = 0; i < len / sizeof(*desc) && !ret; i++) {
		struct vring_packed_desc entry = vq_packed_desc(&table[i]);

		ret = vq_chain_add(c, mem, entry.addr, entry.len, entry.flags & VRING_DESC_F_WRITE);
	}
	return ret;
}

/**
 * vq_packed_add - add what a packed ring's descriptor refers to, memory or a table, to a request
 * @d: the queue
 * @mem: the driver's memory
 * @desc: the descriptor, in this host's byte order
 * @first: it is the request's first one
 * @c: the request
 *
 * Return: 0, -EINVAL for a bad indirect table, or what vq_chain_add() says.
 */
int vq_packed_add(const struct vq_device *d, const struct guest_memory *mem,
		  const struct vring_packed_desc *desc, bool first, struct vq_chain *c)
{
	/* A list has tables or segments (2.8.5), and a table only by itself (2.8.19). */
	if (desc->flags & VRING_DESC_F_INDIRECT)
		return first ? walk_table(d, mem, desc, c) : -EINVAL;
	return vq_chain_add(c, mem, desc->addr, desc->len, desc->flags & VRING_DESC_F_WRITE);
}
