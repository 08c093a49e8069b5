/* SPDX-License-Identifier: GPL-2.0-only */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include "base/clock.h"
#include "base/cpu.h"
#include "targets/device/queue.h"

static struct queue *source_to_queue(struct event_source *s)
{
	return (struct queue *)((char *)s - offsetof(struct queue, source));
}

static struct iothread_stats *stats(struct queue *q)
{
	return &q->thread->it.stats;
}

static void fail(struct queue *q, int err)
{
	if (q->broken)
		return;
	q->broken = true;
	q->on_broken(q->owner, q, err);
}

static void call_driver(struct queue *q)
{
	uint64_t one = 1;

	if (q->call_fd < 0)
		return;
	counter_add(&stats(q)->calls, 1);
	/* EAGAIN: the counter is full of calls not taken yet, so one is pending anyway. */
	if (write(q->call_fd, &one, sizeof(one)) < 0 && errno != EAGAIN && errno != EINTR)
		fail(q, -EBADF);
}

/* Show the driver what has been returned. */
static void publish(struct queue *q)
{
	if (q->ring.published == q->ring.used_idx)
		return;
	counter_add(&stats(q)->batches, 1);
	if (split_device_publish(&q->ring))
		call_driver(q);
}

/* With nothing to do there is time to make sure that the driver noticed. */
static void settle(struct queue *q)
{
	if (split_device_settle(&q->ring))
		call_driver(q);
}

static void give_back(struct queue *q, uint16_t head, uint8_t *status_at, uint8_t status,
		      uint32_t written)
{
	/* Mostly it is there from the last time, and then the driver keeps its cache line. */
	if (*status_at != status)
		*status_at = status;
	split_device_push(&q->ring, head, written);
}

/* Set a request aside until its service time is over. */
static void delay(struct queue *q, uint64_t now, uint64_t ns, uint8_t *status_at, uint8_t status,
		  uint32_t written)
{
	struct delayed *r = q->free;

	q->free = r->next_free;
	r->waiting = true;
	r->taken_ns = now;
	r->status_at = status_at;
	r->status = status;
	r->written = written;
	r->head = q->chain.head;
	r->deadline.due_ns = now + ns;
	q->in_flight++;
	deadline_add(&q->thread->deadlines, &r->deadline);
}

static void expired(struct deadline *d)
{
	struct delayed *r = (struct delayed *)d;
	struct queue *q = r->queue;

	give_back(q, r->head, r->status_at, r->status, r->written);
	hist_add(&stats(q)->service_ns, clock_ns() - r->taken_ns);
	r->waiting = false;
	r->next_free = q->free;
	q->free = r;
	q->in_flight--;
	deadline_flush_later(&q->thread->deadlines, &q->flush);
}

static void flush_queue(struct deadline_flush *f)
{
	struct queue *q = (struct queue *)((char *)f - offsetof(struct queue, flush));

	publish(q);
	/* Nobody settles later for a queue whose source is armed already, or gone. */
	if (q->source.armed || q->stopping)
		settle(q);
	if (q->stopping && !q->in_flight)
		sem_post(&q->drained);
}

/* Take what is there now; what arrives meanwhile is for the next turn, so others get theirs. */
static void take_requests(struct queue *q)
{
	bool delays = q->thread->delay.kind != DELAY_NONE;
	uint64_t now = delays ? clock_ns() : 0;
	unsigned int taken = 0;
	int ret;

	if (!split_device_has_avail(&q->ring))
		return;
	for (uint16_t end = q->ring.avail_seen; q->ring.avail_idx != end; taken++) {
		uint8_t *status_at;
		uint32_t written;

		/* A driver may not have more in flight than the ring holds. */
		if (delays && !q->free) {
			fail(q, -EOVERFLOW);
			break;
		}
		ret = split_device_pop(&q->ring, q->mem, &q->chain);
		if (ret > 0)
			ret = blk_device_execute(q->dev, &q->chain, stats(q), &status_at, &written);
		if (ret < 0) {
			fail(q, ret);
			break;
		}
		if (delays)
			delay(q, now, delay_draw(&q->thread->delay, &q->thread->rng), status_at,
			      ret, written);
		else
			give_back(q, q->chain.head, status_at, ret, written);
	}
	publish(q);
	hist_add(&stats(q)->batch, taken);
}

static bool queue_poll(struct event_source *s, uint64_t now)
{
	struct queue *q = source_to_queue(s);

	(void)now;
	if (q->broken)
		return false;
	if (split_device_has_avail(&q->ring))
		return true;
	settle(q);
	return false;
}

static bool queue_arm(struct event_source *s)
{
	struct queue *q = source_to_queue(s);

	if (q->broken)
		return false;
	settle(q);
	return split_device_enable_kicks(&q->ring);
}

static void queue_disarm(struct event_source *s)
{
	split_device_disable_kicks(&source_to_queue(s)->ring);
}

static void queue_woken(struct event_source *s)
{
	counter_add(&stats(source_to_queue(s))->kicks, 1);
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
};

static void add_deadlines(void *arg)
{
	struct queue_thread *t = arg;

	iothread_add_source(&t->it, &t->deadlines.source);
}

