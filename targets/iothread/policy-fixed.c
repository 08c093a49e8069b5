/* SPDX-License-Identifier: GPL-2.0-only */
/* The policies that learn nothing: off, busy, fixed, fixed-1024 */

#include "targets/iothread/iothread.h"

static void off_init(struct poll_policy *p)
{
	/* Beside system calls a look at the clock is cheap, and statistics have waits then. */
	p->clocked = true;
}

const struct poll_policy_ops poll_off = {
	.init = off_init,
};

static void busy_init(struct poll_policy *p)
{
	p->window_ns = POLL_FOREVER;
}

const struct poll_policy_ops poll_busy = {
	.init = busy_init,
	.at_once = poll_source_at_once,
};

static void fixed_init(struct poll_policy *p)
{
	p->window_ns = p->config.max_ns;
	p->clocked = true;
}

/* run_poll_handlers() of QEMU's merged patches of 2016, before windows adapted */
const struct poll_policy_ops poll_fixed = {
	.init = fixed_init,
	.at_once = poll_source_at_once,
};

/* The first version of these patches had a hard-coded number of passes between clock reads. */
#define PASSES	1024

static void fixed_1024_init(struct poll_policy *p)
{
	fixed_init(p);
	p->clock_every = PASSES;
	p->deaf = true;
}

static bool had_poll_handler(const struct event_source *s)
{
	return !s->ops->no_poll_handler;
}

const struct poll_policy_ops poll_fixed_1024 = {
	.init = fixed_1024_init,
	.at_once = had_poll_handler,
};
