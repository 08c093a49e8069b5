/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef TARGETS_BACKEND_CHANNEL_H
#define TARGETS_BACKEND_CHANNEL_H

#include "base/rng.h"
#include "targets/backend/backend.h"
#include "targets/backend/delay.h"
#include "targets/iothread/iothread.h"

/* Whoever asked for the end of things waits so long for service times that are not over, in ns. */
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
 * struct channel_config - what the channels of all iothreads have in common
 * @aio: how requests reach the backend; NULL for backend_ops.execute in the iothread
 * @pool: of the thread pool, for what needs one
 * @delay: service time of the emulated device
 * @request_cost_ns: CPU time to burn for a request
 * @wakeup_cost_ns: CPU time to burn when the sleeping iothread is woken
 * @extra_notify: eventfd writes for each request that wake nobody
 * @throttle: backends may have throttles, so that a request can have to wait
 * @error_rate: part of the requests that is answered with -EIO, 0 to 1
 * @fail_after: requests to answer before all others fail with -EIO; 0 for none
 * @trace: to write down what happens to requests, or NULL
 */
struct channel_config {
	const struct aio_ops *aio;
	struct pool_config pool;
	struct delay delay;
	uint64_t request_cost_ns;
	uint64_t wakeup_cost_ns;
	unsigned int extra_notify;
	bool throttle;
	double error_rate;
	uint64_t fail_after;
	struct trace *trace;
};

/**
 * struct channel - an iothread's way to the backends: every request passes it
 * @it: the iothread; everything here is its own
 * @config: as given
 * @aio_state: aio_ops' own
 * @pool: the iothread's thread pool, valid with @has_pool; use channel_pool()
 * @deadlines: requests that wait for their service time to be over
 * @extra_fd: the eventfd of @config.extra_notify, -1 without
 * @latest_ns: when all service times are over, as the target ends
 * @simple: nothing but the backend stands between a request and its end
 * @trace: the iothread's part of the trace, NULL without
 * @rng: source of draws
 * @turn_bytes: asked for since channel_turn()
 * @slices: requests whose next slice the iothread has to carry out; a source while there are any
 * @first_slice, @last_slice: these
 * @answered: requests that were not failed on purpose because of @config.fail_after
 */
struct channel {
	struct iothread *it;
	struct channel_config config;
	void *aio_state;
	struct pool pool;
	atomic_bool has_pool;
	struct deadlines deadlines;
	int extra_fd;
	uint64_t latest_ns;
	bool simple;
	struct trace_ring *trace;
	struct rng rng;
	uint64_t answered;
	uint64_t turn_bytes;
	struct event_source slices;
	struct blk_request *first_slice;
	struct blk_request **last_slice;
};

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

int channel_open(struct channel *c, struct iothread *it, const struct channel_config *config);
void channel_close(struct channel *c);
int channel_reserve(struct channel *c, unsigned int more);
void channel_release(struct channel *c, unsigned int fewer);
struct pool *channel_pool(struct channel *c);
bool channel_submit(struct channel *c, struct blk_request *r);
void channel_finish(struct channel *c, struct blk_request *r, int result);
void channel_hurry(struct channel *c, struct blk_request *r, uint64_t until_ns);
void channel_hurry_all(struct channel *c, uint64_t until_ns);
bool channel_cancel(struct channel *c, struct blk_request *r);

#endif
