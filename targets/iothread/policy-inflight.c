/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * inflight: poll while requests are in flight, sleep when there are none, as was proposed for
 * QEMU in 2019: work is sure to come then, and idle disks cost nothing
 */

#include "targets/iothread/iothread.h"

static void init(struct poll_policy *p)
{
	p->clocked = true;
}

static void begin(struct poll_policy *p, unsigned int in_flight)
{
	p->window_ns = in_flight ? POLL_FOREVER : 0;
}

const struct poll_policy_ops poll_inflight = {
	.init = init,
	.at_once = poll_source_at_once,
	.begin = begin,
};
