/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef BASE_CROWD_H
#define BASE_CROWD_H

#include <stdbool.h>
#include <stdint.h>

/**
 * struct crowd - whether a polling thread has its CPU to itself
 * @crowded: others want to run here, so that it had better yield
 * @resting: so many that it had better sleep
 * @realtime: nobody of an ordinary policy runs here unless it sleeps
 * @began_ns: when crowd_look() was first called in this wait, 0 for not yet
 * @rest_ns: for how long, before it finds out by yielding whether it still has to
 * @rest_until_ns: when that is
 * @checked_ns: when @crowded was last looked into
 * @switches: how often the thread had been switched away from by then
 * @cpu_ns: CPU time it had had by then
 * @yields: times it gave way
 * @rests: times it was told to sleep instead
 *
 * A thread that polls for what another thread does, on a CPU that this one needs, waits
 * for a whole time slice. It finds out by being switched away from although it
 * never sleeps, and then lets others run instead of polling on. A real-time thread is not
 * switched away from: it lets others run when it has polled for long without success.
 */
struct crowd {
	bool crowded;
	bool resting;
	bool realtime;
	uint64_t began_ns;
	uint64_t rest_ns;
	uint64_t rest_until_ns;
	uint64_t checked_ns;
	uint64_t switches;
	uint64_t cpu_ns;
	uint64_t yields;
	uint64_t rests;
};

/* A wait begins. */
static inline void crowd_begin(struct crowd *c)
{
	c->began_ns = 0;
	/* The last one needed no sleep. */
	if (!c->resting)
		c->rest_ns /= 2;
}

bool crowd_look(struct crowd *c, uint64_t now_ns, bool may_rest);

#endif
