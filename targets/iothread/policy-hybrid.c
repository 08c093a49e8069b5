/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * hybrid: sleep for the part of a wait that waits have always lasted, then poll for the rest
 * (base/wait-forecast.c)
 *
 * Waits with requests in flight are for the device, those without for the driver, so each
 * kind has a histogram of its own. The sleep is armed: work that comes early ends it.
 */

#include "targets/iothread/iothread.h"

static void init(struct poll_policy *p)
{
	p->clocked = true;
	p->late_ns = FORECAST_LATE_NS;
	for (int i = 0; i < 2; i++)
		p->waits[i].window_ns = p->config.max_ns;
	p->window_ns = p->config.max_ns;
}

static void begin(struct poll_policy *p, unsigned int in_flight)
{
	p->waiting = &p->waits[in_flight > 0];
	p->window_ns = p->waiting->window_ns;
	p->sleep_ns = p->waiting->sleep_ns;
}

static void learn(struct poll_policy *p, struct event_source *const *polled, unsigned int nr,
		  uint64_t waited_ns)
{
	(void)polled;
	(void)nr;
	wait_forecast_learn(p->waiting, waited_ns, p->config.max_ns, p->late_ns);
}

const struct poll_policy_ops poll_hybrid = {
	.init = init,
	.at_once = poll_source_at_once,
	.begin = begin,
	.learn = learn,
};
