/* SPDX-License-Identifier: GPL-2.0-only */
#include <stdlib.h>
#include "base/cpu.h"
#include "wire/inflight.h"

/*
 * A process that is killed has done what it did up to some instruction, and no other
 * device looks before it is gone. So that these steps stay in order it is enough to keep
 * the compiler from moving them.
 */
static void step(void)
{
	atomic_signal_fence(memory_order_seq_cst);
}

/**
 * vq_inflight_bytes - shared memory that the record of a queue takes
 * @is_packed: of a packed queue
 * @num: most entries of the queue
 *
 * Return: bytes, a multiple of a cache line.
 */
size_t vq_inflight_bytes(bool is_packed, unsigned int num)
{
	size_t bytes = is_packed ?
		sizeof(struct inflight_packed) + num * sizeof(struct inflight_packed_desc) :
		sizeof(struct inflight_split) + num * sizeof(struct inflight_split_desc);

	return (bytes + CACHE_LINE - 1) / CACHE_LINE * CACHE_LINE;
}

/**
 * vq_inflight_entries - the largest queue whose record fits into so much shared memory
 * @is_packed: of a packed queue
 * @bytes: at least those of one entry
 *
 * Return: entries, at most those that any queue can have.
 */
unsigned int vq_inflight_entries(bool is_packed, size_t bytes)
{
	size_t num = is_packed ?
		(bytes - sizeof(struct inflight_packed)) / sizeof(struct inflight_packed_desc) :
		(bytes - sizeof(struct inflight_split)) / sizeof(struct inflight_split_desc);

	return num < PACKED_NUM_MAX ? num : PACKED_NUM_MAX;
}

/**
 * vq_inflight_open - get ready to keep the record of a queue
 * @t: filled in; to be followed by vq_inflight_begin()
 * @is_packed: the queue is packed
 * @num: entries, at least as many as the queue has
 * @shared: vq_inflight_bytes() of shared memory; zero, or what an earlier device left
 *
 * Return: 0 or -ENOMEM.
 */
int vq_inflight_open(struct vq_inflight *t, bool is_packed, unsigned int num, void *shared)
{
	uint16_t *lists = calloc(4 * (size_t)num, sizeof(*lists));

	if (!lists)
		return -ENOMEM;
	*t = (struct vq_inflight) {
		.split = is_packed ? NULL : shared,
		.packed = is_packed ? shared : NULL,
		.num = num,
		.batch = lists,
		.next = lists + num,
		.last = lists + 2 * num,
		.resubmit = lists + 3 * num,
	};
	return 0;
}

/**
 * vq_inflight_close - forget what was not shared
 * @t: the record; no harm in one that was never opened, all zero
 */
void vq_inflight_close(struct vq_inflight *t)
{
	free(t->batch);
	*t = (struct vq_inflight) { 0 };
}

static int by_counter(const void *a, const void *b)
{
	const struct inflight_left *l = a, *r = b;

	return l->counter < r->counter ? -1 : l->counter > r->counter;
}

/* Put what an earlier device left, of which @left is a copy, into the order it was taken in. */
static void set_order(struct vq_inflight *t, struct inflight_left *left, unsigned int n)
{
	qsort(left, n, sizeof(*left), by_counter);
	for (unsigned int i = 0; i < n; i++)
		t->resubmit[i] = left[i].entry;
	t->nr_resubmit = n;
	t->next_resubmit = 0;
	t->nr_batch = 0;
	t->counter = n ? left[n - 1].counter + 1 : 0;
}

/* Returned to the driver, who has seen it, but the record did not get that far. */
static int finish_split_batch(struct vq_inflight *t, uint16_t used_idx)
{
	struct inflight_split *r = t->split;
	uint16_t left = used_idx - r->used_idx, head = r->last_batch_head;

	if (left > t->num)
		return -EUCLEAN;
	while (left--) {
		if (head >= t->num)
			return -EUCLEAN;
		r->desc[head].inflight = 0;
		head = r->desc[head].next;
	}
	return 0;
}

static int begin_split(struct vq_inflight *t, struct vq_device *d, bool recover,
		       struct inflight_left *left)
{
	struct inflight_split *r = t->split;
	unsigned int n = 0;
	int ret;

	recover = recover && r->version == INFLIGHT_VERSION;
	ret = recover ? finish_split_batch(t, d->used_idx) : 0;
	if (ret)
		return ret;
	for (unsigned int i = 0; i < t->num; i++) {
		if (!recover)
			r->desc[i].inflight = 0;
		if (!r->desc[i].inflight)
			continue;
		if (i >= d->notify.num)
			return -EUCLEAN;
		left[n++] = (struct inflight_left) { r->desc[i].counter, i };
	}
	r->desc_num = t->num;
	r->used_idx = d->used_idx;
	step();
	r->version = INFLIGHT_VERSION;
	if (recover)
		vq_device_start(d, d->used_idx + n, d->used_idx);
	return n;
}

