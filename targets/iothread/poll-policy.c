/* SPDX-License-Identifier: GPL-2.0-only */
#include "targets/iothread/poll-policy.h"

/**
 * poll_policy_init - set a policy up
 * @p: the policy
 * @mode: which
 * @max_ns: window of POLL_FIXED, longest window of POLL_ADAPTIVE, in ns; 0 turns either off
 * @grow: POLL_ADAPTIVE's growth factor; 0 means 2
 * @shrink: POLL_ADAPTIVE's divisor; 0 means that the window goes back to 0
 */
void poll_policy_init(struct poll_policy *p, enum poll_mode mode, uint64_t max_ns,
		      uint64_t grow, uint64_t shrink)
{
	*p = (struct poll_policy) {
		.mode = mode,
		.window = { .max_ns = max_ns, .grow = grow, .shrink = shrink },
	};
	switch (mode) {
	case POLL_BUSY:
		p->window.ns = POLL_FOREVER;
		break;
	case POLL_FIXED:
		p->window.ns = max_ns;
		break;
	case POLL_OFF:
	case POLL_ADAPTIVE:
		break;
	}
}
