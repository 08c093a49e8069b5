/* SPDX-License-Identifier: GPL-2.0-only */
/* The threads of a pool: how they come, what they do, how it gets back to the iothread, how they go */
#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>
#include "base/clock.h"
#include "base/container.h"
#include "base/fd.h"
#include "targets/options.h"
#include "targets/pool/wakeup.h"

/* The done list, an event source of the iothread (docs/wakeups.md) */

static bool done_poll(struct event_source *s, uint64_t now)
{
	(void)now;
	/* What is found is read in done_dispatch(), which orders. */
	return atomic_load_explicit(&container_of(s, struct pool, source)->done->first, memory_order_relaxed);
}

/*
 * The iothread stores armed and then looks at the list; a worker puts on the list and then
 * looks at armed. With both orders sequentially consistent one of them sees the other.
 */
static bool done_arm(struct event_source *s)
{
	struct pool *p = container_of(s, struct pool, source);

	atomic_store_explicit(&p->done->armed, true, memory_order_seq_cst);
	return atomic_load_explicit(&p->done->first, memory_order_seq_cst);
}

static void done_disarm(struct event_source *s)
{
	/* A worker that does not see it in time sends one notification too many. */
	atomic_store_explicit(&container_of(s, struct pool, source)->done->armed, false, memory_order_relaxed);
}

/* The list is last in, first out: turn it round. */
static struct pool_work *take_done(struct pool *p)
{
	/* pairs with the push in completion_finish() */
	struct pool_work *work = atomic_exchange_explicit(&p->done->first, NULL,
							  memory_order_acquire);
	struct pool_work *oldest = NULL;

	while (work) {
		struct pool_work *next = work->next;

		work->next = oldest;
		oldest = work;
		work = next;
	}
	return oldest;
}

static void done_dispatch(struct event_source *s)
{
	struct pool *p = container_of(s, struct pool, source);
	struct pool_work *work = take_done(p);

	while (work) {
		/* It may be submitted again from done(). */
		struct pool_work *next = work->next;

		if (p->config.queue == POOL_QUEUE_PER_THREAD)
			p->load[work->worker]--;
		work->done(work);
		work = next;
	}
}

static const struct event_source_ops done_ops = {
	.poll = done_poll,
	.arm = done_arm,
	.disarm = done_disarm,
	.dispatch = done_dispatch,
	.no_poll_handler = true,
};

static void notify(struct pool *p)
{
	eventfd_signal(p->source.fd);
}

/* Put work on the done list; true when it was empty. */
static bool push(struct pool *p, struct pool_work *work)
{
	struct pool_work *first = atomic_load_explicit(&p->done->first, memory_order_relaxed);

	do {
		work->next = first;
		/* pairs with take_done(), and with done_arm() */
	} while (!atomic_compare_exchange_weak_explicit(&p->done->first, &first, work,
							memory_order_seq_cst,
							memory_order_relaxed));
	return !first;
}

static bool armed(struct pool *p)
{
	return atomic_load_explicit(&p->done->armed, memory_order_seq_cst);
}

/* Of all that see the iothread asleep, one. */
static bool disarm_first(struct pool *p)
{
	return armed(p) && atomic_exchange_explicit(&p->done->armed, false, memory_order_seq_cst);
}

/**
 * completion_finish - hand work back to the iothread
 * @p: the pool
 * @q: where the work came from, not locked; locked afterwards, as the worker goes on with it
 * @work: the work, no longer the caller's
 */
void completion_finish(struct pool *p, struct work_queue *q, struct pool_work *work)
{
	bool was_empty = push(p, work);

	switch (p->config.completion) {
	case POOL_COMPLETION_EVENTFD_LOCKED:
		pthread_mutex_lock(&q->lock);
		if (armed(p))
			notify(p);
		return;
	case POOL_COMPLETION_EVENTFD:
		if (armed(p))
			notify(p);
		break;
	case POOL_COMPLETION_COALESCED:
		if (was_empty)
			notify(p);
		break;
	case POOL_COMPLETION_POLL:
		if (disarm_first(p))
			notify(p);
		break;
	}
	pthread_mutex_lock(&q->lock);
}

/**
 * completion_expect_more - the iothread is awake and will look at the done list
 * @p: the pool; called in its iothread
 *
 * The loop disarms a source when it polls or has found work in it. A thread that was woken
 * by another source is awake just as well, as QEMU's notify_me tells the workers.
 */
void completion_expect_more(struct pool *p)
{
	if (p->source.armed) {
		event_source_rearm(&p->source);
		done_disarm(&p->source);
	}
}

/**
 * completion_open - let the iothread watch the done list
 * @p: the pool; called in its iothread
 *
 * Return: 0 or a negative errno.
 */
