/* SPDX-License-Identifier: GPL-2.0-only */
#include <sched.h>
#include <sys/resource.h>
#include "base/clock.h"
#include "base/crowd.h"

#define LOOK_NS		10000000

/*
 * The scheduler switches away from a thread that shares its CPU with other busy ones every few
 * ms of CPU time. Where it has the CPU to itself, kernel threads do that far less often.
 */
#define CPU_NS_PER_SWITCH	5000000

/*
 * A wait that lasts longer, on a CPU that others want, is no shorter for being polled: to sleep and
 * to be woken takes a quarter of it, and leaves the CPU to the thread that brings what is waited for.
 */
#define CROWDED_POLL_NS		20000

/* A short disturbance costs the first of these; while the contention lasts it becomes the last. */
#define REST_MIN_NS		1000000
#define REST_MAX_NS		80000000

/*
 * How long a real-time thread polls before it sleeps. What takes longer than that on another CPU
 * is little delayed by a wake-up; a thread that needs this CPU would otherwise never run.
 */
#define REALTIME_POLL_NS	1000000

static bool is_realtime(void)
{
	switch (sched_getscheduler(0) & ~SCHED_RESET_ON_FORK) {
	case SCHED_FIFO:
	case SCHED_RR:
	case SCHED_DEADLINE:
		return true;
	default:
		return false;
	}
}

static void look(struct crowd *c)
{
	struct rusage ru;
	uint64_t cpu_ns, switches;

	getrusage(RUSAGE_THREAD, &ru);
	cpu_ns = timeval_ns(&ru.ru_utime) + timeval_ns(&ru.ru_stime);
	switches = ru.ru_nivcsw + c->rests;
	c->realtime = is_realtime();
	c->crowded = !c->realtime && switches > c->switches &&
		     (switches - c->switches) * CPU_NS_PER_SWITCH >= cpu_ns - c->cpu_ns;
	c->switches = switches;
	c->cpu_ns = cpu_ns;
}

static void begin_rest(struct crowd *c, uint64_t now_ns)
{
	c->resting = true;
	c->rest_ns = c->rest_ns * 2 > REST_MIN_NS ? c->rest_ns * 2 : REST_MIN_NS;
	if (c->rest_ns > REST_MAX_NS)
		c->rest_ns = REST_MAX_NS;
	c->rest_until_ns = now_ns + c->rest_ns;
}

/* Let others run, and return when that was over. */
static uint64_t give_way(struct crowd *c)
{
	c->yields++;
	sched_yield();
	return clock_ns();
}

/* Whether to sleep, in this wait that has been polled too long or in a rest that has begun before */
static bool rests(struct crowd *c, uint64_t now_ns, uint64_t poll_ns)
{
	if (!c->resting && now_ns - c->began_ns >= poll_ns)
		begin_rest(c, now_ns);
	c->rests += c->resting;
	return c->resting;
}

/**
 * crowd_look - a polling thread has found nothing for a while: let others run if there are any
 * @c: the thread's, zeroed in the beginning
 * @now_ns: clock_ns()
 * @may_rest: the thread can sleep until what it waits for is there
 *
 * Call it every few microseconds of polling without success when @c->crowded, and now and
 * then when not. A yield that lets another thread run counts as being switched away from, so the
 * same figure tells when the others have gone.
 *
 * A thread that yields keeps its share of the CPU, and one that has nobody to yield to keeps the
 * CPU from the thread that is woken next: of a hundred of them, the one that all the others wait for gets a
 * hundredth. So a thread that may sleep does in a wait that lasts, and for a while from the beginning of
 * each. So does one of a real-time policy, later, as it keeps all of the CPU whatever it yields.
 * One that may not sleep needs a CPU of its own there.
 *
 * Return: whether to sleep; never without @may_rest.
 */
bool crowd_look(struct crowd *c, uint64_t now_ns, bool may_rest)
{
	if (now_ns - c->checked_ns >= LOOK_NS) {
		look(c);
		c->checked_ns = now_ns;
	}
	if (!(c->crowded || c->realtime) || now_ns >= c->rest_until_ns)
		c->resting = false;
	if (!(c->crowded || c->realtime))
		return false;
	if (!c->began_ns)
		c->began_ns = now_ns;
	if (c->crowded && !c->resting)
		now_ns = give_way(c);
	return may_rest && rests(c, now_ns, c->realtime ? REALTIME_POLL_NS : CROWDED_POLL_NS);
}
