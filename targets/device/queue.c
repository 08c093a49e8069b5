/* SPDX-License-Identifier: GPL-2.0-only */
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include "base/container.h"
#include "base/cpu.h"
#include "base/fd.h"
#include "targets/device/kick-count.h"
#include "targets/device/queue.h"

static struct queue *source_to_queue(struct event_source *s)
{
	return container_of(s, struct queue, source);
}

static struct iothread_stats *stats(struct queue *q)
{
	return &q->it->stats;
}

/* Of a request, whose probe the caller has */
static inline void note(struct queue *q, enum trace_event event, uint64_t tag)
{
	if (unlikely(q->trace))
		trace_note(q->trace, event, q->number, tag, 0);
}

static void fail(struct queue *q, int err)
{
	if (q->broken)
		return;
	q->broken = true;
	q->on_broken(q->owner, q, err);
}

static bool counter_is_full(int fd)
{
	return !fd_events(fd, POLLOUT);
}

/* One system call; false when it was interrupted. */
static bool write_call(struct queue *q)
{
	struct guard *g = &q->it->guard;
	unsigned int entered = guard_enter(g);
	int ret = eventfd_try_signal(q->call_fd);

	guard_leave(g, entered);
	/* EAGAIN: the counter is full of calls not taken yet, so one is pending anyway. */
	if (unlikely(ret && ret != -EAGAIN && ret != -EINTR))
		fail(q, -EBADF);
	return ret != -EINTR;
}

/* For a descriptor that blocks, or a driver who may have it block any moment: see guard.h. */
static void call_carefully(struct queue *q)
{
	struct signaller *s = &q->it->signaller;

	if (signaller_open(s)) {
		if (signaller_signal(s, q->call_fd))
			fail(q, -EBADF);
	} else if (!counter_is_full(q->call_fd)) {
		write_call(q);
	}
}

static void was_interrupted(struct queue *q)
{
	if (counter_is_full(q->call_fd))
		fail(q, -EDEADLK);
	else
		call_carefully(q);
}

static void call_driver(struct queue *q)
{
	if (q->call_fd < 0 && !q->call)
		return;
	counter_add(&stats(q)->calls, 1);
	PROBE1(called, IN_MEM(q->number));
	trace_batch(q->trace, TRACE_CALL, q->number, 0);
	if (unlikely(q->call))
		q->call(q);
	else if (unlikely(q->call_blocks || guard_is_careful(&q->it->guard)))
		call_carefully(q);
	else if (unlikely(!write_call(q)))
		was_interrupted(q);
}

/* Show the driver what has been returned. */
static void publish(struct queue *q)
{
	bool call;

	if (!vq_device_unpublished(&q->ring))
		return;
	counter_add(&stats(q)->batches, 1);
	PROBE1(published, IN_MEM(q->number));
	trace_batch(q->trace, TRACE_PUBLISH, q->number, 0);
	call = unlikely(q->inflight) ? vq_inflight_publish(q->inflight, &q->ring) :
				       vq_device_publish(&q->ring);
	if (call)
		call_driver(q);
}

/* Make certain that the driver noticed: with nothing to do there is time for it. */
static void call_if_needed(struct queue *q)
{
	if (vq_device_needs_call(&q->ring))
		call_driver(q);
}

static void give_back(struct queue *q, const struct vblk_request *r)
{
	/* Mostly it is there from the last time, and then the driver keeps its cache line. */
	if (*r->status_at != r->status)
		*r->status_at = r->status;
	if (unlikely(q->inflight))
		vq_inflight_push(q->inflight, &q->ring, &r->chain, r->written);
	else
		vq_device_push(&q->ring, &r->chain, r->written);
	PROBE3(completed, IN_REG(r), IN_MEM(q->number), IN_MEM(r->chain.head));
	note(q, TRACE_DONE, r->chain.head);
}

static void put_free(struct queue *q, struct queue_request *r)
{
	r->in_flight = false;
	r->next_free = q->free;
	q->free = r;
	q->in_flight--;
}

static void request_done(struct vblk_request *vblk)
{
	struct queue_request *r = (struct queue_request *)vblk;
	struct queue *q = r->queue;

	give_back(q, vblk);
	put_free(q, r);
	iothread_defer(q->it, &q->publish);
}

/* Of a driver that is gone, and who may have handed its ring to another device meanwhile. */
static void request_dropped(struct vblk_request *vblk)
{
	struct queue_request *r = (struct queue_request *)vblk;
	struct queue *q = r->queue;

	put_free(q, r);
	iothread_defer(q->it, &q->publish);
}

static void publish_later(struct deferred *d)
{
	struct queue *q = container_of(d, struct queue, publish);

	publish(q);
	/* Nobody looks later after a queue whose source is armed already, or gone. */
	if (q->source.armed || q->stopping)
		call_if_needed(q);
	if (q->stopping && !q->in_flight)
		sem_post(&q->drained);
}