int completion_open(struct pool *p)
{
	int ret;

	p->source = (struct event_source) { .ops = &done_ops };
	p->source.fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (p->source.fd < 0)
		return -errno;
	p->done = alloc_apart(1, sizeof(*p->done));
	ret = p->done ? iothread_add_source(p->it, &p->source) : -ENOMEM;
	if (ret) {
		free(p->done);
		close(p->source.fd);
	}
	return ret;
}

/**
 * completion_close - finish what is done, and undo completion_open()
 * @p: the pool, without workers; called in its iothread
 */
void completion_close(struct pool *p)
{
	done_dispatch(&p->source);
	iothread_remove_source(p->it, &p->source);
	close(p->source.fd);
	free(p->done);
}

static void start_wanted(struct pool *p);

/* Add this thread's CPU time and switches to those of its place. */
static void leave_usage(struct pool_worker *w)
{
	struct rusage ru;

	getrusage(RUSAGE_THREAD, &ru);
	counter_add(&w->user_ns, timeval_ns(&ru.ru_utime));
	counter_add(&w->system_ns, timeval_ns(&ru.ru_stime));
	counter_add(&w->voluntary, ru.ru_nvcsw);
	counter_add(&w->involuntary, ru.ru_nivcsw);
}

/*
 * Leave, if that is allowed; with the queue's lock held, under which the iothread decides
 * whether it needs another thread.
 */
static bool leave(struct pool_worker *w)
{
	struct pool *p = w->pool;
	bool ends;

	pthread_mutex_lock(&p->lock);
	ends = w->queue->stop || atomic_load_explicit(&p->threads, memory_order_relaxed) >
				 p->config.min_threads;
	if (ends) {
		atomic_fetch_sub_explicit(&p->threads, 1, memory_order_relaxed);
		w->state = WORKER_NONE;
		leave_usage(w);
		if (p->config.queue == POOL_QUEUE_PER_THREAD)
			atomic_store_explicit(&w->queue->closed, true, memory_order_relaxed);
	}
	pthread_mutex_unlock(&p->lock);
	return ends;
}

/* With the queue's lock held; NULL when the worker is to end */
static struct pool_work *wait_for_work(struct pool_worker *w)
{
	struct work_queue *q = w->queue;

	for (;;) {
		bool in_time = w->pool->config.wakeup->wait(q, w, w->pool->config.idle_ns);
		struct pool_work *work = queue_take(q);

		if (work)
			return work;
		if ((q->stop || !in_time) && leave(w))
			return NULL;
	}
}

/* The threads of a place follow one another, and write into the same part of the trace. */
static void enter_trace(struct pool_worker *w)
{
	struct pool *p = w->pool;
	int ret = 0;

	if (w->trace)
		trace_ring_enter(w->trace);
	else if (p->config.trace)
		ret = trace_thread(p->config.trace, w->name, TRACE_WORKER, TRACE_WORKER_RECORDS,
				   &w->trace);
	if (!ret)
		return;
	pthread_mutex_lock(&p->lock);
	if (!p->untraced)
		options_error(NULL, "trace", "no room for the records of %s: %s", w->name, strerror(-ret));
	p->untraced = true;
	pthread_mutex_unlock(&p->lock);
}

static inline void note(struct pool_worker *w, enum trace_event event, const struct pool_work *work)
{
	if (event == TRACE_WORK)
		PROBE1(worker_begins, IN_REG(work));
	else
		PROBE1(worker_done, IN_REG(work));
	if (unlikely(w->trace))
		trace_note(w->trace, event, work->name.queue, work->name.tag, 0);
}

static void *worker_main(void *arg)
{
	struct pool_worker *w = arg;
	struct work_queue *q = w->queue;
	struct pool_work *work;

	pthread_setname_np(pthread_self(), w->name);
	counter_set(&w->tid, syscall(SYS_gettid));
	enter_trace(w);

	pthread_mutex_lock(&w->pool->lock);
	w->pool->pending--;
	pthread_mutex_unlock(&w->pool->lock);
	start_wanted(w->pool);

	pthread_mutex_lock(&q->lock);
	while ((work = wait_for_work(w))) {
		pthread_mutex_unlock(&q->lock);
		note(w, TRACE_WORK, work);
		work->run(work);
		note(w, TRACE_WORKED, work);
		counter_add(&w->requests, 1);
		completion_finish(w->pool, q, work);
	}
	pthread_mutex_unlock(&q->lock);
	return NULL;
}

/* Create a thread that no signal goes to and that runs on the pool's CPUs. */
static int create(struct pool_worker *w)
{
	const cpu_set_t *cpus = &w->pool->config.cpus;
	sigset_t all, old;
	pthread_attr_t attr;
	int ret;

	pthread_attr_init(&attr);
	ret = pthread_attr_setaffinity_np(&attr, sizeof(*cpus), cpus);
	if (!ret) {
		sigfillset(&all);
		pthread_sigmask(SIG_SETMASK, &all, &old);
		ret = pthread_create(&w->thread, &attr, worker_main, w);
		pthread_sigmask(SIG_SETMASK, &old, NULL);
	}
	pthread_attr_destroy(&attr);
	return -ret;
}