static void remove_deadlines(void *arg)
{
	struct queue_thread *t = arg;

	iothread_remove_source(&t->it, &t->deadlines.source);
}

/**
 * queue_thread_start - start an iothread that can serve queues
 * @t: filled in; must stay where it is
 * @index: names it iothread@index and seeds its draws
 * @cpus: CPUs to run on; an empty set for any
 * @policy: its poll policy
 * @delay: service time of the emulated device
 *
 * Return: 0 or a negative errno, reported.
 */
int queue_thread_start(struct queue_thread *t, unsigned int index, const cpu_set_t *cpus,
		       const struct poll_policy *policy, const struct delay *delay)
{
	int ret = deadlines_init(&t->deadlines, expired);

	if (ret) {
		fprintf(stderr, "iothread%u: timerfd: %s\n", index, strerror(-ret));
		return ret;
	}
	t->delay = *delay;
	rng_seed(&t->rng, index);
	ret = iothread_start(&t->it, index, cpus, policy);
	if (ret) {
		deadlines_destroy(&t->deadlines);
		return ret;
	}
	if (delay->kind != DELAY_NONE)
		iothread_call(&t->it, add_deadlines, t);
	return 0;
}

/**
 * queue_thread_stop - end an iothread whose queues have been stopped
 * @t: the thread
 */
void queue_thread_stop(struct queue_thread *t)
{
	if (t->delay.kind != DELAY_NONE)
		iothread_call(&t->it, remove_deadlines, t);
	iothread_stop(&t->it);
	deadlines_destroy(&t->deadlines);
}

/* Room for delayed requests; mapped, so that what is not used takes no memory. */
static int alloc_delayed(struct queue *q)
{
	size_t len = q->ring.num * sizeof(*q->delayed);

	q->delayed = mmap(NULL, len, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (q->delayed == MAP_FAILED)
		return -errno;
	q->free = NULL;
	for (unsigned int i = q->ring.num; i-- > 0; ) {
		q->delayed[i].queue = q;
		q->delayed[i].next_free = q->free;
		q->free = &q->delayed[i];
	}
	return 0;
}

static void free_delayed(struct queue *q)
{
	munmap(q->delayed, q->ring.num * sizeof(*q->delayed));
}

struct start {
	struct queue *q;
	int ret;
};

static void start_in_thread(void *arg)
{
	struct start *s = arg;
	struct queue *q = s->q;

	if (q->thread->delay.kind != DELAY_NONE) {
		s->ret = deadlines_reserve(&q->thread->deadlines, q->ring.num);
		if (s->ret)
			return;
	}
	s->ret = iothread_add_source(&q->thread->it, &q->source);
	if (s->ret && q->thread->delay.kind != DELAY_NONE)
		deadlines_release(&q->thread->deadlines, q->ring.num);
}

/**
 * queue_start - let an iothread serve a queue
 * @q: the queue with ring, device, memory, kick and call descriptors set
 * @thread: who is to serve it
 * @base: first available index to take
 *
 * A kick that came before is not lost: the first turn looks at the ring.
 *
 * Return: 0 or a negative errno.
 */
int queue_start(struct queue *q, struct queue_thread *thread, uint16_t base)
{
	struct start s = { .q = q };
	int ret;

	q->thread = thread;
	q->source.ops = &queue_ops;
	q->flush = (struct deadline_flush) { .fn = flush_queue };
	q->broken = false;
	q->stopping = false;
	q->in_flight = 0;
	split_device_resume(&q->ring, base);
	ret = alloc_delayed(q);
	if (ret)
		return ret;
	sem_init(&q->drained, 0, 0);
	iothread_call(&thread->it, start_in_thread, &s);
	if (s.ret) {
		sem_destroy(&q->drained);
		free_delayed(q);
	}
	return s.ret;
}

struct stop {
	struct queue *q;
	bool at_once;
	bool wait;
};

static void stop_in_thread(void *arg)
{
	struct stop *s = arg;
	struct queue *q = s->q;

	iothread_remove_source(&q->thread->it, &q->source);
	settle(q);
	/* Nobody will look at these any more, so their time need not be waited for. */
	for (unsigned int i = 0; s->at_once && q->in_flight && i < q->ring.num; i++) {
		if (q->delayed[i].waiting) {
			deadline_remove(&q->thread->deadlines, &q->delayed[i].deadline);
			q->in_flight--;
		}
	}
	q->stopping = true;
	s->wait = q->in_flight;
}

static void release_in_thread(void *arg)
{
	struct queue *q = arg;

	if (q->thread->delay.kind != DELAY_NONE)
		deadlines_release(&q->thread->deadlines, q->ring.num);
}

/**
 * queue_stop - take a queue back from its iothread
 * @q: the queue, started
 * @at_once: drop requests in flight, as their driver is gone; else wait for them
 *
 * Afterwards q->ring.avail_idx is the first request not taken.
 */
void queue_stop(struct queue *q, bool at_once)
{
	struct stop s = { .q = q, .at_once = at_once };

	iothread_call(&q->thread->it, stop_in_thread, &s);
	while (s.wait && sem_wait(&q->drained) < 0 && errno == EINTR)
		;
	iothread_call(&q->thread->it, release_in_thread, q);
	sem_destroy(&q->drained);
	free_delayed(q);
}
