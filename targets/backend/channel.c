/* SPDX-License-Identifier: GPL-2.0-only */
#include <errno.h>
#include <stddef.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>
#include "base/clock.h"
#include "base/cpu.h"
#include "targets/backend/channel.h"
#include "targets/options.h"

static bool draw_error(struct channel *c)
{
	const struct channel_config *config = &c->config;

	if (config->fail_after && c->answered == config->fail_after)
		return true;
	c->answered++;
	return config->error_rate > 0 && rng_double(&c->rng) < config->error_rate;
}

static void end(struct blk_request *r)
{
	hist_add(&r->channel->it->stats.service_ns, clock_ns() - r->taken_ns);
	r->done(r);
}

static void expired(struct deadline *d)
{
	struct blk_request *r = (struct blk_request *)((char *)d - offsetof(struct blk_request,
									   deadline));

	r->delayed = false;
	end(r);
}

static bool takes_time(const struct channel_config *config)
{
	return config->delay.kind != DELAY_NONE || config->throttle;
}

/* Draw when the emulated device is done with a request that comes now. */
static uint64_t due(struct channel *c, const struct blk_request *r)
{
	struct throttle *throttle = r->backend->throttle;
	uint64_t service_ns = delay_draw(&c->config.delay, &c->rng);

	if (throttle)
		return throttle_due(throttle, r->taken_ns, service_ns, r->len);
	return r->taken_ns + service_ns;
}

static void wait_until_due(struct channel *c, struct blk_request *r)
{
	if (r->deadline.due_ns > c->latest_ns)
		r->deadline.due_ns = c->latest_ns;
	r->delayed = true;
	deadline_add(&c->deadlines, &r->deadline);
}

static void notify_nobody(struct channel *c)
{
	const uint64_t one = 1;

	for (unsigned int i = 0; i < c->config.extra_notify; i++)
		/* Full after 2^64 - 2 of them: nothing to handle. */
		(void)!write(c->extra_fd, &one, sizeof(one));
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
	slice_first(r, SLICE_BYTES);
	add_slice(c, r);
	return true;
}

