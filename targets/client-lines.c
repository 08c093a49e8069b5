/* SPDX-License-Identifier: GPL-2.0-only */
#include <errno.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#include "base/clock.h"
#include "targets/client-lines.h"

/* Lines at once, and lines a second after that; the others are counted. */
#define BURST		200
#define A_SECOND	20

/* Bytes that may wait for stderr, beside one text of client_lines_text() */
#define WAITING_MAX	(64u << 10)

#define LINE_MAX_LEN	512

/* At the end of the target: how long to wait for a reader */
#define FLUSH_MS	500

#define SECOND_NS	UINT64_C(1000000000)

/* A text that waits for stderr */
struct text {
	struct text *next;
	char *bytes;
	size_t len;
	bool is_line;
};

bool client_lines_silent;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t came = PTHREAD_COND_INITIALIZER;
static pthread_cond_t gone = PTHREAD_COND_INITIALIZER;
static struct text *first;
static struct text **last = &first;
static size_t waiting;		/* bytes of lines, the one being written included */
static bool has_text;		/* one of client_lines_text() waits or is being written */
static bool writing;
static bool has_writer;
static uint64_t left_out;	/* lines since the last one that said how many */
static uint64_t allowed_ns;	/* from when on the next line may come, see may_say() */

static void write_all(const char *bytes, size_t len)
{
	while (len) {
		ssize_t n = write(STDERR_FILENO, bytes, len);

		if (n < 0 && errno == EINTR)
			continue;
		/* The reader has gone. */
		if (n <= 0)
			return;
		bytes += n;
		len -= n;
	}
}

static void add(struct text *t)
{
	t->next = NULL;
	*last = t;
	last = &t->next;
	if (t->is_line)
		waiting += t->len;
	else
		has_text = true;
	pthread_cond_signal(&came);
}

/* Returns false without memory. */
static bool add_line(const char *fmt, va_list ap)
{
	struct text *t = malloc(sizeof(*t) + LINE_MAX_LEN);
	int len;

	if (!t)
		return false;
	t->bytes = (char *)(t + 1);
	t->is_line = true;
	len = snprintf(t->bytes, LINE_MAX_LEN, "%s: ", program_invocation_short_name);
	len += vsnprintf(t->bytes + len, LINE_MAX_LEN - len, fmt, ap);
	if (len > LINE_MAX_LEN - 2)
		len = LINE_MAX_LEN - 2;
	t->bytes[len] = '\n';
	t->len = len + 1;
	add(t);
	return true;
}

/*
 * Move the time from which the next line may come by a line's share of a second; unused time is
 * saved up for as many as BURST lines.
 */
static bool may_say(void)
{
	uint64_t now = clock_ns(), saved = BURST * SECOND_NS / A_SECOND;

	if (waiting > WAITING_MAX)
		return false;
	if (allowed_ns + saved < now)
		allowed_ns = now - saved;
	if (allowed_ns > now)
		return false;
	allowed_ns += SECOND_NS / A_SECOND;
	return true;
}

__attribute__((format(printf, 1, 2)))
static void add_own_line(const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	if (add_line(fmt, ap))
		left_out = 0;
	va_end(ap);
}

static void say_left_out(void)
{
	if (left_out)
		add_own_line("%llu more lines about clients were suppressed", (unsigned long long)left_out);
}

/* Wait until there is a text to write, or it is time to say how many were suppressed. */
static void wait_for_text(void)
{
	while (!first) {
		struct timespec until;

		if (!left_out) {
			pthread_cond_wait(&came, &lock);
			continue;
		}
		until = ns_timespec(clock_ns() + SECOND_NS);
		if (pthread_cond_clockwait(&came, &lock, CLOCK_MONOTONIC, &until) == ETIMEDOUT)
			say_left_out();
	}
}

static void *writer_main(void *unused)
{
	(void)unused;
	pthread_setname_np(pthread_self(), "stderr");
	pthread_mutex_lock(&lock);
	for (;;) {
		struct text *t;

		wait_for_text();
		t = first;
		first = t->next;
		if (!first)
			last = &first;
		writing = true;
		pthread_mutex_unlock(&lock);
		write_all(t->bytes, t->len);
		pthread_mutex_lock(&lock);
		writing = false;
		if (t->is_line)
			waiting -= t->len;
		else
			has_text = false;
		if (t->bytes != (char *)(t + 1))
			free(t->bytes);
		free(t);
		pthread_cond_signal(&gone);
	}
	return NULL;
}

/* With the lock; false when no thread can be started. */
static bool have_writer(void)
{
	pthread_attr_t attr;
	pthread_t thread;

	if (has_writer)
		return true;
	pthread_attr_init(&attr);
	pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_DETACHED);
	has_writer = !pthread_create(&thread, &attr, writer_main, NULL);
	pthread_attr_destroy(&attr);
	return has_writer;
}

/**
 * client_line - write a line about a client to stderr, soon
 * @fmt: one line without its end, printf() style; the program's name is put before it
 *
 * From any thread; it never waits for stderr. When there are too many, lines are suppressed and
 * another one says how many.
 */
void client_line(const char *fmt, ...)
{
	va_list ap;

	if (client_lines_silent)
		return;
	pthread_mutex_lock(&lock);
	if (!have_writer() || !may_say()) {
		left_out++;
	} else {
		say_left_out();
		va_start(ap, fmt);
		if (!add_line(fmt, ap))
			left_out++;
		va_end(ap);
	}
	/* Also for the line that says how many were suppressed */
	pthread_cond_signal(&came);
	pthread_mutex_unlock(&lock);
}

/**
 * client_lines_text - write a text that was asked for to stderr, soon
 * @text: allocated by malloc(), this function's from here on
 * @len: bytes
 *
 * Dropped while an earlier one has not been taken.
 */
void client_lines_text(char *text, size_t len)
{
	struct text *t = malloc(sizeof(*t));

	pthread_mutex_lock(&lock);
	if (t && !has_text && have_writer()) {
		*t = (struct text) { .bytes = text, .len = len };
		add(t);
		t = NULL;
		text = NULL;
	}
	pthread_mutex_unlock(&lock);
	free(t);
	free(text);
}

/**
 * client_lines_flush - wait until all lines are written, but not for long
 *
 * For the end of a target: lines that are not read by then are lost.
 */
void client_lines_flush(void)
{
	const struct timespec until = ns_timespec(clock_ns() + FLUSH_MS * UINT64_C(1000000));

	pthread_mutex_lock(&lock);
	if (has_writer)
		say_left_out();
	while ((first || writing) &&
	       pthread_cond_clockwait(&gone, &lock, CLOCK_MONOTONIC, &until) != ETIMEDOUT)
		;
	pthread_mutex_unlock(&lock);
}
