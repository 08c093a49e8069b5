/* SPDX-License-Identifier: GPL-2.0-only */
#include <sched.h>
#include <sys/resource.h>
#include "base/clock.h"
#include "base/crowd.h"

#define LOOK_NS		10000000

/*
 * A thread that shares its CPU with other busy ones is switched away from for every few ms of
 * CPU time that it gets. Where it has the CPU to itself, kernel threads do that far less often.
 */
#define CPU_NS_PER_SWITCH	5000000

static void look(struct crowd *c)
{
	struct rusage ru;
	uint64_t cpu_ns, switches;

	getrusage(RUSAGE_THREAD, &ru);
	cpu_ns = timeval_ns(&ru.ru_utime) + timeval_ns(&ru.ru_stime);
	switches = ru.ru_nivcsw;
	c->crowded = switches > c->switches &&
		     (switches - c->switches) * CPU_NS_PER_SWITCH >= cpu_ns - c->cpu_ns;
	c->switches = switches;
	c->cpu_ns = cpu_ns;
}

/**
 * crowd_look - a polling thread has found nothing for a while: let others run if there are any
 * @c: the thread's, zeroed in the beginning
 * @now_ns: clock_ns()
 *
 * To be called every few microseconds of polling in vain when @c->crowded, and now and
 * then when not. A yield that lets somebody run counts as being switched away from, so the
 * same figure tells when the others have gone.
 */
void crowd_look(struct crowd *c, uint64_t now_ns)
{
	if (now_ns - c->checked_ns >= LOOK_NS) {
		look(c);
		c->checked_ns = now_ns;
	}
	if (c->crowded) {
		c->yields++;
		sched_yield();
	}
}
