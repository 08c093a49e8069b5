/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * targets/pool/: every way of waking workers and of hearing from them does all work once;
 * the pool grows, shrinks and stops
 */

#include <errno.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>

#include "base/json.h"
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
static sem_t gate;
static atomic_uint inside;
static atomic_uint most_inside;
static atomic_uint strange;
static unsigned int left;
static unsigned int in_flight;

static void run_item(struct pool_work *w)
{
	atomic_fetch_add(&((struct item *)w)->runs, 1);
	if (pthread_equal(pthread_self(), it.thread))
		atomic_fetch_add(&strange, 1);
}

/* In the iothread: the same again until all are done */
static void done_item(struct pool_work *w)
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

static void submit_load(void *arg)
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

static bool wait_finished(void)
{
	struct timespec deadline;

	clock_gettime(CLOCK_REALTIME, &deadline);
	deadline.tv_sec += 20;
	return !sem_timedwait(&finished, &deadline);
}

static void start_in_iothread(void *arg)
{
	struct pool_config *config = arg;

	if (pool_start(&pool, &it, config))
		atomic_fetch_add(&strange, 1);
}

static void stop_in_iothread(void *arg)
{
	(void)arg;
	pool_stop(&pool);
}

static void start_iothread(enum poll_mode mode, int cpu)
{
	struct poll_policy policy;
	cpu_set_t cpus;

	CPU_ZERO(&cpus);
	if (cpu >= 0)
		CPU_SET(cpu, &cpus);
	memset(item, 0, sizeof(item));
	atomic_store(&strange, 0);
	atomic_store(&inside, 0);
	atomic_store(&most_inside, 0);
	sem_init(&finished, 0, 0);
	sem_init(&gate, 0, 0);
	poll_policy_init(&policy, mode, 32768, 2, 0);
	assert_int_equal(iothread_start(&it, 7, &cpus, &policy), 0);
}

static void stop_iothread(void)
{
	iothread_stop(&it);
	sem_destroy(&finished);
	sem_destroy(&gate);
	assert_int_equal(atomic_load(&strange), 0);
}

static void start(const struct pool_config *config, enum poll_mode mode)
{
	start_iothread(mode, -1);
	iothread_call(&it, start_in_iothread, (void *)config);
	assert_int_equal(atomic_load(&strange), 0);
}

static void stop(void)
{
	iothread_call(&it, stop_in_iothread, NULL);
	stop_iothread();
}

static unsigned int total(unsigned int *dones)
{
	unsigned int runs = 0;

	*dones = 0;
	for (unsigned int i = 0; i < DEPTH; i++) {
		runs += atomic_load(&item[i].runs);
		*dones += item[i].dones;
	}
	return runs;
}

static uint64_t requests(void)
{
	uint64_t n = 0;

	for (unsigned int i = 0; i < pool.config.max_threads; i++)
		n += counter_get(&pool.worker[i].requests);
	return n;
}

static void test_names(void **state)
{
	unsigned int i;

	(void)state;
	for (i = 0; wakeup_list[i]; i++)
		assert_string_equal(wakeup_list[i]->name, wakeup_names[i]);
	assert_int_equal(i, 9);
	assert_null(wakeup_names[i]);
}

/* A lost wake-up never comes: no worker's idle time ends within the test. */
static void try_one(const struct pool_config *config, enum poll_mode mode)
{
	struct load one = { .items = 40, .depth = 1, .run = run_item };
	struct load many = { .items = 300, .depth = DEPTH, .run = run_item };
	unsigned int runs, dones;

	start(config, mode);
	for (unsigned int round = 0; round < 2; round++) {
		iothread_call(&it, submit_load, round ? &many : &one);
		if (!wait_finished())
			fail_msg("%s, queue %d, completion %d, poll %d: round %u hangs",
				 config->wakeup->name, config->queue, config->completion, mode,
				 round);
	}
	runs = total(&dones);
	assert_int_equal(runs, one.items + many.items);
	assert_int_equal(dones, runs);
	assert_int_equal(requests(), runs);
	stop();
}

static void try_all(enum poll_mode mode)
{
	for (unsigned int n = 0; n < 9 * 2 * 4; n++) {
		struct pool_config config = {
			.min_threads = n % 3,
			.max_threads = 2,
			.wakeup = wakeup_list[n / 8],
			.queue = n / 4 % 2,
			.completion = n % 4,
			.idle_ns = HOUR,
		};

		try_one(&config, mode);
	}
}

static void test_all_asleep(void **state)
{
	(void)state;
	try_all(POLL_OFF);
}

