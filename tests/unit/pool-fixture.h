/* SPDX-License-Identifier: GPL-2.0-only */
/* An iothread with a thread pool that works through a load, for the tests of targets/pool/ */
#ifndef POOL_FIXTURE_H
#define POOL_FIXTURE_H

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "targets/pool/wakeup.h"

#define DEPTH	16
#define MS	1000000ull
#define HOUR	(3600 * 1000 * MS)

/* What the threads other than main find out, as only main may assert */
struct item {
	struct pool_work work;	/* first, as it is what the pool hands back */
	atomic_uint runs;
	unsigned int dones;
};

static struct iothread it;
static struct pool pool;
static struct item item[DEPTH];
static sem_t finished;
static atomic_uint strange;
static unsigned int left;
static unsigned int in_flight;

static inline void run_item(struct pool_work *w)
{
	atomic_fetch_add(&((struct item *)w)->runs, 1);
	if (pthread_equal(pthread_self(), it.thread))
		atomic_fetch_add(&strange, 1);
}

/* In the iothread: the same again until all are done */
static inline void done_item(struct pool_work *w)
{
	struct item *i = (struct item *)w;

	i->dones++;
	if (atomic_load(&i->runs) != i->dones || !pthread_equal(pthread_self(), it.thread))
		atomic_fetch_add(&strange, 1);
	if (left) {
		left--;
		pool_submit(&pool, w);
	} else if (!--in_flight) {
		sem_post(&finished);
	}
}

struct load {
	unsigned int items;
	unsigned int depth;
	void (*run)(struct pool_work *w);
};

static inline void submit_load(void *arg)
{
	const struct load *l = arg;

	left = l->items - l->depth;
	in_flight = l->depth;
	for (unsigned int i = 0; i < l->depth; i++) {
		item[i].work.run = l->run;
		item[i].work.done = done_item;
		pool_submit(&pool, &item[i].work);
	}
}

static inline bool wait_finished(void)
{
	struct timespec deadline;

	clock_gettime(CLOCK_REALTIME, &deadline);
	deadline.tv_sec += 20;
	return !sem_timedwait(&finished, &deadline);
}

static inline void start_in_iothread(void *arg)
{
	struct pool_config *config = arg;

	if (pool_start(&pool, &it, config))
		atomic_fetch_add(&strange, 1);
}

static inline void stop_in_iothread(void *arg)
{
	(void)arg;
	pool_stop(&pool);
}

static inline void start_iothread(enum poll_mode mode, int cpu)
{
	struct poll_policy policy;
	cpu_set_t cpus;

	CPU_ZERO(&cpus);
	if (cpu >= 0)
		CPU_SET(cpu, &cpus);
	memset(item, 0, sizeof(item));
	atomic_store(&strange, 0);
	sem_init(&finished, 0, 0);
	poll_policy_init(&policy, &(struct poll_config) { .mode = mode, .max_ns = 32768 });
	assert_int_equal(iothread_start(&it, 7, &cpus, &policy), 0);
}

static inline void stop_iothread(void)
{
	iothread_stop(&it);
	sem_destroy(&finished);
	assert_int_equal(atomic_load(&strange), 0);
}

static inline void start(const struct pool_config *config, enum poll_mode mode)
{
	start_iothread(mode, -1);
	iothread_call(&it, start_in_iothread, (void *)config);
	assert_int_equal(atomic_load(&strange), 0);
}

static inline void stop(void)
{
	iothread_call(&it, stop_in_iothread, NULL);
	stop_iothread();
}

static inline unsigned int total(unsigned int *dones)
{
	unsigned int runs = 0;

	*dones = 0;
	for (unsigned int i = 0; i < DEPTH; i++) {
		runs += atomic_load(&item[i].runs);
		*dones += item[i].dones;
	}
	return runs;
}

static inline uint64_t requests(void)
{
	uint64_t n = 0;

	for (unsigned int i = 0; i < pool.config.max_threads; i++)
		n += counter_get(&pool.worker[i].requests);
	return n;
}

static inline uint64_t starts(void)
{
	uint64_t n = 0;

	for (unsigned int i = 0; i < pool.config.max_threads; i++)
		n += counter_get(&pool.worker[i].starts);
	return n;
}

#endif
