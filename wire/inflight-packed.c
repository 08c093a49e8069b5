/* SPDX-License-Identifier: GPL-2.0-only */
#include <stdlib.h>
#include "wire/inflight.h"

/*
 * The packed ring's half: descriptors are overwritten by used ones before their requests
 * have been returned, so the record has copies, a list of entries for each request. What is
 * on the list of free entries is not in flight, whatever else an entry says.
 */

/* See wire/inflight.c. */
static void step(void)
{
	atomic_signal_fence(memory_order_seq_cst);
}

/* Where the ring is used, and where it was before this batch: changed together or not at all. */
static void store_used(struct inflight_packed *r, unsigned int used, unsigned int old, unsigned int num)
{
	typedef _Atomic uint64_t word __attribute__((may_alias));
	uint64_t v = htole64((uint64_t)packed_index(used, num) |
			     (uint64_t)packed_index(old, num) << 16 |
			     (uint64_t)(used < num) << 32 | (uint64_t)(old < num) << 40);

	_Static_assert(offsetof(struct inflight_packed, used_idx) == 16 &&
		       offsetof(struct inflight_packed, old_used_idx) == 18 &&
		       offsetof(struct inflight_packed, used_wrap_counter) == 20 &&
		       offsetof(struct inflight_packed, old_used_wrap_counter) == 21, "vhost-user");
	step();
	atomic_store_explicit((word *)&r->used_idx, v, memory_order_relaxed);
	step();
}

static unsigned int position(uint16_t index, uint8_t wrap, unsigned int num)
{
	return packed_from_wire((index & 0x7fff) | (wrap ? 0x8000 : 0), num);
}

/*
 * Finds out how far the ring is used and where the free entries begin. Whether a batch that
 * was under way has reached the driver is seen in the ring. Returns 2 * num for a record
 * that no device has written.
 */
static unsigned int find_batch_end(const struct inflight_packed *r, const struct vq_device *d,
				   uint16_t *free_head)
{
	unsigned int num = d->notify.num;
	unsigned int used = position(r->used_idx, r->used_wrap_counter, num);
	unsigned int old = position(r->old_used_idx, r->old_used_wrap_counter, num);
	uint16_t flags;

	*free_head = r->old_free_head;
	if (used == 2 * num || old == 2 * num)
		return 2 * num;
	if (used == old)
		return old;
	flags = ring_load16(&d->packed.desc[packed_index(old, num)].flags, memory_order_acquire);
	if ((flags & (PACKED_AVAIL | PACKED_USED)) == packed_avail_flags(old, num))
		return old;
	*free_head = r->free_head;
	return used;
}

/* Nothing on the list of free entries is in flight. */
static void clear_free(struct vq_inflight *t, uint16_t free_head)
{
	struct inflight_packed *r = t->packed;

	for (unsigned int i = 0; i < t->num && free_head < t->num; i++) {
		r->desc[free_head].inflight = 0;
		free_head = r->desc[free_head].next;
	}
}

/* Walk the entries of a request; returns how many they are, 0 for a list that cannot be. */
static unsigned int claim(struct vq_inflight *t, uint16_t entry, bool *claimed)
{
	const struct inflight_packed_desc *desc = t->packed->desc;
	unsigned int n = desc[entry].num;

	if (!n || n > t->num)
		return 0;
	for (unsigned int i = 0, e = entry; i < n; i++) {
		if (e >= t->num || claimed[e])
			return 0;
		claimed[e] = true;
		t->last[entry] = e;
		t->next[e] = desc[e].next;
		e = t->next[e];
	}
	return n;
}

/*
 * Make one list of all that is not claimed. It only ever links free entries, so a device
 * killed in here leaves no other in flight than it found.
 */
static void link_free(struct vq_inflight *t, const bool *claimed)
{
	struct inflight_packed *r = t->packed;

	t->free = t->num;
	for (unsigned int i = t->num; i-- > 0; ) {
		if (claimed[i])
			continue;
		r->desc[i].inflight = 0;
		t->next[i] = t->free;
		r->desc[i].next = t->free;
		t->free = i;
	}
	step();
	r->free_head = t->free;
	r->old_free_head = t->free;
	step();
}

/*
 * A batch that has not reached the driver has left used descriptors behind, all but the
 * first of it. The driver would take them for answers once it gets there.
 */
static void hide_unshown(const struct vq_device *d, unsigned int used, unsigned int in_flight)
{
	unsigned int num = d->notify.num;

	for (unsigned int i = 0; i < in_flight; i++) {
		unsigned int pos = packed_advance(used, i, num);
		__virtio16 *flags = &d->packed.desc[packed_index(pos, num)].flags;
		uint16_t now = ring_load16(flags, memory_order_relaxed);
		uint16_t want = packed_avail_flags(pos, num);

		if ((now & (PACKED_AVAIL | PACKED_USED)) != want)
			ring_store16(flags, (now & ~(PACKED_AVAIL | PACKED_USED)) | want,
				     memory_order_relaxed);
	}
}

/* Returns how many requests are left, or a negative errno. */
static int recover(struct vq_inflight *t, struct vq_device *d, bool *claimed,
		   struct inflight_left *left)
{
	const struct inflight_packed_desc *desc = t->packed->desc;
	unsigned int num = d->notify.num, used, n = 0, in_flight = 0;
	uint16_t free_head;