static void test_all_polled(void **state)
{
	(void)state;
	try_all(POLL_BUSY);
}

static void test_windows(void **state)
{
	static const enum poll_mode modes[] = { POLL_FIXED, POLL_ADAPTIVE };

	(void)state;
	for (unsigned int n = 0; n < 8; n++) {
		struct pool_config config = {
			.max_threads = 2,
			.wakeup = &cond_unlocked_wakeup,
			.completion = n % 4,
			.idle_ns = HOUR,
		};

		try_one(&config, modes[n / 4]);
	}
}

static void run_at_gate(struct pool_work *w)
{
	unsigned int now = atomic_fetch_add(&inside, 1) + 1;
	unsigned int most = atomic_load(&most_inside);

	while (now > most && !atomic_compare_exchange_weak(&most_inside, &most, now))
		;
	run_item(w);
	while (sem_wait(&gate) && errno == EINTR)
		;
	atomic_fetch_sub(&inside, 1);
}

static bool wait_until(atomic_uint *what, unsigned int value)
{
	for (unsigned int ms = 0; ms < 20000; ms++) {
		if (atomic_load(what) == value)
			return true;
		usleep(1000);
	}
	return false;
}

static uint64_t starts(void)
{
	uint64_t n = 0;

	for (unsigned int i = 0; i < pool.config.max_threads; i++)
		n += counter_get(&pool.worker[i].starts);
	return n;
}

static void open_gate(unsigned int n)
{
	while (n--)
		sem_post(&gate);
}

static bool wait_until_idle(unsigned int n)
{
	for (unsigned int ms = 0; ms < 20000; ms++) {
		unsigned int idle;

		pthread_mutex_lock(&pool.queue->lock);
		idle = pool.queue->idle;
		pthread_mutex_unlock(&pool.queue->lock);
		if (idle == n)
			return true;
		usleep(1000);
	}
	return false;
}

/* No thread for work that finds one idle */
static void test_no_growth(void **state)
{
	struct load one = { .items = 1, .depth = 1, .run = run_item };

	(void)state;
	for (unsigned int n = 0; n < 9 * 2; n++) {
		struct pool_config config = {
			.max_threads = 5,
			.wakeup = wakeup_list[n / 2],
			.queue = n % 2,
			.idle_ns = HOUR,
		};

		start(&config, POLL_OFF);
		for (unsigned int i = 0; i < 3; i++) {
			iothread_call(&it, submit_load, &one);
			assert_true(wait_finished());
			assert_true(wait_until_idle(1));
		}
		assert_int_equal(starts(), 1);
		stop();
	}
}

/* One thread for each piece of work that finds none idle, up to the maximum */
static void test_growth(void **state)
{
	struct load three = { .items = 3, .depth = 3, .run = run_at_gate };
	struct load all = { .items = DEPTH, .depth = DEPTH, .run = run_at_gate };

	(void)state;
	for (unsigned int n = 0; n < 9 * 2; n++) {
		struct pool_config config = {
			.max_threads = 5,
			.wakeup = wakeup_list[n / 2],
			.queue = n % 2,
			.idle_ns = HOUR,
		};

		start(&config, POLL_OFF);
		assert_int_equal(atomic_load(&pool.threads), 0);
		iothread_call(&it, submit_load, &three);
		assert_true(wait_until(&inside, 3));
		assert_int_equal(starts(), 3);
		open_gate(3);
		assert_true(wait_finished());

		iothread_call(&it, submit_load, &all);
		if (config.queue == POOL_QUEUE_PER_THREAD)
			assert_true(wait_until(&inside, 5));
		assert_true(wait_until(&inside, atomic_load(&pool.threads)));
		open_gate(DEPTH);
		assert_true(wait_finished());
		assert_true(starts() <= 5);
		assert_true(atomic_load(&most_inside) <= 5);
		stop();
	}
}

/* As many as are asked for at once, when none is there */
static void test_growth_to_maximum(void **state)
{
	struct load all = { .items = DEPTH, .depth = DEPTH, .run = run_at_gate };
	struct pool_config config = {
		.max_threads = DEPTH - 4,
		.wakeup = &cond_unlocked_wakeup,
	};

	(void)state;
	for (config.queue = 0; config.queue < 2; config.queue++) {
		start(&config, POLL_OFF);
		iothread_call(&it, submit_load, &all);
		assert_true(wait_until(&inside, DEPTH - 4));
		assert_int_equal(atomic_load(&pool.threads), DEPTH - 4);
		open_gate(DEPTH);
		assert_true(wait_finished());
		assert_int_equal(atomic_load(&most_inside), DEPTH - 4);
		stop();
	}
}

