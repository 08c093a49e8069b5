/* SPDX-License-Identifier: GPL-2.0-only */
#include <stddef.h>
#include "targets/iothread/poll-policy.h"

#define LIST_OPS(name, what, mode, ops)	[mode] = &ops,
static const struct poll_policy_ops *const policies[] = { POLL_POLICIES(LIST_OPS) };
#undef LIST_OPS

#define LIST_NAME(name, what, mode, ops)	[mode] = name,
const char *const poll_names[] = { POLL_POLICIES(LIST_NAME) NULL };
#undef LIST_NAME

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
	p->begins = p->ops->begin;
	p->learns = p->ops->learn;
	if (p->ops->init)
		p->ops->init(p);
}
