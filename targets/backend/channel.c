/* SPDX-License-Identifier: GPL-2.0-only */
#include <errno.h>
#include <string.h>
#include "base/clock.h"
#include "base/container.h"
#include "base/cpu.h"
#include "base/json.h"
#include "targets/backend/channel.h"
#include "targets/options.h"

/* Those that take longer the longer they are; the others end in one piece. */
static bool has_slices(const struct blk_request *r)
{
	return r->kind == REQ_READ || r->kind == REQ_WRITE || r->kind == REQ_DISCARD ||
	       r->kind == REQ_WRITE_ZEROES;
}

/* One without data of its own may wait whatever its size, where a turn's worth was done. */
static bool takes_too_long(const struct channel *c, const struct blk_request *r)
{
	bool has_data = r->kind == REQ_READ || r->kind == REQ_WRITE;

	return has_slices(r) && (r->len > SLICE_BYTES || (!has_data && c->turn_bytes > SLICE_BYTES));
}

static void add_slice(struct channel *c, struct blk_request *r)
{
	r->slice.next = NULL;
	r->slice.waits = true;
	*c->last_slice = r;
	c->last_slice = &r->slice.next;
}

/* Returns false when no source can be had any more: then it has to be done in one piece. */
static bool begin_slices(struct channel *c, struct blk_request *r)
{
	if (!c->first_slice && iothread_add_source(c->it, &c->slices))
		return false;
	r->channel = c;
	slice_first(r, SLICE_BYTES);
	add_slice(c, r);
	return true;
}

static void count_and_end(struct blk_request *r)
{
	r->channel->it->in_flight--;
	hist_add(&r->channel->stats.service_ns, clock_ns() - r->taken_ns);
	r->done(r);
}

/* A request has been carried out, by whatever way. */
static void carried_out(struct channel *c, struct blk_request *r)
{
	if (!c->model || !model_holds(c->model, r))
		count_and_end(r);
}

static bool slices_poll(struct event_source *s, uint64_t now)
{
	(void)s;
	(void)now;
	return true;
}

static bool slices_arm(struct event_source *s)
{
	(void)s;
	return true;
}

static void slices_disarm(struct event_source *s)
{
	(void)s;
}

/* One slice of one request, then it is the next one's turn. */
static void slices_dispatch(struct event_source *s)
{
	struct channel *c = container_of(s, struct channel, slices);
	struct blk_request *r = c->first_slice;

	c->first_slice = r->slice.next;
	if (!c->first_slice)
		c->last_slice = &c->first_slice;
	r->slice.waits = false;
	channel_turn(c);
	/* At the end of the target as long as service times are waited for, see channel_hurry_all() */
	if (unlikely(clock_ns() > c->latest_ns))
		r->result = -ESHUTDOWN;
	else
		r->result = r->backend->ops->execute(r->backend, r);
	if (!r->result && slice_next(r, SLICE_BYTES))
		add_slice(c, r);
	/* Before its end, which may bring new ones */
	if (!c->first_slice)
		iothread_remove_source(c->it, s);
	if (!r->slice.waits) {
		slice_end(r);
		carried_out(c, r);
	}
}

static const struct event_source_ops slices_ops = {
	.poll = slices_poll,
	.arm = slices_arm,
	.disarm = slices_disarm,
	.dispatch = slices_dispatch,
};

static void cancel_slices(struct channel *c, struct blk_request *r)
{
	struct blk_request **p;

	for (p = &c->first_slice; *p != r; p = &(*p)->slice.next)
		;
	*p = r->slice.next;
	if (c->last_slice == &r->slice.next)
		c->last_slice = p;
	r->slice.waits = false;
	slice_end(r);
	if (!c->first_slice)
		iothread_remove_source(c->it, &c->slices);
}

/* In the iothread, with nothing between a request and the backend */
static bool submit_inline(struct channel *c, struct blk_request *r)
{
	/* A length is in it, too. */
	if (unlikely(c->turn_bytes > SLICE_BYTES) && takes_too_long(c, r)) {
		r->taken_ns = clock_ns();
		if (begin_slices(c, r))
			return false;
	}
	r->result = r->backend->ops->execute(r->backend, r);
	return true;
}

static bool start_inline(struct channel *c, struct blk_request *r)
{
	if (unlikely(takes_too_long(c, r)) && begin_slices(c, r))
		return false;
	r->result = r->backend->ops->execute(r->backend, r);
	return true;
}

static bool start_aio(struct channel *c, struct blk_request *r)
{
	r->slice.whole = 0;
	if (unlikely(r->len > SLICE_AIO_BYTES && has_slices(r)))
		slice_first(r, SLICE_AIO_BYTES);
	if (unlikely(r->carry))
		r->carry(r);
	else
		c->config.aio->submit(c, r);
	return false;
}

static bool submit_aio(struct channel *c, struct blk_request *r)
{
	r->channel = c;
	r->taken_ns = clock_ns();
	return start_aio(c, r);
}

