/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef TARGETS_IOTHREAD_DEADLINE_H
#define TARGETS_IOTHREAD_DEADLINE_H

#include "targets/iothread/iothread.h"

/**
 * struct deadline - something due at a time; embedded in what is due
 * @due_ns: when, by clock_ns()
 * @pos: place in the heap, kept by it
 */
struct deadline {
	uint64_t due_ns;
	unsigned int pos;
};

struct deadline_slot {
	uint64_t due_ns;
	struct deadline *d;
};

/**
 * struct deadlines - an iothread's pending deadlines, an event source of it
 *
 * While the thread polls, due times are compared with the clock; while it sleeps, a
 * timerfd wakes it.
 */
struct deadlines {
	struct event_source source;
	struct deadline_slot *heap;	/* smallest first */
	unsigned int nr;
	unsigned int size;
	uint64_t timer_ns;		/* what the timerfd is set to, 0 for nothing */
	void (*expired)(struct deadlines *ds, struct deadline *d);
};

int deadlines_init(struct deadlines *ds,
		   void (*expired)(struct deadlines *ds, struct deadline *d));
void deadlines_destroy(struct deadlines *ds);
int deadlines_reserve(struct deadlines *ds, unsigned int more);
void deadlines_release(struct deadlines *ds, unsigned int fewer);
void deadlines_limit(struct deadlines *ds, uint64_t latest_ns);
void deadline_add(struct deadlines *ds, struct deadline *d);
void deadline_remove(struct deadlines *ds, struct deadline *d);

#endif
