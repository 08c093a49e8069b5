/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * weighted: the thread's window follows the smoothed intervals of the sources that are active,
 * as in QEMU since commit 9563d0b5e2d2 (2026)
 */

#include "targets/iothread/iothread.h"

#define OWN_GROW	2
#define OWN_SHRINK	2
#define OWN_WEIGHT	3

/* aio_context_set_poll_params() */
static void init(struct poll_policy *p)
{
	struct poll_config *c = &p->config;

	c->grow = c->grow ? c->grow : OWN_GROW;
	c->shrink = c->shrink ? c->shrink : OWN_SHRINK;
	c->weight = c->weight ? c->weight : OWN_WEIGHT;
	p->clocked = true;
	p->idle_ns = POLL_QEMU_IDLE_NS;
}

/* The interval of a source that had work: smoothed, and forgotten when it is too long to poll */
static uint64_t smooth(const struct poll_config *c, uint64_t ns, uint64_t waited_ns)
{
	ns = ns ? ns - (ns >> c->weight) + (waited_ns >> c->weight) : waited_ns;
	return ns > c->max_ns ? 0 : ns;
}

/* The interval of one that had none goes on; 0 until it has work again once it is too long. */
static uint64_t age(const struct poll_config *c, uint64_t ns, uint64_t waited_ns)
{
	if (!ns)
		return 0;
	ns += waited_ns;
	return ns > c->max_ns ? 0 : ns;
}

/* Grows at once to what is needed, shrinks a step at a time and not for a small difference. */
static void follow(struct poll_policy *p, uint64_t longest_ns)
{
	const struct poll_config *c = &p->config;
	uint64_t ns = p->window_ns;

	if (longest_ns > ns) {
		ns = ns <= c->max_ns / c->grow ? ns * c->grow : c->max_ns;
		p->window_ns = ns > longest_ns ? ns : longest_ns;
	} else if (longest_ns < ns / c->shrink) {
		p->window_ns = ns / c->shrink;
	}
}

/* update_handler_poll_times() */
static void learn(struct poll_policy *p, struct event_source *const *polled, unsigned int nr,
		  uint64_t waited_ns)
{
	uint64_t longest = 0, min = UINT64_MAX, max = 0;
	bool any = false;

	for (unsigned int i = 0; i < nr; i++) {
		struct event_source *s = polled[i];

		if (s->ready) {
			s->window_ns = smooth(&p->config, s->window_ns, waited_ns);
			if (s->window_ns > longest)
				longest = s->window_ns;
			any = true;
		} else {
			s->window_ns = age(&p->config, s->window_ns, waited_ns);
		}
		if (s->window_ns < min)
			min = s->window_ns;
		if (s->window_ns > max)
			max = s->window_ns;
	}
	p->source_min_ns = nr ? min : 0;
	p->source_max_ns = max;
	if (any)
		follow(p, longest);
}

const struct poll_policy_ops poll_weighted = {
	.init = init,
	.joins = poll_source_joins,
	.learn = learn,
};
