/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A thread pool after QEMU's util/thread-pool.c: a thread is started when work is submitted
 * and none is idle, up to a maximum, and ends when it has been idle for a while.
 */
#include <errno.h>
#include <inttypes.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#include "base/json.h"
#include "targets/options.h"
#include "targets/pool/wakeup.h"

#define LIST_OPS(name, ops)	&ops,
const struct wakeup_ops *const wakeup_list[] = { WAKEUPS(LIST_OPS) NULL };
#undef LIST_OPS

#define LIST_NAME(name, ops)	name,
const char *const wakeup_names[] = { WAKEUPS(LIST_NAME) NULL };
#undef LIST_NAME

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

struct usage {
	uint64_t user_ns;
	uint64_t system_ns;
	uint64_t voluntary;
	uint64_t involuntary;
};

/* A worker asleep cannot be asked, and waking it would count: the kernel is asked instead. */
static FILE *open_task(const struct pool_worker *w, const char *name)
{
	char path[64];

	snprintf(path, sizeof(path), "/proc/self/task/%" PRIu64 "/%s", counter_get(&w->tid), name);
	return fopen(path, "re");
}

/* Fields 14 and 15 of proc(5)'s stat; the second may contain blanks and brackets. */
static bool read_ticks(const struct pool_worker *w, uint64_t *user, uint64_t *system)
{
	FILE *f = open_task(w, "stat");
	char line[1024] = "", *rest;
	bool ok;

	if (!f)
		return false;
	ok = fgets(line, sizeof(line), f) && (rest = strrchr(line, ')')) &&
	     sscanf(rest + 1, " %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %" SCNu64 " %" SCNu64,
		    user, system) == 2;
	fclose(f);
	return ok;
}

/* The clock of the thread has ns, but only their sum; ticks say how it is divided. */
static void add_cpu(const struct pool_worker *w, struct usage *u)
{
	uint64_t user, system, ns;
	struct timespec ts;
	clockid_t clock;

	if (pthread_getcpuclockid(w->thread, &clock) || clock_gettime(clock, &ts) ||
	    !read_ticks(w, &user, &system))
		return;
	ns = ts.tv_sec * 1000000000ull + ts.tv_nsec;
	system = system ? ns * ((double)system / (user + system)) : 0;
	u->user_ns += ns - system;
	u->system_ns += system;
}

static void add_switches(const struct pool_worker *w, struct usage *u)
{
	FILE *f = open_task(w, "status");
	char line[256];
	uint64_t n;

	if (!f)
		return;
	while (fgets(line, sizeof(line), f)) {
		if (sscanf(line, "voluntary_ctxt_switches: %" SCNu64, &n) == 1)
			u->voluntary += n;
		else if (sscanf(line, "nonvoluntary_ctxt_switches: %" SCNu64, &n) == 1)
			u->involuntary += n;
	}
	fclose(f);
}

static void worker_json(struct json *j, const struct pool_worker *w)
{
	/* No thread goes or comes with the pool's lock held, so none is counted twice. */
	struct usage u = {
		.user_ns = counter_get(&w->user_ns),
		.system_ns = counter_get(&w->system_ns),
		.voluntary = counter_get(&w->voluntary),
		.involuntary = counter_get(&w->involuntary),
	};

	if (w->state == WORKER_RUNNING && counter_get(&w->tid)) {
		add_cpu(w, &u);
		add_switches(w, &u);
	}
	json_open_object(j, NULL);
	json_str(j, "name", w->name);
	json_u64(j, "tid", counter_get(&w->tid));
	json_bool(j, "running", w->state == WORKER_RUNNING);
	json_u64(j, "starts", counter_get(&w->starts));
	json_u64(j, "requests", counter_get(&w->requests));
	json_u64(j, "sleeps", counter_get(&w->sleeps));
	json_u64(j, "wakeups", counter_get(&w->wakeups));

	json_open_object(j, "cpu");
	json_u64(j, "user_ns", u.user_ns);
	json_u64(j, "system_ns", u.system_ns);
	json_close_object(j);

	json_open_object(j, "switches");
	json_u64(j, "voluntary", u.voluntary);
	json_u64(j, "involuntary", u.involuntary);
	json_close_object(j);
	json_close_object(j);
}

/**
 * pool_stats_json - write what each worker has done, an object each
 * @j: the writer, inside an array
 * @p: the pool, running; called from any thread
 *
 * Figures are of a place in the pool: of all the threads that it has had, "starts" of them.
 * Places that never had one are left out.
 */
void pool_stats_json(struct json *j, struct pool *p)
{
	pthread_mutex_lock(&p->lock);
	for (unsigned int i = 0; i < p->config.max_threads; i++) {
		if (counter_get(&p->worker[i].starts))
			worker_json(j, &p->worker[i]);
	}
	pthread_mutex_unlock(&p->lock);
}
