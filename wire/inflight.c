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
 * @t: filled in; to be followed by inflight_split_resume() or inflight_packed_resume()
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
		.again = lists + 3 * num,
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

/**
 * vq_inflight_order - put what an earlier device left into the order it was taken in
 * @t: the record
 * @left: the requests, copied, as the front end could change the numbers meanwhile
 * @n: how many
 */
void vq_inflight_order(struct vq_inflight *t, struct inflight_left *left, unsigned int n)
{
	qsort(left, n, sizeof(*left), by_counter);
	for (unsigned int i = 0; i < n; i++)
		t->again[i] = left[i].entry;
	t->nr_again = n;
	t->next_again = 0;
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

/**
 * inflight_split_resume - begin to keep the record of a queue, or go on where it ends
 * @t: the record, opened
 * @d: the queue, resumed; it is resumed once more behind requests that are left
 * @recover: go by what the record says, if it says something; else nothing is in flight
 *
 * Return: 0, -ENOMEM, or -EUCLEAN for a record that no device has written.
 */
int inflight_split_resume(struct vq_inflight *t, struct split_device *d, bool recover)
{
	struct inflight_split *r = t->split;
	unsigned int n = 0;
	struct inflight_left *left;
	int ret = 0;

	recover = recover && r->version == INFLIGHT_VERSION;
	left = calloc(t->num, sizeof(*left));
	if (!left)
		return -ENOMEM;
	if (recover)
		ret = finish_split_batch(t, d->used_idx);
	for (unsigned int i = 0; i < t->num && !ret; i++) {
		if (!recover)
			r->desc[i].inflight = 0;
		if (!r->desc[i].inflight)
			continue;
		if (i >= d->num)
			ret = -EUCLEAN;
		left[n++] = (struct inflight_left) { r->desc[i].counter, i };
	}
	if (!ret) {
		r->desc_num = t->num;
		r->used_idx = d->used_idx;
		step();
		r->version = INFLIGHT_VERSION;
		vq_inflight_order(t, left, n);
		if (recover)
			split_device_resume(d, d->used_idx + n);
	}
	free(left);
	return ret;
}

/**
 * inflight_split_taken - note that a request has been taken
 * @t: the record
 * @head: the request
 */
void inflight_split_taken(struct vq_inflight *t, uint16_t head)
{
	struct inflight_split_desc *desc = &t->split->desc[head];

	desc->counter = t->counter++;
	step();
	desc->inflight = 1;
	step();
}

/**
 * inflight_split_returned - note that a request has been returned, which the driver does not know
 * @t: the record
 * @head: the request
 */
void inflight_split_returned(struct vq_inflight *t, uint16_t head)
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
 * inflight_split_shown - note that the driver knows of all that was returned
 * @t: the record
 * @used_idx: the used index it was shown
 */
void inflight_split_shown(struct vq_inflight *t, uint16_t used_idx)
{
	step();
	for (unsigned int i = 0; i < t->nr_batch; i++)
		t->split->desc[t->batch[i]].inflight = 0;
	t->nr_batch = 0;
	step();
	t->split->used_idx = used_idx;
}
