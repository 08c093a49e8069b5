/* SPDX-License-Identifier: GPL-2.0-only */
/* per-source: each source has a window, and the thread polls for the longest, as in QEMU 10.0 */

#include "targets/iothread/iothread.h"

static void init(struct poll_policy *p)
{
	p->clocked = true;
	p->idle_ns = POLL_QEMU_IDLE_NS;
}

static void changed(struct poll_policy *p, struct event_source *const *polled, unsigned int nr)
{
	uint64_t min = UINT64_MAX, max = 0;

	for (unsigned int i = 0; i < nr; i++) {
		if (polled[i]->window_ns < min)
			min = polled[i]->window_ns;
		if (polled[i]->window_ns > max)
			max = polled[i]->window_ns;
	}
	p->source_min_ns = nr ? min : 0;
	p->source_max_ns = max;
	p->window_ns = max;
}

/* aio_dispatch_ready_handlers(): what ended the wait learns from it, and nobody else */
static void learn(struct poll_policy *p, struct event_source *const *polled, unsigned int nr,
		  uint64_t waited_ns)
{
	const struct poll_window rule = {
		.max_ns = p->config.max_ns, .grow = p->config.grow, .shrink = p->config.shrink,
	};
	bool other = false;

	for (unsigned int i = 0; i < nr; i++) {
		struct event_source *s = polled[i];
		uint64_t ns;

		if (!s->ready)
			continue;
		ns = poll_window_after(&rule, s->window_ns, waited_ns);
		if (ns != s->window_ns) {
			s->window_ns = ns;
			other = true;
		}
	}
	if (other)
		changed(p, polled, nr);
}

const struct poll_policy_ops poll_per_source = {
	.init = init,
	.joins = poll_source_joins,
	.changed = changed,
	.learn = learn,
};
