/* SPDX-License-Identifier: GPL-2.0-only */
#include "targets/lane.h"

struct open_call {
	struct lane *lane;
	const struct channel_config *config;
	int ret;
};

static void open_in_thread(void *arg)
{
	struct open_call *call = arg;
	struct lane *l = call->lane;

	call->ret = channel_open(&l->channel, &l->it, call->config);
}

static void close_in_thread(void *arg)
{
	channel_close(arg);
}

/**
 * lane_start - start an iothread with a channel
 * @l: filled in; must stay where it is
 * @index: names it iothread@index and seeds its draws
 * @cpus: CPUs to run on; an empty set for any
 * @policy: its poll policy, copied
 * @config: of its channel, copied
 *
 * Return: 0 or a negative errno, reported.
 */
int lane_start(struct lane *l, unsigned int index, const cpu_set_t *cpus,
	       const struct poll_policy *policy, const struct channel_config *config)
{
	struct open_call call = { .lane = l, .config = config };
	int ret = iothread_start(&l->it, index, cpus, policy);

	if (ret)
		return ret;
	signaller_init(&l->signaller);
	iothread_call(&l->it, open_in_thread, &call);
	if (call.ret) {
		iothread_stop(&l->it);
		signaller_destroy(&l->signaller);
	}
	return call.ret;
}

struct hurry_call {
	struct channel *channel;
	uint64_t until_ns;
};

static void hurry_in_thread(void *arg)
{
	const struct hurry_call *call = arg;

	channel_hurry_all(call->channel, call->until_ns);
}

/**
 * lane_hurry - let no service time keep the target from its end
 * @l: the lane
 * @until_ns: when those of all requests are over, by clock_ns()
 */
void lane_hurry(struct lane *l, uint64_t until_ns)
{
	struct hurry_call call = { .channel = &l->channel, .until_ns = until_ns };

	iothread_call(&l->it, hurry_in_thread, &call);
}

/**
 * lane_stop - end an iothread that serves nothing any more
 * @l: the lane
 */
void lane_stop(struct lane *l)
{
	iothread_call(&l->it, close_in_thread, &l->channel);
	iothread_stop(&l->it);
	signaller_destroy(&l->signaller);
}
