/* SPDX-License-Identifier: GPL-2.0-only */
#include "targets/iothread/poll-policy.h"

static const struct poll_policy_ops *const policies[] = {
	[POLL_OFF]		= &poll_off,
	[POLL_BUSY]		= &poll_busy,
	[POLL_FIXED]		= &poll_fixed,
	[POLL_FIXED_1024]	= &poll_fixed_1024,
	[POLL_ADAPTIVE]		= &poll_adaptive,
	[POLL_PER_SOURCE]	= &poll_per_source,
	[POLL_WEIGHTED]		= &poll_weighted,
	[POLL_RATE]		= &poll_rate,
};

/**
 * poll_policy_init - set a policy up
 * @p: the policy
 * @config: which one, and its settings
 */
void poll_policy_init(struct poll_policy *p, const struct poll_config *config)
{
	/* With no window there is nothing to learn and nobody to poll. */
	bool off = !config->max_ns && config->mode != POLL_BUSY;

	*p = (struct poll_policy) {
		.ops = off ? &poll_off : policies[config->mode],
		.config = *config,
		.clock_every = 1,
	};
	p->learns = p->ops->learn;
	if (p->ops->init)
		p->ops->init(p);
}

/* For policies that poll whatever there is */
bool poll_source_at_once(const struct event_source *s)
{
	(void)s;
	return true;
}

/* For policies that poll whatever has had work lately */
bool poll_source_joins(struct poll_policy *p, struct event_source *s, uint64_t now_ns)
{
	(void)p;
	(void)s;
	(void)now_ns;
	return true;
}
