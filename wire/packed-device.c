/* SPDX-License-Identifier: GPL-2.0-only */
#include "base/cpu.h"
#include "wire/packed-device.h"

/**
 * packed_device_init - find the three parts of a ring in the driver's memory
 * @d: the queue; its positions are set by packed_device_resume()
 * @mem: the driver's memory
 * @num: queue size, up to PACKED_NUM_MAX
 * @desc: address of the descriptor ring in the front end
 * @driver_area: address of the driver's event suppression structure
 * @device_area: address of the device's
 *
 * Return: 0, or -EFAULT for a part outside the memory or off its alignment (VIRTIO
 * 1.2, 2.8.10.1: 16, 4 and 4 bytes).
 */
int packed_device_init(struct packed_device *d, const struct guest_memory *mem, unsigned int num,
		       uint64_t desc, uint64_t driver_area, uint64_t device_area)
{
	void *host_desc = guest_memory_user(mem, desc, (uint64_t)num * sizeof(*d->desc));
	void *host_driver = guest_memory_user(mem, driver_area, sizeof(*d->driver_event));
	void *host_device = guest_memory_user(mem, device_area, sizeof(*d->device_event));

	if (!host_desc || !host_driver || !host_device || (uintptr_t)host_desc % 16 ||
	    (uintptr_t)host_driver % 4 || (uintptr_t)host_device % 4)
		return -EFAULT;

	d->num = num;
	d->desc = host_desc;
	d->driver_event = host_driver;
	d->device_event = host_device;
	return 0;
}

/**
 * packed_device_resume - start at a given place
 * @d: the queue, initialised
 * @avail: position of the next descriptor to take, below twice the queue size
 * @used: position at which to write the next used one
 *
 * A new ring has both at 0.
 */
void packed_device_resume(struct packed_device *d, unsigned int avail, unsigned int used)
{
	d->avail = avail;
	d->used = used;
	d->published = used;
	d->unsettled = 0;
	d->event = packed_event_load(d->device_event);
}

/* Indirect tables may lie at any address, so nothing is promised about it. */
struct any_desc {
	struct vring_packed_desc d;
} __attribute__((packed));

/* Descriptors are read once, hence volatile: the driver could change them while we look. */
static struct vring_packed_desc read_desc(const struct vring_packed_desc *p)
{
	const volatile struct any_desc *a = (const void *)p;

	return (struct vring_packed_desc) {
		.addr = le64toh(a->d.addr),
		.len = le32toh(a->d.len),
		.id = le16toh(a->d.id),
		.flags = le16toh(a->d.flags),
	};
}

/* A table lists its segments one behind the other; only their WRITE flags count (2.8.7). */
static int walk_table(const struct packed_device *d, const struct guest_memory *mem,
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
		struct vring_packed_desc entry = read_desc(&table[i]);

		ret = vq_chain_add(c, mem, entry.addr, entry.len, entry.flags & VRING_DESC_F_WRITE);
	}
	return ret;
}

/**
 * packed_device_add - add what a descriptor refers to, memory or a table, to a request
 * @d: the queue
 * @mem: the driver's memory
 * @desc: the descriptor, in this host's byte order
 * @first: it is the request's first one
 * @c: the request
 *
 * Return: 0, -EINVAL for a bad indirect table, or what vq_chain_add() says.
 */
int packed_device_add(const struct packed_device *d, const struct guest_memory *mem,
		      const struct vring_packed_desc *desc, bool first, struct vq_chain *c)
{
	/* A list has tables or segments (2.8.5), and a table only by itself (2.8.19). */
	if (desc->flags & VRING_DESC_F_INDIRECT)
		return first ? walk_table(d, mem, desc, c) : -EINVAL;
	return vq_chain_add(c, mem, desc->addr, desc->len, desc->flags & VRING_DESC_F_WRITE);
}

/**
 * packed_device_pop - take the next request
 * @d: the queue
 * @mem: the driver's memory
 * @c: filled in
 *
 * Return: 1 with a request, 0 without, or a negative errno when the ring is broken
 * (VIRTIO 1.2, 2.8.5 to 2.8.7 and 2.8.17): -ELOOP for a list longer than the queue,
 * -EOVERFLOW for more descriptors than are free, -EINVAL for a bad indirect table, or
 * what vq_chain_add() says.
 */