/**
 * vq_inflight_begin - keep the record of a queue from now on
 * @t: the record, opened for the queue's format and at least its size
 * @d: the queue, resumed, with nothing in flight; it is started once more behind requests that
 *	are left
 * @recover: go on where the record ends, if it says something, rather than where the queue has
 *	been resumed
 *
 * Requests that an earlier device left are then found by vq_inflight_resubmit().
 *
 * Return: 0, -ENOMEM, or -EUCLEAN for a record that no device has written.
 */
int vq_inflight_begin(struct vq_inflight *t, struct vq_device *d, bool recover)
{
	struct inflight_left *left = calloc(t->num, sizeof(*left));
	int n;

	if (!left)
		return -ENOMEM;
	n = d->notify.is_packed ? inflight_packed_begin(t, d, recover, left) :
				  begin_split(t, d, recover, left);
	if (n >= 0)
		set_order(t, left, n);
	free(left);
	return n < 0 ? n : 0;
}

/**
 * vq_inflight_resubmit - take the next of the requests that an earlier device left
 * @t: the record
 * @d: the queue
 * @mem: the driver's memory
 * @c: filled in
 *
 * Return: 1 with a request, 0 without, or a negative errno as vq_device_pop() has it.
 */
int vq_inflight_resubmit(struct vq_inflight *t, const struct vq_device *d,
			 const struct guest_memory *mem, struct vq_chain *c)
{
	int ret;

	if (t->next_resubmit == t->nr_resubmit)
		return 0;
	c->head = t->resubmit[t->next_resubmit];
	ret = d->notify.is_packed ? inflight_packed_read(t, d, mem, c->head, c) :
				    vq_split_read(d, mem, c);
	if (ret)
		return ret;
	t->next_resubmit++;
	return 1;
}

static void split_taken(struct vq_inflight *t, uint16_t head)
{
	struct inflight_split_desc *desc = &t->split->desc[head];

	desc->counter = t->counter++;
	step();
	desc->inflight = 1;
	step();
}

/**
 * vq_inflight_pop - take the next request of the ring, and note that it has been taken
 * @t: the record
 * @d: the queue
 * @mem: the driver's memory
 * @c: filled in
 *
 * Return: what vq_device_pop() says.
 */
int vq_inflight_pop(struct vq_inflight *t, struct vq_device *d, const struct guest_memory *mem,
		    struct vq_chain *c)
{
	unsigned int pos = d->last_avail_idx;
	int ret = vq_device_pop(d, mem, c);

	if (ret <= 0)
		return ret;
	if (d->notify.is_packed)
		inflight_packed_taken(t, d, pos, c);
	else
		split_taken(t, c->head);
	return ret;
}

static void split_returned(struct vq_inflight *t, uint16_t head)
{
	struct inflight_split *r = t->split;

	/* Only a driver that has the same head in flight twice gets here. */
	if (unlikely(t->nr_batch == t->num))
		return;
	r->desc[head].next = t->nr_batch ? t->batch[t->nr_batch - 1] : 0;
	r->last_batch_head = head;
	t->batch[t->nr_batch++] = head;
	step();
}

/**
 * vq_inflight_push - return a request, and note it; the driver knows after vq_inflight_publish()
 * @t: the record
 * @d: the queue
 * @c: the request
 * @written: bytes written into the request's memory
 */
void vq_inflight_push(struct vq_inflight *t, struct vq_device *d, const struct vq_chain *c,
		      uint32_t written)
{
	vq_device_push(d, c, written);
	if (d->notify.is_packed)
		inflight_packed_returned(t, c);
	else
		split_returned(t, c->head);
}

static void split_shown(struct vq_inflight *t, uint16_t used_idx)
{
	step();
	for (unsigned int i = 0; i < t->nr_batch; i++)
		t->split->desc[t->batch[i]].inflight = 0;
	t->nr_batch = 0;
	step();
	t->split->used_idx = used_idx;
}

/**
 * vq_inflight_publish - show the driver all requests returned so far, and note that it knows
 * @t: the record
 * @d: the queue
 *
 * Return: whether to call the driver now.
 */
bool vq_inflight_publish(struct vq_inflight *t, struct vq_device *d)
{
	bool call;

	if (!vq_device_unpublished(d))
		return false;
	if (d->notify.is_packed)
		inflight_packed_show(t, d);
	call = vq_device_publish(d);
	if (d->notify.is_packed)
		inflight_packed_shown(t, d);
	else
		split_shown(t, d->used_idx);
	return call;
}