/* Every kind of request that moves data or changes it has a name in both. */
static void note_start(struct channel *c, const struct blk_request *r)
{
	trace_put(c->trace, (struct trace_record) {
		.event = TRACE_START,
		.kind = r->kind <= REQ_WRITE_ZEROES ? (int)r->kind : TRACE_OTHER,
		.tag = r->work.name.tag,
		.queue = r->work.name.queue,
		.offset = r->offset,
		.bytes = r->len,
	});
}

_Static_assert((int)REQ_READ == TRACE_READ && (int)REQ_WRITE == TRACE_WRITE &&
	       (int)REQ_FLUSH == TRACE_FLUSH && (int)REQ_DISCARD == TRACE_DISCARD &&
	       (int)REQ_WRITE_ZEROES == TRACE_WRITE_ZEROES, "kinds of a trace");

static bool submit_traced(struct channel *c, struct blk_request *r)
{
	r->channel = c;
	note_start(c, r);
	r->taken_ns = clock_ns();
	return c->start(c, r);
}

/* Through the emulated device, with a trace or without */
static bool submit_modelled(struct channel *c, struct blk_request *r)
{
	r->channel = c;
	model_charge(c->model);
	/* What a request costs is the way to the backend, as a block layer is. */
	if (c->trace)
		note_start(c, r);
	r->taken_ns = clock_ns();
	if (!model_accepts(c->model, r))
		r->result = -EIO;
	else if (!c->start(c, r))
		return false;
	return !model_holds(c->model, r);
}

/**
 * channel_finish - a request has been carried out
 * @c: the channel; called in its iothread by aio_ops
 * @r: the request
 * @result: 0 or a negative errno
 */
void channel_finish(struct channel *c, struct blk_request *r, int result)
{
	if (unlikely(r->slice.whole)) {
		if (!result && slice_next(r, SLICE_AIO_BYTES)) {
			c->config.aio->submit(c, r);
			return;
		}
		slice_end(r);
	}
	r->result = result;
	carried_out(c, r);
}

/**
 * channel_cancel - drop a request whose submitter is gone
 * @c: the channel; called in its iothread
 * @r: the request, not done yet
 *
 * Return: true when it only waited for its turn or its service time and will not be done; false
 * when its memory is still in use, so that it must be waited for, but not for its service time.
 */
bool channel_cancel(struct channel *c, struct blk_request *r)
{
	if (r->slice.waits) {
		cancel_slices(c, r);
	} else if (!c->model || !model_cancel(c->model, r)) {
		slice_stop(r);
		return false;
	}
	c->it->in_flight--;
	return true;
}

/**
 * channel_hurry - wait no longer than that for a request's service time
 * @c: the channel; called in its iothread
 * @r: the request, not done yet
 * @until_ns: when it is done at the latest, by clock_ns(), unless its I/O takes longer
 */
void channel_hurry(struct channel *c, struct blk_request *r, uint64_t until_ns)
{
	if (c->model)
		model_hurry(c->model, r, until_ns);
}

struct hurry_call {
	struct channel *channel;
	uint64_t until_ns;
};

static void hurry_in_thread(void *arg)
{
	const struct hurry_call *call = arg;
	struct channel *c = call->channel;

	c->latest_ns = call->until_ns;
	if (c->model)
		model_hurry_all(c->model, call->until_ns);
}

/**
 * channel_hurry_all - let no service time keep the target from its end
 * @it: the iothread; never the calling one
 * @until_ns: when those of all requests, and of those to come, are over, by clock_ns()
 */
void channel_hurry_all(struct iothread *it, uint64_t until_ns)
{
	struct hurry_call call = { .channel = it->channel, .until_ns = until_ns };

	iothread_call(it, hurry_in_thread, &call);
}

/**
 * channel_reserve - make room for requests, so that submitting never allocates
 * @c: the channel; called in its iothread
 * @more: requests that may be in flight at once, beside all reserved before
 *
 * Return: 0 or -ENOMEM.
 */
int channel_reserve(struct channel *c, unsigned int more)
{
	return c->model ? model_reserve(c->model, more) : 0;
}

/**
 * channel_release - give room back
 * @c: the channel; called in its iothread
 * @fewer: what channel_reserve() was given
 */
void channel_release(struct channel *c, unsigned int fewer)
{
	if (c->model)
		model_release(c->model, fewer);
}

/**
 * channel_pool - the iothread's thread pool
 * @c: the channel; called in its iothread
 *
 * Started when it is first asked for, as not every channel has work for it.
 *
 * Return: the pool, or NULL when it cannot be started, which has been reported.
 */
struct pool *channel_pool(struct channel *c)
{
	if (atomic_load_explicit(&c->has_pool, memory_order_relaxed))
		return &c->pool;
	if (pool_start(&c->pool, c->it, &c->config.pool))
		return NULL;
	/* pairs with the acquire in workers_json() of daemon.c, in another thread */
	atomic_store_explicit(&c->has_pool, true, memory_order_release);
	return &c->pool;
}

