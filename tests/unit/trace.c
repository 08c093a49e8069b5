/* SPDX-License-Identifier: GPL-2.0-only */
/* wire/trace.c: what is in a file that threads have written their events into */

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cmocka.h>

#include "base/clock.h"
#include "wire/trace.h"

#define RECORDS	256u

static char path[64];

static int setup(void **state)
{
	int fd;

	(void)state;
	strcpy(path, "/tmp/trace-unit.XXXXXX");
	fd = mkstemp(path);
	return fd < 0 ? -1 : close(fd);
}

static int teardown(void **state)
{
	(void)state;
	unlink(path);
	return 0;
}

struct file {
	char *at;
	size_t len;
};

static struct file map(void)
{
	struct file f;
	struct stat st;
	int fd = open(path, O_RDONLY);

	assert_true(fd >= 0 && !fstat(fd, &st));
	f.len = st.st_size;
	f.at = mmap(NULL, f.len, PROT_READ, MAP_SHARED, fd, 0);
	assert_true(f.at != MAP_FAILED);
	close(fd);
	return f;
}

static const struct trace_thread *section(const struct file *f, unsigned int n)
{
	size_t each = TRACE_PAGE + RECORDS * sizeof(struct trace_record);
	size_t at = TRACE_PAGE + n * each;

	assert_true(at + each <= f->len);
	return (const struct trace_thread *)(f->at + at);
}

static const struct trace_record *record(const struct trace_thread *t, uint64_t n)
{
	return (const struct trace_record *)((const char *)t + TRACE_PAGE) + n % t->records;
}

static void test_header(void **state)
{
	const struct trace_header *h;
	struct trace t;
	struct file f;

	(void)state;
	assert_int_equal(trace_open(&t, path, "a-program"), 0);
	trace_close(&t);
	f = map();
	assert_int_equal(f.len, TRACE_PAGE);
	h = (const struct trace_header *)f.at;
	assert_memory_equal(h->magic, TRACE_MAGIC, sizeof(h->magic));
	assert_int_equal(h->version, TRACE_VERSION);
	assert_int_equal(h->record, 32);
	assert_int_equal(h->clock, CLOCK_MONOTONIC);
	assert_int_equal(h->pid, getpid());
	assert_true(h->start_ns && h->start_ns <= clock_ns());
	assert_string_equal(h->program, "a-program");
	assert_true(h->host[0] && strlen(h->boot) == 36);
	munmap(f.at, f.len);
}

static void test_oldest_lost(void **state)
{
	const struct trace_thread *s;
	struct trace_ring *r;
	struct trace t;
	struct file f;
	uint64_t last = 0;

	(void)state;
	assert_int_equal(trace_open(&t, path, "x"), 0);
	assert_int_equal(trace_thread(&t, "writer", TRACE_JOB, RECORDS, &r), 0);
	for (uint64_t i = 0; i < 3 * RECORDS + 5; i++)
		trace_put(r, (struct trace_record) { .event = TRACE_QUEUE, .tag = i, .offset = 512 * i,
						     .bytes = 4096, .queue = 7, .kind = TRACE_WRITE });
	trace_close(&t);

	f = map();
	s = section(&f, 0);
	assert_string_equal(s->name, "writer");
	assert_int_equal(s->role, TRACE_JOB);
	assert_int_equal(s->records, RECORDS);
	assert_int_equal(s->written, 3 * RECORDS + 5);
	for (uint64_t i = s->written - RECORDS; i < s->written; i++) {
		const struct trace_record *e = record(s, i);

		assert_int_equal(e->tag, i);
		assert_int_equal(e->offset, 512 * i);
		assert_int_equal(e->bytes, 4096);
		assert_int_equal(e->queue, 7);
		assert_int_equal(e->event, TRACE_QUEUE);
		assert_int_equal(e->kind, TRACE_WRITE);
		assert_true(e->time_ns >= last);
		last = e->time_ns;
	}
	munmap(f.at, f.len);
}

