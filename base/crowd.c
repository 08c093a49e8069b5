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

/* A yield that took longer has let somebody run: the call alone is far shorter. */
#define YIELD_NS		1500

/* Others that ran for so long without bringing what is waited for are too many to yield to. */
#define GIVEN_MAX_NS		20000

/* Somebody who passes by costs the first of these, a crowd soon the last. */
#define REST_MIN_NS		1000000
#define REST_MAX_NS		80000000

/*
 * How long a real-time thread polls before it sleeps. What takes longer than that on another CPU
 * is little delayed by a wake-up; what waits for this CPU would else wait for ever.
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

static void give_way(struct crowd *c, uint64_t now_ns)
{
	uint64_t took;

	c->yields++;
	sched_yield();
	took = clock_ns() - now_ns;
	if (took > YIELD_NS)
		c->given_ns += took;
}

static void begin_rest(struct crowd *c, uint64_t now_ns)
{
	c->resting = true;
	c->rest_ns = c->rest_ns * 2 > REST_MIN_NS ? c->rest_ns * 2 : REST_MIN_NS;
	if (c->rest_ns > REST_MAX_NS)
		c->rest_ns = REST_MAX_NS;
	c->rest_until_ns = now_ns + c->rest_ns;
}

static bool look_realtime(struct crowd *c, uint64_t now_ns)
{
	if (!c->resting) {
		if (!c->began_ns)
			c->began_ns = now_ns;
		if (now_ns - c->began_ns < REALTIME_POLL_NS)
			return false;
		begin_rest(c, now_ns);
	}
	c->rests++;
	return true;
}

/**
 * crowd_look - a polling thread has found nothing for a while: let others run if there are any
 * @c: the thread's, zeroed in the beginning
 * @now_ns: clock_ns()
 * @may_rest: the thread can sleep until what it waits for is there
 *
 * To be called every few microseconds of polling in vain when @c->crowded, and now and
 * then when not. A yield that lets somebody run counts as being switched away from, so the
 * same figure tells when the others have gone.
 *
 * A thread that yields keeps its share of the CPU: of a hundred of them, the one that all the
 * others wait for gets a hundredth. So beyond a few, whoever may sleep must. One of a real-time
 * policy keeps all of the CPU, whatever it yields, so it sleeps in every wait that takes long,
 * and for a while from the beginning of each. One that may not sleep needs a CPU of its own.
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
	if (c->realtime)
		return may_rest && look_realtime(c, now_ns);
	if (!c->crowded)
		return false;
	if (!c->resting) {
		give_way(c, now_ns);
		if (may_rest && c->given_ns > GIVEN_MAX_NS)
			begin_rest(c, now_ns);
	}
	c->rests += c->resting;
	return c->resting;
}
