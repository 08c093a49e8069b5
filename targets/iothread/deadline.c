/* SPDX-License-Identifier: GPL-2.0-only */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/timerfd.h>
#include <unistd.h>
#include "base/clock.h"
#include "base/container.h"
#include "targets/iothread/deadline.h"

static void place(struct deadlines *ds, unsigned int pos, struct deadline_slot slot)
{
	ds->heap[pos] = slot;
	slot.d->pos = pos;
}

static void sift_up(struct deadlines *ds, unsigned int pos, struct deadline_slot slot)
{
	while (pos) {
		unsigned int parent = (pos - 1) / 2;

		if (ds->heap[parent].due_ns <= slot.due_ns)
			break;
		place(ds, pos, ds->heap[parent]);
		pos = parent;
	}
	place(ds, pos, slot);
}

static void sift_down(struct deadlines *ds, unsigned int pos, struct deadline_slot slot)
{
	for (;;) {
		unsigned int child = 2 * pos + 1;

		if (child >= ds->nr)
			break;
		if (child + 1 < ds->nr && ds->heap[child + 1].due_ns < ds->heap[child].due_ns)
			child++;
		if (slot.due_ns <= ds->heap[child].due_ns)
			break;
		place(ds, pos, ds->heap[child]);
		pos = child;
	}
	place(ds, pos, slot);
}

static bool deadlines_poll(struct event_source *s, uint64_t now)
{
	struct deadlines *ds = container_of(s, struct deadlines, source);

	if (!ds->nr)
		return false;
	return ds->heap[0].due_ns <= (now ? now : clock_ns());
}

static void set_timer(struct deadlines *ds, uint64_t due_ns)
{
	struct itimerspec its = { .it_value = ns_timespec(due_ns) };

	timerfd_settime(ds->source.fd, TFD_TIMER_ABSTIME, &its, NULL);
	ds->timer_ns = due_ns;
}

/*
 * A timer left over from a deadline that polling has served is not taken back: that
 * would cost a system call each time to save a wake-up now and then.
 */
static bool deadlines_arm(struct event_source *s)
{
	struct deadlines *ds = container_of(s, struct deadlines, source);

	if (!ds->nr)
		return false;
	if (ds->heap[0].due_ns != ds->timer_ns)
		set_timer(ds, ds->heap[0].due_ns);
	return false;
}

static void deadlines_disarm(struct event_source *s)
{
	(void)s;
}

static void deadlines_dispatch(struct event_source *s)
{
	struct deadlines *ds = container_of(s, struct deadlines, source);
	uint64_t now = clock_ns();

	while (ds->nr && ds->heap[0].due_ns <= now) {
		struct deadline *d = ds->heap[0].d;

		deadline_remove(ds, d);
		ds->expired(ds, d);
	}
}

static const struct event_source_ops deadlines_ops = {
	.poll = deadlines_poll,
	.arm = deadlines_arm,
	.disarm = deadlines_disarm,
	.dispatch = deadlines_dispatch,
};

/**
 * deadlines_init - make an empty set, ready for iothread_add_source()
 * @ds: the set
 * @expired: called in the iothread for each deadline that has come
 *
 * Return: 0 or a negative errno.
 */
int deadlines_init(struct deadlines *ds,
		   void (*expired)(struct deadlines *ds, struct deadline *d))
{
	memset(ds, 0, sizeof(*ds));
	ds->source.ops = &deadlines_ops;
	ds->expired = expired;
	ds->source.fd = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
	return ds->source.fd < 0 ? -errno : 0;
}

/**
 * deadlines_destroy - free an empty set that no iothread serves any more
 * @ds: the set
 */
void deadlines_destroy(struct deadlines *ds)
{
	close(ds->source.fd);
	free(ds->heap);
}

/**
 * deadlines_reserve - make room, so that deadline_add() never allocates
 * @ds: the set; called in its iothread
 * @more: deadlines that may be pending at once, beside all reserved before
 *
 * Return: 0 or -ENOMEM.
 */
int deadlines_reserve(struct deadlines *ds, unsigned int more)
{
	struct deadline_slot *heap = realloc(ds->heap, (ds->size + more) * sizeof(*heap));

	if (!heap)
		return -ENOMEM;
	ds->heap = heap;
	ds->size += more;
	return 0;
}

/**
 * deadlines_release - give room back
 * @ds: the set; called in its iothread
 * @fewer: what deadlines_reserve() was given
 */
void deadlines_release(struct deadlines *ds, unsigned int fewer)
{
	ds->size -= fewer;
}

/**
 * deadline_add - set a deadline
 * @ds: the set, with room reserved
 * @d: the deadline, its due_ns filled in
 */
void deadline_add(struct deadlines *ds, struct deadline *d)
{
	sift_up(ds, ds->nr++, (struct deadline_slot) { .due_ns = d->due_ns, .d = d });
	/* The timer may be set for a later one, so it must be looked at before the next sleep. */
	if (!d->pos)
		event_source_rearm(&ds->source);
}

/**
 * deadline_remove - take a pending deadline back
 * @ds: the set
 * @d: the deadline
 */
void deadline_remove(struct deadlines *ds, struct deadline *d)
{
	struct deadline_slot last = ds->heap[--ds->nr];
	unsigned int pos = d->pos;

	if (pos == ds->nr)
		return;
	if (pos && ds->heap[(pos - 1) / 2].due_ns > last.due_ns)
		sift_up(ds, pos, last);
	else
		sift_down(ds, pos, last);
}

/**
 * deadlines_limit - bring all that is due later forward
 * @ds: the set; called in its iothread
 * @latest_ns: when it is due now, by clock_ns()
 */
void deadlines_limit(struct deadlines *ds, uint64_t latest_ns)
{
	/* None that came before another comes behind it now, so the heap is one still. */
	for (unsigned int i = 0; i < ds->nr; i++) {
		if (ds->heap[i].due_ns > latest_ns) {
			ds->heap[i].due_ns = latest_ns;
			ds->heap[i].d->due_ns = latest_ns;
		}
	}
	event_source_rearm(&ds->source);
}