static void test_given_time(void **state)
{
	struct trace_ring *r;
	struct trace t;
	struct file f;

	(void)state;
	assert_int_equal(trace_open(&t, path, "x"), 0);
	assert_int_equal(trace_thread(&t, "writer", TRACE_JOB, RECORDS, &r), 0);
	trace_put(r, (struct trace_record) { .time_ns = 12345, .event = TRACE_SEEN });
	trace_close(&t);
	f = map();
	assert_int_equal(record(section(&f, 0), 0)->time_ns, 12345);
	munmap(f.at, f.len);
}

struct writer {
	struct trace *t;
	unsigned int number;
};

static void *write_some(void *arg)
{
	struct writer *w = arg;
	char name[16];
	struct trace_ring *r;

	snprintf(name, sizeof(name), "thread%u", w->number);
	trace_thread(w->t, name, TRACE_WORKER, RECORDS, &r);
	for (unsigned int i = 0; r && i <= w->number; i++)
		trace_put(r, (struct trace_record) { .event = TRACE_WORK, .tag = w->number });
	return NULL;
}

/* Threads that come at the same time have a section each. */
static void test_threads(void **state)
{
	struct writer w[8];
	pthread_t thread[8];
	unsigned int seen = 0;
	struct trace t;
	struct file f;

	(void)state;
	assert_int_equal(trace_open(&t, path, "x"), 0);
	for (unsigned int i = 0; i < 8; i++) {
		w[i] = (struct writer) { &t, i };
		assert_int_equal(pthread_create(&thread[i], NULL, write_some, &w[i]), 0);
	}
	for (unsigned int i = 0; i < 8; i++)
		pthread_join(thread[i], NULL);
	trace_close(&t);
	f = map();
	for (unsigned int i = 0; i < 8; i++) {
		const struct trace_thread *s = section(&f, i);
		unsigned int number = s->name[6] - '0';

		assert_int_equal(s->written, number + 1);
		assert_int_equal(record(s, 0)->tag, number);
		assert_true(s->tid && (int)s->tid != getpid());
		seen |= 1u << number;
	}
	assert_int_equal(seen, 0xff);
	munmap(f.at, f.len);
}

/* A process that is killed leaves what it has written: never a record that is not whole. */
static void test_killed(void **state)
{
	const struct trace_thread *s;
	struct trace t;
	struct file f;
	int pipefd[2];
	char c;
	pid_t pid;

	(void)state;
	assert_int_equal(pipe(pipefd), 0);
	pid = fork();
	if (!pid) {
		struct trace_ring *r = NULL;

		if (!trace_open(&t, path, "x"))
			trace_thread(&t, "victim", TRACE_JOB, RECORDS, &r);
		for (uint64_t i = 0; r; i++) {
			trace_put(r, (struct trace_record) { .tag = i, .offset = ~i, .event = TRACE_POP });
			if (i == 1000 && write(pipefd[1], "", 1) != 1)
				break;
		}
		_exit(1);
	}
	assert_int_equal(read(pipefd[0], &c, 1), 1);
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	f = map();
	s = section(&f, 0);
	assert_true(s->written > 1000);
	for (uint64_t i = s->written - RECORDS + 1; i < s->written; i++) {
		assert_int_equal(record(s, i)->tag, i);
		assert_int_equal(record(s, i)->offset, ~i);
	}
	munmap(f.at, f.len);
	close(pipefd[0]);
	close(pipefd[1]);
}

static void test_refused(void **state)
{
	struct trace t;

	(void)state;
	assert_int_equal(trace_open(&t, "/no/such/dir/file", "x"), -ENOENT);
	assert_int_equal(trace_open(&t, "/dev/null", "x"), -EINVAL);
	assert_int_equal(access("/dev/null", F_OK), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_header, setup, teardown),
		cmocka_unit_test_setup_teardown(test_oldest_lost, setup, teardown),
		cmocka_unit_test_setup_teardown(test_given_time, setup, teardown),
		cmocka_unit_test_setup_teardown(test_threads, setup, teardown),
		cmocka_unit_test_setup_teardown(test_killed, setup, teardown),
		cmocka_unit_test(test_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