static void test_idle_threads_end(void **state)
{
	struct load all = { .items = 4, .depth = 4, .run = run_at_gate };

	(void)state;
	for (unsigned int n = 0; n < 9 * 2 * 2; n++) {
		struct pool_config config = {
			.min_threads = n % 2,
			.max_threads = 4,
			.wakeup = wakeup_list[n / 4],
			.queue = n / 2 % 2,
			.idle_ns = 5 * MS,
		};

		start(&config, POLL_OFF);
		/* twice, as the second time threads come back to where others have been */
		for (unsigned int round = 0; round < 2; round++) {
			iothread_call(&it, submit_load, &all);
			/* a busy machine may end them as fast as it starts them */
			open_gate(4);
			assert_true(wait_finished());
			assert_true(wait_until(&pool.threads, config.min_threads));
		}
		assert_int_equal(requests(), 8);
		stop();
	}
}

static void test_fixed(void **state)
{
	struct load all = { .items = 200, .depth = DEPTH, .run = run_item };

	(void)state;
	for (unsigned int n = 0; n < 9 * 2; n++) {
		struct pool_config config = {
			.min_threads = 2,
			.max_threads = 2,
			.wakeup = wakeup_list[n / 2],
			.queue = n % 2,
			.idle_ns = MS,
		};

		start(&config, POLL_OFF);
		usleep(10000);
		iothread_call(&it, submit_load, &all);
		assert_true(wait_finished());
		usleep(10000);
		assert_int_equal(atomic_load(&pool.threads), 2);
		assert_int_equal(starts(), 2);
		stop();
	}
}

static void run_slowly(struct pool_work *w)
{
	usleep(1000);
	run_item(w);
}

static void submit_and_stop(void *arg)
{
	submit_load(arg);
	pool_stop(&pool);
}

/* What was submitted is done before the pool is gone, threads or no threads. */
static void test_stop_in_flight(void **state)
{
	struct load all = { .items = DEPTH, .depth = DEPTH, .run = run_slowly };
	unsigned int runs, dones;

	(void)state;
	for (unsigned int n = 0; n < 9 * 2 * 4; n++) {
		struct pool_config config = {
			.min_threads = 2,
			.max_threads = 2,
			.wakeup = wakeup_list[n / 8],
			.queue = n / 4 % 2,
			.completion = n % 4,
		};

		start(&config, POLL_OFF);
		iothread_call(&it, submit_and_stop, &all);
		runs = total(&dones);
		stop_iothread();
		assert_int_equal(runs, DEPTH);
		assert_int_equal(dones, DEPTH);
	}
}

static void run_anywhere(struct pool_work *w)
{
	atomic_fetch_add(&((struct item *)w)->runs, 1);
}

/* The threads have only been asked for when it is stopped. */
static void test_stop_without_threads(void **state)
{
	struct load all = { .items = DEPTH, .depth = DEPTH, .run = run_anywhere };
	struct pool_config config = { .max_threads = 4, .wakeup = &sem_wakeup };
	unsigned int runs, dones;

	(void)state;
	for (config.queue = 0; config.queue < 2; config.queue++) {
		start(&config, POLL_OFF);
		iothread_call(&it, submit_and_stop, &all);
		runs = total(&dones);
		stop_iothread();
		assert_int_equal(runs, DEPTH);
		assert_int_equal(dones, DEPTH);
	}
}

/* A thread can run on no CPU that does not exist, so there will be none. */
static void test_no_thread_to_be_had(void **state)
{
	struct load all = { .items = 3 * DEPTH, .depth = DEPTH, .run = run_anywhere };
	struct pool_config config = { .max_threads = 4, .wakeup = &sem_wakeup };
	unsigned int runs, dones;

	(void)state;
	CPU_SET(CPU_SETSIZE - 1, &config.cpus);
	for (config.queue = 0; config.queue < 2; config.queue++) {
		start(&config, POLL_OFF);
		iothread_call(&it, submit_load, &all);
		assert_true(wait_finished());
		runs = total(&dones);
		assert_int_equal(runs, 3 * DEPTH);
		assert_int_equal(dones, runs);
		assert_int_equal(starts(), 0);
		stop();
	}

	config.min_threads = 1;
	start_iothread(POLL_OFF, -1);
	iothread_call(&it, start_in_iothread, &config);
	/* refused, with nothing left behind */
	assert_int_equal(atomic_exchange(&strange, 0), 1);
	stop_iothread();
}

static char thread_name[16];
static sigset_t thread_mask;
static cpu_set_t thread_cpus;

