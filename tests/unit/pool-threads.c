/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * targets/pool/worker.c and pool.c: threads come when there is work, go when there is
 * none, and are counted
 */

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/json.h"
#include "tests/unit/pool-fixture.h"

static sem_t gate;
static atomic_uint inside;
static atomic_uint most_inside;

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
	for (unsigned int n = 0; wakeup_list[n / 2]; n++) {
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
	for (unsigned int n = 0; wakeup_list[n / 2]; n++) {
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
	for (unsigned int n = 0; wakeup_list[n / 4]; n++) {
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
	for (unsigned int n = 0; wakeup_list[n / 2]; n++) {
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

static int set_up(void **state)
{
	(void)state;
	atomic_store(&most_inside, 0);
	return sem_init(&gate, 0, 0);
}

static int tear_down(void **state)
{
	(void)state;
	return sem_destroy(&gate);
}

#define TEST(fn)	cmocka_unit_test_setup_teardown(fn, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_no_growth),
		TEST(test_growth),
		TEST(test_growth_to_maximum),
		TEST(test_idle_threads_end),
		TEST(test_fixed),
		TEST(test_thread),
		TEST(test_stats),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