static void end_slices(struct channel *c, struct blk_request *r)
{
	slice_end(r);
	if (takes_time(&c->config) && r->deadline.due_ns > clock_ns())
		wait_until_due(c, r);
	else
		r->done(r);
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
	struct channel *c = (struct channel *)((char *)s - offsetof(struct channel, slices));
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
	if (!r->slice.waits)
		end_slices(c, r);
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

static void submit_to_aio(struct channel *c, struct blk_request *r)
{
	r->slice.whole = 0;
	if (unlikely(r->len > SLICE_AIO_BYTES && has_slices(r)))
		slice_first(r, SLICE_AIO_BYTES);
	c->config.aio->submit(c, r);
}

static bool submit_through_all(struct channel *c, struct blk_request *r)
{
	const struct channel_config *config = &c->config;
	bool timed = takes_time(config);

	r->channel = c;
	r->delayed = false;
	if (config->request_cost_ns)
		clock_burn(config->request_cost_ns);
	notify_nobody(c);
	/* What a request costs is the way to the backend, as a block layer is. */
	if (c->trace)
		note_start(c, r);
	if (config->aio || timed)
		r->taken_ns = clock_ns();
	if (timed)
		r->deadline.due_ns = due(c, r);

	if (draw_error(c)) {
		r->result = -EIO;
	} else if (config->aio) {
		submit_to_aio(c, r);
		return false;
	} else if (unlikely(takes_too_long(c, r)) && begin_slices(c, r)) {
		return false;
	} else {
		r->result = r->backend->ops->execute(r->backend, r);
	}
	if (!timed || r->deadline.due_ns <= r->taken_ns)
		return true;
	wait_until_due(c, r);
	return false;
}

/**
 * channel_submit - start a request
 * @c: the channel, with room for it reserved; called in its iothread
 * @r: the request
 *
 * Return: true when it is done, @r->result is set and @r->done will not be called; false
 * when that will be called later, never from inside this call.
 */
bool channel_submit(struct channel *c, struct blk_request *r)
{
	c->turn_bytes += r->len;
	if (unlikely(!c->simple))
		return submit_through_all(c, r);
	/* A length is in it, too. */
	if (unlikely(c->turn_bytes > SLICE_BYTES) && takes_too_long(c, r) && begin_slices(c, r))
		return false;
	r->result = r->backend->ops->execute(r->backend, r);
	return true;
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
	/* What took longer than its service time is late enough. */
	if (takes_time(&c->config) && r->deadline.due_ns > clock_ns())
		wait_until_due(c, r);
	else
		end(r);
}

/**
 * channel_cancel - drop a request whose submitter is gone
 * @c: the channel; called in its iothread
 * @r: the request, not done yet
 *
 * Return: true when it only waited for its service time and will not be done; false when
 * its memory is still in use, so that it must be waited for, but not for its service time.
 */
bool channel_cancel(struct channel *c, struct blk_request *r)
{
	if (r->slice.waits) {
		cancel_slices(c, r);
		return true;
	}
	if (!r->delayed) {
		r->deadline.due_ns = 0;
		slice_stop(r);
		return false;
	}
	deadline_remove(&c->deadlines, &r->deadline);
	r->delayed = false;
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
	if (!takes_time(&c->config) || r->deadline.due_ns <= until_ns)
		return;
	if (r->delayed)
		deadline_remove(&c->deadlines, &r->deadline);
	r->deadline.due_ns = until_ns;
	if (r->delayed)
		deadline_add(&c->deadlines, &r->deadline);
}

/**
 * channel_hurry_all - the same for all requests, and those to come
 * @c: the channel; called in its iothread
 * @until_ns: when no service time is waited for any more, by clock_ns()
 */
void channel_hurry_all(struct channel *c, uint64_t until_ns)
{
	c->latest_ns = until_ns;
	if (takes_time(&c->config))
		deadlines_limit(&c->deadlines, until_ns);
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
	return takes_time(&c->config) ? deadlines_reserve(&c->deadlines, more) : 0;
}

/**
 * channel_release - give room back
 * @c: the channel; called in its iothread
 * @fewer: what channel_reserve() was given
 */
void channel_release(struct channel *c, unsigned int fewer)
{
	if (takes_time(&c->config))
		deadlines_release(&c->deadlines, fewer);
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
	/* pairs with the acquire of who reports statistics, in another thread */
	atomic_store_explicit(&c->has_pool, true, memory_order_release);
	return &c->pool;
}

static int start_deadlines(struct channel *c)
{
	int ret = deadlines_init(&c->deadlines, expired);

	if (!ret) {
		ret = iothread_add_source(c->it, &c->deadlines.source);
		if (ret)
			deadlines_destroy(&c->deadlines);
	}
	if (ret)
		options_error(NULL, NULL, "%s: timer of delayed requests: %s", c->it->name, strerror(-ret));
	return ret;
}

static void stop_deadlines(struct channel *c)
{
	iothread_remove_source(c->it, &c->deadlines.source);
	deadlines_destroy(&c->deadlines);
}

static int open_extra_fd(struct channel *c)
{
	c->extra_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (c->extra_fd >= 0)
		return 0;
	options_error(NULL, NULL, "%s: eventfd: %s", c->it->name, strerror(errno));
	return -errno;
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
	bool timed = takes_time(config);
	int ret;

	*c = (struct channel) {
		.it = it,
		.config = *config,
		.extra_fd = -1,
		.latest_ns = UINT64_MAX,
		.slices = { .ops = &slices_ops, .fd = -1 },
		.last_slice = &c->first_slice,
		.simple = !config->aio && !timed && !config->request_cost_ns &&
			  !config->extra_notify && !config->fail_after &&
			  config->error_rate <= 0 && !config->trace,
	};
	ret = config->trace ? begin_trace(c) : 0;
	if (ret)
		return ret;
	rng_seed(&c->rng, it->index);
	it->wakeup_cost_ns = config->wakeup_cost_ns;
	ret = config->extra_notify ? open_extra_fd(c) : 0;
	if (ret)
		return ret;
	ret = timed ? start_deadlines(c) : 0;
	if (ret)
		goto err_extra;
	ret = config->aio ? config->aio->open(c) : 0;
	if (!ret)
		return 0;
	if (timed)
		stop_deadlines(c);
err_extra:
	if (c->extra_fd >= 0)
		close(c->extra_fd);
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
	if (takes_time(&c->config))
		stop_deadlines(c);
	if (c->extra_fd >= 0)
		close(c->extra_fd);
}
