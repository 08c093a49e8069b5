/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A thread pool after QEMU's util/thread-pool.c: a thread is started when work is submitted
 * and none is idle, up to a maximum, and ends when it has been idle for a while.
 */
#include <errno.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "targets/options.h"
#include "targets/pool/wakeup.h"

static int open_queues(struct pool *p)
{
	const struct wakeup_ops *wakeup = p->config.wakeup;
	unsigned int n = p->config.queue == POOL_QUEUE_GLOBAL ? 1 : p->config.max_threads;
	int ret = 0;

	p->queue = alloc_apart(n, sizeof(*p->queue));
	if (!p->queue)
		return -ENOMEM;
	for (; p->nr_queues < n; p->nr_queues++) {
		struct work_queue *q = &p->queue[p->nr_queues];

		pthread_mutex_init(&q->lock, NULL);
		q->last = &q->first;
		atomic_init(&q->closed, p->config.queue == POOL_QUEUE_PER_THREAD);
		if (wakeup->init)
			ret = wakeup->init(q);
		if (ret)
			break;
	}
	return ret;
}

static void close_queues(struct pool *p)
{
	while (p->nr_queues) {
		struct work_queue *q = &p->queue[--p->nr_queues];

		if (p->config.wakeup->destroy)
			p->config.wakeup->destroy(q);
		pthread_mutex_destroy(&q->lock);
	}
	free(p->queue);
}

static int open_workers(struct pool *p)
{
	unsigned int n = p->config.max_threads;

	p->load = calloc(n, sizeof(*p->load));
	p->started = calloc(n, sizeof(*p->started));
	p->worker = alloc_apart(n, sizeof(*p->worker));
	if (!p->load || !p->started || !p->worker)
		return -ENOMEM;
	for (unsigned int i = 0; i < n; i++) {
		struct pool_worker *w = &p->worker[i];

		w->pool = p;
		w->index = i;
		w->queue = &p->queue[p->nr_queues > 1 ? i : 0];
		/* bounds for the compiler, which then sees that it fits */
		snprintf(w->name, sizeof(w->name), "worker%u.%u", p->it->index % 10000,
			 i % POOL_THREADS_MAX);
	}
	return 0;
}

static void close_workers(struct pool *p)
{
	free(p->load);
	free(p->started);
	free(p->worker);
	p->worker = NULL;
}

static int start_first(struct pool *p)
{
	int ret = 0;

	pthread_mutex_lock(&p->lock);
	for (unsigned int i = 0; i < p->config.min_threads && !ret; i++) {
		struct pool_worker *w = &p->worker[i];

		w->state = WORKER_WANTED;
		p->wanted++;
		atomic_fetch_add_explicit(&p->threads, 1, memory_order_relaxed);
		ret = worker_start(w);
		if (!ret && p->config.queue == POOL_QUEUE_PER_THREAD) {
			p->started[i] = true;
			atomic_store_explicit(&w->queue->closed, false, memory_order_relaxed);
		}
	}
	pthread_mutex_unlock(&p->lock);
	return ret;
}

static void fill_in_defaults(struct pool *p)
{
	if (!p->config.idle_ns)
		p->config.idle_ns = POOL_IDLE_NS;
	/* The main thread, not this one: that may be pinned to the CPU it polls on. */
	if (!CPU_COUNT(&p->config.cpus))
		sched_getaffinity(getpid(), sizeof(p->config.cpus), &p->config.cpus);
}

/**
 * pool_start - start a thread pool
 * @p: filled in; must stay where it is
 * @it: its iothread; called in it
 * @config: its shape, copied
 *
 * Return: 0 or a negative errno, reported.
 */
int pool_start(struct pool *p, struct iothread *it, const struct pool_config *config)
{
	int ret;

	memset(p, 0, sizeof(*p));
	p->it = it;
	p->config = *config;
	p->spawn.fn = worker_spawn_deferred;
	fill_in_defaults(p);
	pthread_mutex_init(&p->lock, NULL);

	ret = open_queues(p);
	if (!ret)
		ret = open_workers(p);
	if (!ret)
		ret = completion_open(p);
	if (!ret) {
		ret = start_first(p);
		if (!ret)
			return 0;
		pool_stop(p);
		return ret;
	}
	options_error(NULL, NULL, "%s: cannot make its thread pool: %s", it->name, strerror(-ret));
	close_workers(p);
	close_queues(p);
	pthread_mutex_destroy(&p->lock);
	return ret;
}

/**
 * pool_stop - finish all work, then end a thread pool
 * @p: the pool; called in its iothread, and not from the work's done()
 *
 * done() is called for all that was in flight before this returns; it must not submit more.
 */
void pool_stop(struct pool *p)
{
	workers_join(p);
	completion_close(p);
	close_workers(p);
	close_queues(p);
	pthread_mutex_destroy(&p->lock);
}

static void submit_to_all(struct pool *p, struct pool_work *work)
{
	struct work_queue *q = p->queue;
	bool grow;

	pthread_mutex_lock(&q->lock);
	/* A worker that goes does so with the lock held, and only this thread adds any. */
	grow = !q->idle && atomic_load_explicit(&p->threads, memory_order_relaxed) <
			   p->config.max_threads;
	queue_put(q, work);
	p->config.wakeup->wake(q);
	if (grow)
		worker_want(p, NULL);
}

/* Whether a worker serves its own queue, as far as one can tell without its lock */
static bool serves(struct pool *p, unsigned int i)
{
	if (p->started[i])
		p->started[i] = !atomic_load_explicit(&p->queue[i].closed, memory_order_relaxed);
	return p->started[i];
}

/*
 * An idle worker, the first, so that few are kept warm; else a place for a new one; else
 * the next in turn. Work is not stolen from others' queues: a request that waits behind
 * a slow one is what distinguishes these queues from a global one.
 */
static unsigned int choose(struct pool *p)
{
	unsigned int max = p->config.max_threads, vacant = max;

	for (unsigned int i = 0; i < max; i++) {
		if (p->load[i])
			continue;
		if (serves(p, i))
			return i;
		if (vacant == max)
			vacant = i;
	}
	if (vacant != max)
		return vacant;
	p->turn = (p->turn + 1) % max;
	return p->turn;
}

static void submit_to_one(struct pool *p, struct pool_work *work)
{
	unsigned int i = choose(p);
	struct work_queue *q = &p->queue[i];
	bool start;

	work->worker = i;
	p->load[i]++;
	p->started[i] = true;
	pthread_mutex_lock(&q->lock);
	start = atomic_load_explicit(&q->closed, memory_order_relaxed);
	if (start)
		atomic_store_explicit(&q->closed, false, memory_order_relaxed);
	queue_put(q, work);
	p->config.wakeup->wake(q);
	if (start)
		worker_want(p, &p->worker[i]);
}

/**
 * pool_submit - have a worker do something
 * @p: the pool; called in its iothread
 * @w: what to do; the pool's until its done() is called, in the iothread and not from here
 */
void pool_submit(struct pool *p, struct pool_work *w)
{
	completion_expect_more(p);
	if (p->config.queue == POOL_QUEUE_GLOBAL)
		submit_to_all(p, w);
	else
		submit_to_one(p, w);
}