static void report(struct pool *p, const struct pool_worker *w, int err)
{
	if (!p->reported)
		options_error(NULL, NULL, "%s: cannot start a thread: %s", w->name, strerror(-err));
	p->reported = true;
}

/**
 * worker_start - start a thread in a place that has none
 * @w: the place, wanted; the pool's lock is held
 *
 * Return: 0 or a negative errno, reported if it is the pool's first; the place is free then.
 */
int worker_start(struct pool_worker *w)
{
	struct pool *p = w->pool;
	int ret;

	if (w->joinable)
		pthread_join(w->thread, NULL);
	counter_set(&w->tid, 0);
	ret = create(w);
	w->joinable = !ret;
	p->wanted--;
	if (ret) {
		report(p, w, ret);
		w->state = WORKER_NONE;
		atomic_fetch_sub_explicit(&p->threads, 1, memory_order_relaxed);
		return ret;
	}
	w->state = WORKER_RUNNING;
	p->pending++;
	counter_add(&w->starts, 1);
	return 0;
}

static struct pool_worker *find(struct pool *p, enum worker_state state)
{
	for (unsigned int i = 0; i < p->config.max_threads; i++) {
		if (p->worker[i].state == state)
			return &p->worker[i];
	}
	return NULL;
}

/* No worker will come for what waits in a queue: do it here, slow as that is. */
static void run_here(struct pool *p, struct work_queue *q)
{
	struct pool_work *work;

	pthread_mutex_lock(&q->lock);
	atomic_store_explicit(&q->closed, true, memory_order_relaxed);
	while ((work = queue_take(q))) {
		pthread_mutex_unlock(&q->lock);
		work->run(work);
		completion_finish(p, q, work);
	}
	pthread_mutex_unlock(&q->lock);
}

/*
 * Start one of the threads asked for; it will start the next, as QEMU's do, so that nobody
 * spends much time on it at once.
 */
static void start_wanted(struct pool *p)
{
	struct pool_worker *w;
	bool stranded = false;

	do {
		pthread_mutex_lock(&p->lock);
		w = p->stopping || !p->wanted ? NULL : find(p, WORKER_WANTED);
		if (w && !worker_start(w))
			w = NULL;
		stranded = w && (p->config.queue == POOL_QUEUE_PER_THREAD ||
				 !atomic_load_explicit(&p->threads, memory_order_relaxed));
		pthread_mutex_unlock(&p->lock);
		if (stranded)
			run_here(p, w->queue);
	} while (w);
}

/**
 * worker_spawn_deferred - start a thread at the end of the iothread's turn
 * @d: the pool's spawn
 */
void worker_spawn_deferred(struct deferred *d)
{
	struct pool *p = container_of(d, struct pool, spawn);

	/* A pool stopped in the same turn has no lock any more. */
	if (p->worker)
		start_wanted(p);
}

/**
 * worker_want - ask for one more thread
 * @p: the pool; called in its iothread
 * @w: in which place, or NULL for any
 *
 * When threads are coming already, they will start this one.
 */
void worker_want(struct pool *p, struct pool_worker *w)
{
	bool first = false;

	pthread_mutex_lock(&p->lock);
	if (!w)
		w = find(p, WORKER_NONE);
	if (w) {
		first = !p->pending;
		w->state = WORKER_WANTED;
		p->wanted++;
		atomic_fetch_add_explicit(&p->threads, 1, memory_order_relaxed);
	}
	pthread_mutex_unlock(&p->lock);
	if (first)
		iothread_defer(p->it, &p->spawn);
}

static void stop_queue(struct pool *p, struct work_queue *q)
{
	pthread_mutex_lock(&q->lock);
	q->stop = true;
	p->config.wakeup->wake_all(q, p->config.max_threads);
	pthread_mutex_unlock(&q->lock);
}

/**
 * workers_join - let the workers finish all work that waits, and end them
 * @p: the pool; called in its iothread
 */
void workers_join(struct pool *p)
{
	pthread_mutex_lock(&p->lock);
	p->stopping = true;
	pthread_mutex_unlock(&p->lock);

	for (unsigned int i = 0; i < p->nr_queues; i++)
		stop_queue(p, &p->queue[i]);
	for (unsigned int i = 0; i < p->config.max_threads; i++) {
		if (p->worker[i].joinable)
			pthread_join(p->worker[i].thread, NULL);
	}
	/* Threads asked for in this very turn have not come. */
	for (unsigned int i = 0; i < p->nr_queues; i++)
		run_here(p, &p->queue[i]);
}