/* The last one used is the one in the cache; one never used yet is not even in memory. */
static struct queue_request *first_free(struct queue *q)
{
	struct queue_request *r;

	if (likely(q->free) || q->touched == q->ring.notify.num)
		return q->free;
	r = &q->request[q->touched++];
	r->queue = q;
	r->vblk.done = request_done;
	q->free = r;
	return r;
}

static int next_chain(struct queue *q, struct vq_chain *c, bool resubmit)
{
	if (likely(!q->inflight))
		return vq_device_pop(&q->ring, q->mem, c);
	return resubmit ? vq_inflight_resubmit(q->inflight, &q->ring, q->mem, c) :
			  vq_inflight_pop(q->inflight, &q->ring, q->mem, c);
}

/*
 * Take the next request of the ring, or with @resubmit of those an earlier device left; returns
 * 1, 0 without one, a negative errno for a broken one.
 */
static int take_request(struct queue *q, bool resubmit)
{
	struct queue_request *r = first_free(q);
	int ret;

	/* A driver may not have more in flight than the ring holds. */
	if (!r)
		return -EOVERFLOW;
	ret = next_chain(q, &r->vblk.chain, resubmit);
	if (ret <= 0)
		return ret;
	PROBE3(taken, IN_REG(r), IN_MEM(q->number), IN_MEM(r->vblk.chain.head));
	if (unlikely(q->trace)) {
		r->vblk.blk.work.name = (struct trace_name) { r->vblk.chain.head, q->number };
		note(q, TRACE_POP, r->vblk.chain.head);
	}
	ret = vblk_submit(&r->vblk, q->dev, q->it->channel);
	if (ret < 0)
		return ret;
	if (ret == VBLK_PENDING) {
		q->free = r->next_free;
		r->in_flight = true;
		q->in_flight++;
	} else {
		give_back(q, &r->vblk);
	}
	return 1;
}

static bool turn_is_over(struct queue *q)
{
	return unlikely(channel_turn_is_over(q->it->channel));
}

/* First resubmit what an earlier device took and did not answer, in the order it was taken in. */
static void resubmit(struct queue *q)
{
	int ret = 1;

	while (!turn_is_over(q) && (ret = take_request(q, true)) > 0)
		;
	q->resubmits = ret > 0;
	if (ret < 0)
		fail(q, ret);
	publish(q);
}

/*
 * Take what is there now, so that others get their turn: what arrives meanwhile is for the next
 * one, and so is what comes behind as many bytes as a turn has.
 */
static void take_requests(struct queue *q)
{
	unsigned int taken = 0, end;
	int ret = 1;

	channel_turn(q->it->channel);
	if (unlikely(q->resubmits)) {
		resubmit(q);
		return;
	}
	if (!vq_device_has_avail(&q->ring))
		return;
	end = vq_device_avail_end(&q->ring);
	while (q->ring.last_avail_idx != end && !turn_is_over(q) &&
	       (ret = take_request(q, false)) > 0)
		taken++;
	if (ret < 0)
		fail(q, ret);
	publish(q);
	q->one_by_one = taken == 1;
	hist_add(&q->it->channel->stats.batch, taken);
}

static bool queue_poll(struct event_source *s, uint64_t now)
{
	struct queue *q = source_to_queue(s);

	(void)now;
	if (q->broken)
		return false;
	if (unlikely(q->resubmits) || vq_device_has_avail(&q->ring))
		return true;
	if (q->one_by_one)
		vq_device_prefetch(&q->ring);
	call_if_needed(q);
	return false;
}

static bool queue_arm(struct event_source *s)
{
	struct queue *q = source_to_queue(s);

	if (q->broken)
		return false;
	call_if_needed(q);
	return vq_device_enable_kicks(&q->ring) || q->resubmits;
}

static void queue_disarm(struct event_source *s)
{
	vq_device_disable_kicks(&source_to_queue(s)->ring);
}

static void queue_woken(struct event_source *s)
{
	struct queue *q = source_to_queue(s);

	counter_add(&stats(q)->noticed, 1);
	if (unlikely(q->kicks_unseen))
		counter_add(&stats(q)->kicks, 1);
	PROBE1(target_woken, IN_MEM(q->number));
	trace_batch(q->trace, TRACE_WOKEN, q->number, 0);
}

static void queue_sample(struct event_source *s)
{
	struct queue *q = source_to_queue(s);
	uint64_t count;

	/* If it has gone down, the peer reads the eventfd itself: leave the figure alone. */
	if (q->kicks_unseen || !kick_count(q->source.fd, &count) || count < q->kicks_seen)
		return;
	counter_add(&stats(q)->kicks, count - q->kicks_seen);
	q->kicks_seen = count;
}

