/* SPDX-License-Identifier: GPL-2.0-only */
#include "base/cpu.h"
#include "wire/split-device.h"

/**
 * split_device_init - find the three parts of a ring in the driver's memory
 * @d: the queue; its indices are set by split_device_resume()
 * @mem: the driver's memory
 * @num: queue size, a power of two
 * @desc: address of the descriptor table in the front end
 * @avail: address of the available ring
 * @used: address of the used ring
 *
 * Return: 0, or -EFAULT for a part outside the memory or off its alignment (VIRTIO
 * 1.2, 2.7: 16, 2 and 4 bytes).
 */
int split_device_init(struct split_device *d, const struct guest_memory *mem, unsigned int num,
		      uint64_t desc, uint64_t avail, uint64_t used)
{
	void *host_desc = guest_memory_user(mem, desc, ring_desc_size(num));
	void *host_avail = guest_memory_user(mem, avail, ring_avail_size(num));
	void *host_used = guest_memory_user(mem, used, ring_used_size(num));

	if (!host_desc || !host_avail || !host_used ||
	    (uintptr_t)host_desc % VRING_DESC_ALIGN_SIZE ||
	    (uintptr_t)host_avail % VRING_AVAIL_ALIGN_SIZE ||
	    (uintptr_t)host_used % VRING_USED_ALIGN_SIZE)
		return -EFAULT;

	d->num = num;
	d->desc = host_desc;
	d->avail = host_avail;
	d->used = host_used;
	return 0;
}

/**
 * split_device_resume - start at a given request
 * @d: the queue, initialised
 * @avail_idx: the first request to take, from VHOST_USER_SET_VRING_BASE
 *
 * The used index is the one in the ring: what is there was given out by whoever served
 * the ring before.
 */
void split_device_resume(struct split_device *d, uint16_t avail_idx)
{
	d->avail_idx = avail_idx;
	d->avail_seen = avail_idx;
	d->used_idx = ring_load16(&d->used->idx, memory_order_relaxed);
	d->published = d->used_idx;
	d->unsettled = 0;
	d->kicks_off = ring_load16(&d->used->flags, memory_order_relaxed) & VRING_USED_F_NO_NOTIFY;
}

/* Indirect tables may lie at any address, so nothing is promised about it. */
struct any_desc {
	struct vring_desc d;
} __attribute__((packed));

/* Descriptors are read once, hence volatile: the driver could change them while we look. */
static struct vring_desc read_desc(const struct vring_desc *p)
{
	const volatile struct any_desc *a = (const void *)p;

	return (struct vring_desc) {
		.addr = le64toh(a->d.addr),
		.len = le32toh(a->d.len),
		.flags = le16toh(a->d.flags),
		.next = le16toh(a->d.next),
	};
}