static int begin_trace(struct channel *c)
{
	struct trace *t = c->config.trace;
	int ret = trace_thread(t, c->it->name, TRACE_IOTHREAD, TRACE_RECORDS, &c->trace);

	c->config.pool.trace = t;
	if (ret)
		options_error(NULL, "trace", "no room for the records of %s: %s", c->it->name, strerror(-ret));
	return ret;
}

static void choose_way(struct channel *c)
{
	c->start = c->config.aio ? start_aio : start_inline;
	if (c->model)
		c->submit = submit_modelled;
	else if (c->trace)
		c->submit = submit_traced;
	else
		c->submit = c->config.aio ? submit_aio : submit_inline;
}

/**
 * channel_open - give an iothread its way to the backends
 * @c: filled in; must stay where it is
 * @it: the iothread; this runs in it
 * @config: what is wanted, copied
 *
 * Return: 0 or a negative errno, reported.
 */
int channel_open(struct channel *c, struct iothread *it, const struct channel_config *config)
{
	int ret;

	*c = (struct channel) {
		.it = it,
		.config = *config,
		.latest_ns = UINT64_MAX,
		.slices = { .ops = &slices_ops, .fd = -1 },
		.last_slice = &c->first_slice,
	};
	it->channel = c;
	it->wakeup_cost_ns = config->wakeup_cost_ns;
	ret = config->trace ? begin_trace(c) : 0;
	if (ret)
		return ret;
	if (model_is_set(&config->model)) {
		c->model = model_open(it, &config->model, count_and_end);
		if (!c->model)
			return -EAGAIN;
	}
	choose_way(c);
	ret = config->aio ? config->aio->open(c) : 0;
	if (ret && c->model)
		model_close(c->model);
	return ret;
}

/**
 * channel_close - undo channel_open()
 * @c: the channel, with nothing in flight; called in its iothread
 */
void channel_close(struct channel *c)
{
	if (c->config.aio)
		c->config.aio->close(c);
	if (atomic_load_explicit(&c->has_pool, memory_order_relaxed))
		pool_stop(&c->pool);
	if (c->model)
		model_close(c->model);
}

struct start_call {
	struct channel *channel;
	struct iothread *it;
	const struct channel_config *config;
	int ret;
};

static void open_in_thread(void *arg)
{
	struct start_call *call = arg;

	call->ret = channel_open(call->channel, call->it, call->config);
}

/**
 * channel_start - open the channel of an iothread that runs
 * @it: the iothread, not the calling one
 * @config: what is wanted, copied
 *
 * Return: 0 or a negative errno, reported.
 */
int channel_start(struct iothread *it, const struct channel_config *config)
{
	struct start_call call = {
		.channel = alloc_apart(1, sizeof(struct channel)),
		.it = it,
		.config = config,
	};

	if (!call.channel) {
		options_error(NULL, NULL, "%s: %s", it->name, strerror(ENOMEM));
		return -ENOMEM;
	}
	iothread_call(it, open_in_thread, &call);
	if (call.ret)
		free(call.channel);
	return call.ret;
}

static void close_in_thread(void *arg)
{
	channel_close(arg);
}

/**
 * channel_stop - undo channel_start()
 * @it: the iothread, with nothing in flight; not the calling one
 */
void channel_stop(struct iothread *it)
{
	iothread_call(it, close_in_thread, it->channel);
	free(it->channel);
}

static const char *const kind_names[REQ_KINDS] = {
	[REQ_READ] = "read",
	[REQ_WRITE] = "write",
	[REQ_FLUSH] = "flush",
	[REQ_DISCARD] = "discard",
	[REQ_WRITE_ZEROES] = "write_zeroes",
	[REQ_GET_ID] = "get_id",
	[REQ_CACHE] = "cache",
	[REQ_BLOCK_STATUS] = "block_status",
	[REQ_UNSUPPORTED] = "unsupported",
};

static void traffic(struct json *w, const struct channel_stats *s)
{
	json_open_object(w, "requests");
	for (unsigned int i = 0; i < REQ_KINDS; i++)
		json_counter(w, kind_names[i], &s->requests[i]);
	json_close_object(w);
	json_counter(w, "errors", &s->errors);

	json_open_object(w, "bytes");
	json_counter(w, "read", &s->bytes[REQ_READ]);
	json_counter(w, "write", &s->bytes[REQ_WRITE]);
	json_counter(w, "discard", &s->bytes[REQ_DISCARD]);
	json_counter(w, "write_zeroes", &s->bytes[REQ_WRITE_ZEROES]);
	json_close_object(w);

	json_hist(w, "batch", &s->batch);
	json_hist(w, "service_ns", &s->service_ns);
}

/**
 * channel_stats_json - write the figures of an iothread and its channel as an object
 * @w: the writer, inside an array
 * @it: the iothread, with a channel; never the calling one
 */
void channel_stats_json(struct json *w, struct iothread *it)
{
	iothread_sample(it);
	json_open_object(w, NULL);
	iothread_stats_json(w, it);
	traffic(w, &it->channel->stats);
	json_close_object(w);
}
