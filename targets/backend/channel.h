/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef TARGETS_BACKEND_CHANNEL_H
#define TARGETS_BACKEND_CHANNEL_H

#include <stddef.h>
#include "base/hist.h"
#include "targets/backend/backend.h"
#include "targets/iothread/iothread.h"
#include "wire/trace-probe.h"

/* At the end of a target or a connection, service times are waited for this long, in ns. */
#define CHANNEL_PATIENCE_NS	UINT64_C(2000000000)

/**
 * struct aio_ops - how requests get from the iothread to the backend and back
 * @name: what --aio calls it
 * @open: get ready, in the channel's iothread; may keep what it needs in channel->aio_state
 * @close: undo open, in the iothread, with nothing in flight
 * @submit: start a request, never blocking; channel_finish() is called for it later, in the
 *	iothread, not from inside this call
 */
struct aio_ops {
	const char *name;
	int (*open)(struct channel *c);
	void (*close)(struct channel *c);
	void (*submit)(struct channel *c, struct blk_request *r);
};

extern const struct aio_ops threads_aio;	/* the thread pool runs backend_ops.execute */
extern const struct aio_ops native_aio;		/* libaio; file backend only */
extern const struct aio_ops io_uring_aio;	/* file backend only */

/**
 * struct uring_config - how --aio io_uring uses its ring
 * @iopoll: poll the device for completions
 * @hybrid: and have the kernel sleep for half of the usual service time before
 * @sqpoll: a kernel thread polls for submissions
 * @sqpoll_idle_ms: for so long without any
 */
struct uring_config {
	bool iopoll;
	bool hybrid;
	bool sqpoll;
	unsigned int sqpoll_idle_ms;
};

/**
 * struct channel_config - what the channels of all iothreads have in common
 * @aio: how requests reach the backend; NULL for backend_ops.execute in the iothread
 * @uring: of io_uring_aio
 * @pool: of the thread pool, for what needs one
 * @model: what the emulated device does beside answering
 * @wakeup_cost_ns: CPU time to burn when the sleeping iothread is woken
 * @trace: to write down what happens to requests, or NULL
 */
struct channel_config {
	const struct aio_ops *aio;
	struct uring_config uring;
	struct pool_config pool;
	struct model_config model;
	uint64_t wakeup_cost_ns;
	struct trace *trace;
};

/**
 * struct channel_stats - what an iothread counts about requests
 *
 * Written by its thread, read by any.
 */
struct channel_stats {
	counter_t requests[REQ_KINDS];
	counter_t bytes[REQ_KINDS];
	counter_t errors;
	struct hist batch;		/* requests taken from a queue at once */
	struct hist service_ns;		/* taken to returned, of requests not done at once */
};

/**
 * struct channel - an iothread's way to the backends: every request passes it
 * @submit: channel_submit(): the shortest way that @config allows
 * @start: of a request that takes a longer one, the last step: to carry it out or hand it on
 * @it: the iothread; everything here is its own
 * @config: as given
 * @model: the emulated device, NULL for one that only answers
 * @stats: figures
 * @trace: the iothread's part of the trace, NULL without
 * @aio_state: aio_ops' own
 * @pool: the iothread's thread pool, valid with @has_pool; use channel_pool()
 * @latest_ns: when no slice is carried out any more, as the target ends
 * @turn_bytes: asked for since channel_turn()
 * @slices: requests whose next slice the iothread has to carry out; a source while there are any
 * @first_slice, @last_slice: these
 *
 * What SPDK calls an I/O channel: a thread's own access to a device.
 */
struct channel {
	bool (*submit)(struct channel *c, struct blk_request *r);
	bool (*start)(struct channel *c, struct blk_request *r);
	uint64_t turn_bytes;
	struct iothread *it;
	struct channel_config config;
	struct device_model *model;
	struct trace_ring *trace;
	void *aio_state;
	struct pool pool;
	atomic_bool has_pool;
	uint64_t latest_ns;
	struct event_source slices;
	struct blk_request *first_slice;
	struct blk_request **last_slice;
	struct channel_stats stats;
} __attribute__((aligned(THREAD_ALIGN)));

/* It is a client's turn: what it asks for from here on is counted. */
static inline void channel_turn(struct channel *c)
{
	c->turn_bytes = 0;
}

/* Whether it has had it. */
static inline bool channel_turn_is_over(const struct channel *c)
{
	return c->turn_bytes >= SLICE_BYTES;
}

/**
 * channel_submit - start a request
 * @c: the channel, with room for it reserved; called in its iothread
 * @r: the request
 *
 * Return: true when it is done, @r->result is set and @r->done will not be called; false
 * when that will be called later, never from inside this call.
 */
static inline bool channel_submit(struct channel *c, struct blk_request *r)
{
	bool done;

	PROBE5(started, IN_REG(r), IN_MEM(r->kind), IN_MEM(r->offset), IN_MEM(r->len),
	       IN_REG(offsetof(struct blk_request, work)));
	c->turn_bytes += r->len;
	done = c->submit(c, r);
	if (!done)
		c->it->in_flight++;
	return done;
}

int channel_open(struct channel *c, struct iothread *it, const struct channel_config *config);
void channel_close(struct channel *c);
int channel_start(struct iothread *it, const struct channel_config *config);
void channel_stop(struct iothread *it);
int channel_reserve(struct channel *c, unsigned int more);
void channel_release(struct channel *c, unsigned int fewer);
struct pool *channel_pool(struct channel *c);
void channel_finish(struct channel *c, struct blk_request *r, int result);
void channel_hurry(struct channel *c, struct blk_request *r, uint64_t until_ns);
void channel_hurry_all(struct iothread *it, uint64_t until_ns);
void channel_stats_json(struct json *w, struct iothread *it);
bool channel_cancel(struct channel *c, struct blk_request *r);

#endif
