/* SPDX-License-Identifier: GPL-2.0-only */
/* rate: poll a source once its notifications come fast, until it has been idle: vhost, 2014 */

#include "targets/iothread/iothread.h"

/* The clock vhost counted by; here one of HZ=1000 */
#define JIFFY_NS	1000000

/* Its worker did without a clock of its own; this keeps what is read close enough to a jiffy. */
#define PASSES		64

static void init(struct poll_policy *p)
{
	p->idle_ns = p->config.stop_idle_ns;
	p->clock_every = PASSES;
	p->one_by_one = true;
}

/* vhost_worker(): work_this_jiffy against poll_start_rate */
static bool joins(struct poll_policy *p, struct event_source *s, uint64_t now_ns)
{
	uint64_t jiffy = now_ns / JIFFY_NS;

	/* Its own work items belong to no queue. */
	if (s->it && s == &s->it->wake)
		return false;
	if (s->jiffy != jiffy) {
		s->jiffy = jiffy;
		s->work = 0;
	}
	s->work++;
	return p->config.start_rate && s->work >= p->config.start_rate;
}

/* While anything is polled the worker goes on. */
static void changed(struct poll_policy *p, struct event_source *const *polled, unsigned int nr)
{
	(void)polled;
	p->window_ns = nr ? POLL_FOREVER : 0;
}

const struct poll_policy_ops poll_rate = {
	.init = init,
	.joins = joins,
	.changed = changed,
};
