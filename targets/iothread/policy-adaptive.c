/* SPDX-License-Identifier: GPL-2.0-only */
/* adaptive: one window a thread, as in QEMU 2.9 to 9.x */

#include "targets/iothread/iothread.h"

static void init(struct poll_policy *p)
{
	p->clocked = true;
}

static void learn(struct poll_policy *p, struct event_source *const *polled, unsigned int nr,
		  uint64_t waited_ns)
{
	const struct poll_window rule = {
		.max_ns = p->config.max_ns, .grow = p->config.grow, .shrink = p->config.shrink,
	};

	(void)polled;
	(void)nr;
	p->window_ns = poll_window_after(&rule, p->window_ns, waited_ns);
}

const struct poll_policy_ops poll_adaptive = {
	.init = init,
	.at_once = poll_source_at_once,
	.learn = learn,
};