	used = find_batch_end(t->packed, d, &free_head);
	if (used == 2 * num)
		return -EUCLEAN;
	clear_free(t, free_head);
	for (unsigned int i = 0; i < t->num; i++) {
		unsigned int count;

		if (!desc[i].inflight)
			continue;
		count = claim(t, i, claimed);
		in_flight += count;
		if (!count || in_flight > num)
			return -EUCLEAN;
		left[n++] = (struct inflight_left) { desc[i].counter, i };
	}
	hide_unshown(d, used, in_flight);
	vq_device_start(d, packed_advance(used, in_flight, num), used);
	return n;
}

/**
 * inflight_packed_begin - begin to keep the record of a queue, or go on where it ends
 * @t: the record, opened
 * @d: the queue, resumed; it is started once more where the record says
 * @from_record: go by what the record says, if it says something; else nothing is in flight
 * @left: room for as many requests as the record has entries; set to those that are left
 *
 * Return: how many are left, -ENOMEM, or -EUCLEAN for a record that no device has written.
 */
int inflight_packed_begin(struct vq_inflight *t, struct vq_device *d, bool from_record,
			  struct inflight_left *left)
{
	struct inflight_packed *r = t->packed;
	bool *claimed = calloc(t->num, sizeof(*claimed));
	int n = 0;

	if (!claimed)
		return -ENOMEM;
	if (from_record && r->version == INFLIGHT_VERSION)
		n = recover(t, d, claimed, left);
	if (n >= 0) {
		link_free(t, claimed);
		store_used(r, d->used_idx, d->used_idx, d->notify.num);
		r->desc_num = t->num;
		step();
		r->version = INFLIGHT_VERSION;
	}
	free(claimed);
	return n;
}

/**
 * inflight_packed_taken - note that a request has been taken
 * @t: the record
 * @d: the queue
 * @pos: where the request was in the ring
 * @c: the request; its entry is filled in
 */
void inflight_packed_taken(struct vq_inflight *t, const struct vq_device *d, unsigned int pos,
			   struct vq_chain *c)
{
	struct inflight_packed *r = t->packed;
	unsigned int num = d->notify.num, head = t->free, e = head;

	for (unsigned int i = 0; i < c->count; i++, e = t->next[e]) {
		const volatile struct vring_packed_desc *from = &d->packed.desc[packed_index(pos, num)];

		r->desc[e].addr = le64toh(from->addr);
		r->desc[e].len = le32toh(from->len);
		r->desc[e].id = le16toh(from->id);
		r->desc[e].flags = le16toh(from->flags);
		t->last[head] = e;
		pos = packed_advance(pos, 1, num);
	}
	r->desc[head].last = t->last[head];
	r->desc[head].num = c->count;
	r->desc[head].counter = t->counter++;
	r->desc[head].inflight = 1;
	r->free_head = e;
	/* From here on it is. */
	step();
	r->old_free_head = e;
	step();
	t->free = e;
	c->entry = head;
}

/**
 * inflight_packed_read - read a request that an earlier device left
 * @t: the record
 * @d: the queue
 * @mem: the driver's memory
 * @entry: the request's first entry
 * @c: filled in
 *
 * Return: 0, or a negative errno as vq_device_pop() has it.
 */
int inflight_packed_read(struct vq_inflight *t, const struct vq_device *d,
			  const struct guest_memory *mem, uint16_t entry, struct vq_chain *c)
{
	struct vq_walk w = { 0 };
	uint16_t e = entry;

	c->count = 0;
	c->entry = entry;
	for (;;) {
		const volatile struct inflight_packed_desc *from = &t->packed->desc[e];
		const struct vring_packed_desc desc = {
			.addr = from->addr, .len = from->len, .id = from->id, .flags = from->flags,
		};
		int ret = vq_packed_add(&w, d, mem, &desc, c);

		if (ret)
			return ret;
		c->head = desc.id;
		c->count++;
		if (e == t->last[entry])
			break;
		e = t->next[e];
	}
	vq_walk_end(&w, c);
	return 0;
}

/**
 * inflight_packed_returned - note that a request has been returned, which the driver does not know
 * @t: the record
 * @c: the request
 *
 * Nothing of it is shared before inflight_packed_show(): meanwhile others may be taken.
 */
void inflight_packed_returned(struct vq_inflight *t, const struct vq_chain *c)
{
	t->batch[t->nr_batch++] = c->entry;
}

/**
 * inflight_packed_show - note that the driver is about to be shown all that was returned
 * @t: the record, with what was returned in its batch
 * @d: the queue
 */
void inflight_packed_show(struct vq_inflight *t, const struct vq_device *d)
{
	struct inflight_packed *r = t->packed;

	for (unsigned int i = 0; i < t->nr_batch; i++) {
		unsigned int e = t->batch[i], last = t->last[e];

		t->next[last] = t->free;
		r->desc[last].next = t->free;
		t->free = e;
	}
	step();
	r->free_head = t->free;
	store_used(r, d->used_idx, d->notify.published, d->notify.num);
}

/**
 * inflight_packed_shown - note that it knows
 * @t: the record
 * @d: the queue
 */
void inflight_packed_shown(struct vq_inflight *t, const struct vq_device *d)
{
	struct inflight_packed *r = t->packed;

	step();
	for (unsigned int i = 0; i < t->nr_batch; i++)
		r->desc[t->batch[i]].inflight = 0;
	t->nr_batch = 0;
	step();
	r->old_free_head = t->free;
	store_used(r, d->used_idx, d->used_idx, d->notify.num);
}
