/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef TARGETS_LANE_H
#define TARGETS_LANE_H

#include "base/alloc.h"
#include "targets/backend/channel.h"
#include "targets/device/signaller.h"

/**
 * struct lane - an iothread and its channel: what serves virtqueues and connections
 * @it: the thread
 * @channel: its way to the backends
 * @signaller: its way to call drivers who may keep it; opened when it is first needed
 */
struct lane {
	struct iothread it;
	struct channel channel;
	struct signaller signaller;
} __attribute__((aligned(THREAD_ALIGN)));

int lane_start(struct lane *l, unsigned int index, const cpu_set_t *cpus,
	       const struct poll_policy *policy, const struct channel_config *config);
void lane_hurry(struct lane *l, uint64_t until_ns);
void lane_stop(struct lane *l);

#endif