/* Move from the ring into an indirect table (VIRTIO 1.2, 2.7.5.3). */
static int enter_table(const struct split_device *d, const struct guest_memory *mem,
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
 * split_device_read - read the descriptors of a request
 * @d: the queue
 * @mem: the driver's memory
 * @c: the request, of which the head is set, below the queue size; the rest is filled in
 *
 * Return: 0, or a negative errno as split_device_pop() has it.
 */
int split_device_read(const struct split_device *d, const struct guest_memory *mem,
		      struct vq_chain *c)
{
	const struct vring_desc *table = d->desc;
	unsigned int num = d->num;
	struct vring_desc desc = read_desc(&table[c->head]);

	c->nr_read = 0;
	c->nr_write = 0;

	/* A chain visits each descriptor once at most, so a longer one is a loop. */
	for (unsigned int steps = 1; ; steps++) {
		int ret;

		if (desc.flags & VRING_DESC_F_INDIRECT) {
			if (table != d->desc)
				return -EINVAL;
			ret = enter_table(d, mem, &desc, &table, &num);
			if (ret)
				return ret;
			desc = read_desc(table);
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
		desc = read_desc(&table[desc.next]);
	}
}

/**
 * split_device_pop - take the next request
 * @d: the queue
 * @mem: the driver's memory
 * @c: filled in
 *
 * Return: 1 with a request, 0 without, or a negative errno when the ring is broken
 * (VIRTIO 1.2, 2.7.4 and 2.7.5): -ERANGE for an index outside the queue, -ELOOP for
 * a loop, -EFAULT for an address outside the driver's memory, -E2BIG for too many
 * segments, -EINVAL for an empty segment, a wrong direction or a bad indirect table.
 */
int split_device_pop(struct split_device *d, const struct guest_memory *mem, struct vq_chain *c)
{
	int ret;

	if (!split_device_has_avail(d))
		return 0;
	if (unlikely((uint16_t)(d->avail_seen - d->avail_idx) > d->num))
		return -ERANGE;

	c->head = ring_load16(&d->avail->ring[d->avail_idx & (d->num - 1)], memory_order_relaxed);
	if (unlikely(c->head >= d->num))
		return -ERANGE;
	ret = split_device_read(d, mem, c);
	if (ret)
		return ret;
	d->avail_idx++;
	return 1;
}

/**
 * split_device_push - return a request; shown to the driver by split_device_publish()
 * @d: the queue
 * @head: the request's head
 * @written: bytes written into the request's memory
 */
void split_device_push(struct split_device *d, uint16_t head, uint32_t written)
{
	struct vring_used_elem *elem = &d->used->ring[d->used_idx & (d->num - 1)];

	/* An element that is right already, as at depth 1, is left to the driver's cache. */
	if (ring_load32(&elem->id) != head)
		ring_store32(&elem->id, head);
	if (ring_load32(&elem->len) != written)
		ring_store32(&elem->len, written);
	d->used_idx++;
}

/* Whether the driver asked to be called for unsettled requests (VIRTIO 1.2, 2.7.7). */
static bool call_wanted(const struct split_device *d)
{
	uint16_t old = d->published - d->unsettled;

	if (d->event_idx)
		return vring_need_event(ring_load16(ring_used_event(d->avail, d->num),
						    memory_order_relaxed), d->published, old);
	return !(ring_load16(&d->avail->flags, memory_order_relaxed) & VRING_AVAIL_F_NO_INTERRUPT);
}

/**
 * split_device_publish - show the driver all requests returned so far
 * @d: the queue
 *
 * A driver that is just falling asleep may be missed: see split_driver_publish(), whose
 * mirror image this is.
 *
 * Return: whether to call the driver now.
 */
bool split_device_publish(struct split_device *d)
{
	unsigned int unsettled = d->unsettled + (uint16_t)(d->used_idx - d->published);

	if (d->published == d->used_idx)
		return false;
	d->published = d->used_idx;
	/* A driver that sleeps is not further behind than its ring is long. */
	d->unsettled = unsettled < d->num ? unsettled : d->num;

	/* pairs with the acquire of used->idx in split_driver_has_used() */
	ring_store16(&d->used->idx, d->used_idx, memory_order_release);
	if (!call_wanted(d))
		return false;
	d->unsettled = 0;
	return true;
}

/**
 * split_device_settle - find out for certain whether published requests need a call
 * @d: the queue
 *
 * To be called when no request is at hand, before waiting for one.
 *
 * Return: whether to call the driver now.
 */
bool split_device_settle(struct split_device *d)
{
	bool wanted;

	if (!d->unsettled)
		return false;
	/* pairs with the fence in split_driver_enable_calls(): index first, then its wish */
	atomic_thread_fence(memory_order_seq_cst);
	wanted = call_wanted(d);
	d->unsettled = 0;
	return wanted;
}

/**
 * split_device_enable_kicks - ask for a kick at the next request
 * @d: the queue
 *
 * Return: whether a request came in between, so that the caller must not sleep.
 */
bool split_device_enable_kicks(struct split_device *d)
{
	if (d->event_idx) {
		ring_store16(ring_avail_event(d->used, d->num), d->avail_idx, memory_order_relaxed);
	} else if (d->kicks_off) {
		d->kicks_off = false;
		ring_store16(&d->used->flags, 0, memory_order_relaxed);
	}
	/* pairs with the fence in split_driver_settle() */
	atomic_thread_fence(memory_order_seq_cst);
	return split_device_has_avail(d);
}

/**
 * split_device_disable_kicks - ask not to be kicked
 * @d: the queue
 *
 * With event_idx only an index still ahead is moved out of the way: see
 * split_driver_disable_calls().
 */
void split_device_disable_kicks(struct split_device *d)
{
	if (d->event_idx) {
		__virtio16 *event = ring_avail_event(d->used, d->num);
		uint16_t ahead = ring_load16(event, memory_order_relaxed) - d->avail_idx;

		if (ahead < 0x8000)
			ring_store16(event, d->avail_idx - 1, memory_order_relaxed);
	} else if (!d->kicks_off) {
		d->kicks_off = true;
		ring_store16(&d->used->flags, VRING_USED_F_NO_NOTIFY, memory_order_relaxed);
	}
}