static void queue_dispatch(struct event_source *s)
{
	struct queue *q = source_to_queue(s);

	if (!q->broken)
		take_requests(q);
}

static const struct event_source_ops queue_ops = {
	.poll = queue_poll,
	.arm = queue_arm,
	.disarm = queue_disarm,
	.woken = queue_woken,
	.dispatch = queue_dispatch,
	.sample = queue_sample,
};

/* Room for requests; mapped, so that what is not used takes no memory. */
static int alloc_requests(struct queue *q)
{
	size_t len = q->ring.notify.num * sizeof(*q->request);

	q->request = mmap(NULL, len, PROT_READ | PROT_WRITE,
			  MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (q->request == MAP_FAILED)
		return -errno;
	q->free = NULL;
	q->touched = 0;
	return 0;
}

static void free_requests(struct queue *q)
{
	munmap(q->request, q->ring.notify.num * sizeof(*q->request));
}

struct start {
	struct queue *q;
	int ret;
};

static void start_in_thread(void *arg)
{
	struct start *s = arg;
	struct queue *q = s->q;
	struct iothread *it = q->it;

	s->ret = channel_reserve(it->channel, q->ring.notify.num);
	if (s->ret)
		return;
	/* A source begins unarmed, and a ring with a wish for kicks: a busy iothread never arms. */
	vq_device_disable_kicks(&q->ring);
	s->ret = iothread_add_source(it, &q->source);
	if (s->ret) {
		channel_release(it->channel, q->ring.notify.num);
		return;
	}
	if (q->guarded)
		guard_watch(&it->guard, pthread_self());
	/* Not when the first call is made */
	if (q->call_blocks)
		signaller_open(&it->signaller);
	channel_turn(it->channel);
	resubmit(q);
}

/**
 * queue_start - let an iothread serve a queue
 * @q: the queue with ring, device, memory, record, kick and call descriptors set, and what the
 *	kick descriptor had counted before
 * @it: who is to serve it
 * @base: where to begin, see vq_device_resume()
 *
 * A kick that came before is not lost: the first turn looks at the ring.
 *
 * Return: 0 or a negative errno.
 */
int queue_start(struct queue *q, struct iothread *it, uint32_t base)
{
	struct start s = { .q = q };
	int ret;

	q->it = it;
	q->trace = it->channel->trace;
	q->source.ops = &queue_ops;
	q->publish = (struct deferred) { .fn = publish_later };
	q->broken = false;
	q->stopping = false;
	q->in_flight = 0;
	q->kicks_unseen = !kick_count(q->source.fd, &(uint64_t) { 0 });
	ret = vq_device_resume(&q->ring, base);
	if (!ret && q->inflight)
		ret = vq_inflight_begin(q->inflight, &q->ring, q->recover);
	if (!ret)
		ret = alloc_requests(q);
	if (ret)
		return ret;
	sem_init(&q->drained, 0, 0);
	iothread_call(it, start_in_thread, &s);
	if (s.ret) {
		sem_destroy(&q->drained);
		free_requests(q);
	}
	return s.ret;
}

struct stop {
	struct queue *q;
	bool at_once;
	bool wait;
};

static void drop_in_flight(struct queue *q)
{
	for (unsigned int i = 0; q->in_flight && i < q->touched; i++) {
		struct queue_request *r = &q->request[i];

		if (!r->in_flight)
			continue;
		if (vblk_cancel(&r->vblk))
			put_free(q, r);
		else
			r->vblk.done = request_dropped;
	}
}

static void stop_in_thread(void *arg)
{
	struct stop *s = arg;
	struct queue *q = s->q;

	queue_sample(&q->source);
	iothread_remove_source(q->it, &q->source);
	call_if_needed(q);
	if (s->at_once)
		drop_in_flight(q);
	q->stopping = true;
	s->wait = q->in_flight;
}

static void release_in_thread(void *arg)
{
	struct queue *q = arg;

	channel_release(q->it->channel, q->ring.notify.num);
	if (q->guarded)
		guard_unwatch(&q->it->guard);
}

/**
 * queue_stop - take a queue back from its iothread
 * @q: the queue, started
 * @at_once: its driver is gone: drop what is in flight, and wait only for what still uses the
 *	driver's memory
 *
 * Afterwards vq_device_base() tells where to go on. What was dropped has not been returned: the
 * next device finds it in the record, or, without one, behind what the ring says is used.
 */
void queue_stop(struct queue *q, bool at_once)
{
	struct stop s = { .q = q, .at_once = at_once };

	iothread_call(q->it, stop_in_thread, &s);
	while (s.wait && sem_wait(&q->drained) < 0 && errno == EINTR)
		;
	iothread_call(q->it, release_in_thread, q);
	sem_destroy(&q->drained);
	free_requests(q);
}