static void run_curious(struct pool_work *w)
{
	pthread_getname_np(pthread_self(), thread_name, sizeof(thread_name));
	pthread_sigmask(SIG_SETMASK, NULL, &thread_mask);
	sched_getaffinity(0, sizeof(thread_cpus), &thread_cpus);
	run_item(w);
}

static int first_cpu(const cpu_set_t *cpus)
{
	int cpu = 0;

	while (!CPU_ISSET(cpu, cpus))
		cpu++;
	return cpu;
}

static void test_thread(void **state)
{
	struct load one = { .items = 1, .depth = 1, .run = run_curious };
	struct pool_config config = { .max_threads = 4, .wakeup = &futex_wakeup };
	cpu_set_t own;

	(void)state;
	sched_getaffinity(0, sizeof(own), &own);
	start_iothread(POLL_OFF, first_cpu(&own));
	iothread_call(&it, start_in_iothread, &config);
	iothread_call(&it, submit_load, &one);
	assert_true(wait_finished());
	stop();
	assert_string_equal(thread_name, "worker7.0");
	assert_true(sigismember(&thread_mask, SIGTERM));
	assert_true(sigismember(&thread_mask, SIGUSR1));
	/* not its iothread's one CPU */
	assert_true(CPU_EQUAL(&thread_cpus, &own));

	/* or where it is told to */
	CPU_SET(first_cpu(&own), &config.cpus);
	start(&config, POLL_OFF);
	iothread_call(&it, submit_load, &one);
	assert_true(wait_finished());
	stop();
	assert_true(CPU_EQUAL(&thread_cpus, &config.cpus));
}

static uint64_t thread_cpu_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &ts);
	return ts.tv_sec * 1000000000ull + ts.tv_nsec;
}

static void run_hot(struct pool_work *w)
{
	uint64_t end = thread_cpu_ns() + 30 * MS;

	while (thread_cpu_ns() < end)
		;
	run_item(w);
}

static uint64_t number_after(const char *text, const char *key)
{
	const char *at = strstr(text, key);

	assert_non_null(at);
	return strtoull(at + strlen(key), NULL, 10);
}

static uint64_t reported_cpu(char **text)
{
	size_t len;
	struct json j;
	FILE *f = open_memstream(text, &len);

	json_init(&j, f);
	json_open_array(&j, NULL);
	pool_stats_json(&j, &pool);
	json_close_array(&j);
	json_finish(&j);
	fclose(f);
	return number_after(*text, "\"user_ns\": ") + number_after(*text, "\"system_ns\": ");
}

static void test_stats(void **state)
{
	struct load one = { .items = 2, .depth = 1, .run = run_hot };
	struct pool_config config = {
		.max_threads = 1,
		.wakeup = &cond_unlocked_wakeup,
		.idle_ns = 300 * MS,
	};
	uint64_t alive, ended;
	char *text;

	(void)state;
	start(&config, POLL_OFF);
	iothread_call(&it, submit_load, &one);
	assert_true(wait_finished());
	alive = reported_cpu(&text);
	assert_true(alive >= 60 * MS);
	assert_non_null(strstr(text, "\"name\": \"worker7.0\""));
	assert_int_equal(number_after(text, "\"requests\": "), 2);
	assert_int_equal(number_after(text, "\"starts\": "), 1);
	free(text);

	/* The threads go, their figures stay. */
	assert_true(wait_until(&pool.threads, 0));
	ended = reported_cpu(&text);
	assert_true(ended >= 60 * MS);
	assert_true(ended < 2 * alive);
	assert_true(number_after(text, "\"voluntary\": ") > 0);
	/* All sleeps but the last were ended by work. */
	assert_true(number_after(text, "\"sleeps\": ") > 0);
	assert_int_equal(number_after(text, "\"wakeups\": ") + 1,
			 number_after(text, "\"sleeps\": "));
	free(text);
	stop();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_names),
		cmocka_unit_test(test_all_asleep),
		cmocka_unit_test(test_all_polled),
		cmocka_unit_test(test_windows),
		cmocka_unit_test(test_no_growth),
		cmocka_unit_test(test_growth),
		cmocka_unit_test(test_growth_to_maximum),
		cmocka_unit_test(test_idle_threads_end),
		cmocka_unit_test(test_fixed),
		cmocka_unit_test(test_stop_in_flight),
		cmocka_unit_test(test_stop_without_threads),
		cmocka_unit_test(test_no_thread_to_be_had),
		cmocka_unit_test(test_thread),
		cmocka_unit_test(test_stats),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