int packed_device_pop(struct packed_device *d, const struct guest_memory *mem, struct vq_chain *c)
{
	unsigned int pos = d->avail, count = 0;
	struct vring_packed_desc desc;
	int ret;

	if (!packed_device_has_avail(d))
		return 0;

	c->nr_read = 0;
	c->nr_write = 0;
	do {
		if (unlikely(count == d->num))
			return -ELOOP;
		desc = read_desc(&d->desc[packed_index(pos, d->num)]);
		ret = packed_device_add(d, mem, &desc, !count, c);
		if (ret)
			return ret;
		pos = packed_advance(pos, 1, d->num);
		count++;
	} while (desc.flags & VRING_DESC_F_NEXT);

	/* What the driver has not been given back is not its to reuse. */
	if (unlikely(packed_distance(d->published, d->avail, d->num) + count > d->num))
		return -EOVERFLOW;
	/* The last one names the list (2.8.6). */
	c->head = desc.id;
	c->count = count;
	d->avail = pos;
	return 1;
}

/**
 * packed_device_seen - see how far the driver has gone
 * @d: the queue, in which there is a request
 *
 * Return: position behind the last descriptor that is available now.
 */
unsigned int packed_device_seen(const struct packed_device *d)
{
	unsigned int pos = packed_advance(d->avail, 1, d->num);

	for (unsigned int n = 1; n < d->num && packed_device_is_avail(d, pos); n++)
		pos = packed_advance(pos, 1, d->num);
	return pos;
}

/**
 * packed_device_push - return a request; shown to the driver by packed_device_publish()
 * @d: the queue
 * @id: the request's buffer id
 * @count: descriptors it takes
 * @written: bytes written into the request's memory
 *
 * All used descriptors but the first of a batch are complete at once: the driver does not
 * look at them before that one (VIRTIO 1.2, 2.8.2).
 */
void packed_device_push(struct packed_device *d, uint16_t id, uint16_t count, uint32_t written)
{
	struct vring_packed_desc *desc = &d->desc[packed_index(d->used, d->num)];
	uint16_t flags = packed_used_flags(d->used, d->num) | (written ? VRING_DESC_F_WRITE : 0);
	uint64_t tail = packed_tail(written, id, flags);

	if (d->used == d->published)
		d->first = tail;
	else
		packed_store_tail(desc, tail, memory_order_relaxed);
	d->used = packed_advance(d->used, count, d->num);
}

/* Whether the driver asked to be called for unsettled descriptors. */
static bool call_wanted(const struct packed_device *d)
{
	return packed_event_wanted(packed_event_load(d->driver_event), d->event_idx, d->published,
				   d->unsettled, d->num);
}

/**
 * packed_device_publish - show the driver all requests returned so far
 * @d: the queue
 *
 * A driver that is just falling asleep may be missed: see split_driver_publish().
 *
 * Return: whether to call the driver now.
 */
bool packed_device_publish(struct packed_device *d)
{
	struct vring_packed_desc *first = &d->desc[packed_index(d->published, d->num)];
	unsigned int unsettled;

	if (d->published == d->used)
		return false;
	unsettled = d->unsettled + packed_distance(d->published, d->used, d->num);
	d->published = d->used;
	/* A driver that sleeps is not further behind than its ring is long. */
	d->unsettled = unsettled < d->num ? unsettled : d->num;

	/* pairs with the acquire in packed_driver_has_used() */
	packed_store_tail(first, d->first, memory_order_release);
	if (!call_wanted(d))
		return false;
	d->unsettled = 0;
	return true;
}

/**
 * packed_device_settle - find out for certain whether published requests need a call
 * @d: the queue
 *
 * To be called when no request is at hand, before waiting for one.
 *
 * Return: whether to call the driver now.
 */
bool packed_device_settle(struct packed_device *d)
{
	bool wanted;

	if (!d->unsettled)
		return false;
	/* pairs with the fence in packed_driver_enable_calls(): descriptor first, then its wish */
	atomic_thread_fence(memory_order_seq_cst);
	wanted = call_wanted(d);
	d->unsettled = 0;
	return wanted;
}

static void set_event(struct packed_device *d, uint32_t event)
{
	if (d->event == event)
		return;
	d->event = event;
	packed_event_store(d->device_event, event);
}

/**
 * packed_device_enable_kicks - ask for a kick at the next request
 * @d: the queue
 *
 * Return: whether a request came in between, so that the caller must not sleep.
 */
bool packed_device_enable_kicks(struct packed_device *d)
{
	set_event(d, d->event_idx ? packed_event(VRING_PACKED_EVENT_FLAG_DESC,
						 packed_to_wire(d->avail, d->num)) :
				    packed_event(VRING_PACKED_EVENT_FLAG_ENABLE, 0));
	/* pairs with the fence in packed_driver_settle() */
	atomic_thread_fence(memory_order_seq_cst);
	return packed_device_has_avail(d);
}

/**
 * packed_device_disable_kicks - ask not to be kicked
 * @d: the queue
 */
void packed_device_disable_kicks(struct packed_device *d)
{
	set_event(d, packed_event(VRING_PACKED_EVENT_FLAG_DISABLE, 0));
}
