/* SPDX-License-Identifier: GPL-2.0-only */
#include <errno.h>
#include <signal.h>
#include <stddef.h>
#include <time.h>
#include "targets/iothread/guard.h"

/* Does nothing by default where it arrives too late, or is sent by somebody else. */
#define SIGNAL	SIGURG

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static struct guard *watched;
static bool has_watcher;

static void look_at(struct guard *g)
{
	/* relaxed: see guard_enter() */
	unsigned int entered = atomic_load_explicit(&g->entered, memory_order_relaxed);

	if (entered & 1 && entered == g->seen) {
		atomic_store_explicit(&g->careful, true, memory_order_relaxed);
		/* Again at the next look: it may come just before the call begins to wait. */
		pthread_kill(g->thread, SIGNAL);
	}
	g->seen = entered;
}

static void *watcher_main(void *unused)
{
	const struct timespec tick = { .tv_nsec = GUARD_TICK_MS * 1000000L };

	(void)unused;
	pthread_setname_np(pthread_self(), "guard");
	for (;;) {
		pthread_mutex_lock(&lock);
		while (!watched)
			pthread_cond_wait(&changed, &lock);
		for (struct guard *g = watched; g; g = g->next)
			look_at(g);
		pthread_mutex_unlock(&lock);
		clock_nanosleep(CLOCK_MONOTONIC, 0, &tick, NULL);
	}
	return NULL;
}

static void nothing(int sig)
{
	(void)sig;
}

/* With the lock. Without a thread nobody is interrupted, and all else works. */
static void start_watcher(void)
{
	/* No SA_RESTART: the call is to end. */
	struct sigaction sa = { .sa_handler = nothing };
	pthread_attr_t attr;
	pthread_t thread;

	if (has_watcher)
		return;
	sigemptyset(&sa.sa_mask);
	sigaction(SIGNAL, &sa, NULL);
	pthread_attr_init(&attr);
	pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_DETACHED);
	has_watcher = !pthread_create(&thread, &attr, watcher_main, NULL);
	pthread_attr_destroy(&attr);
}

/**
 * guard_watch - have an iothread interrupted where a peer keeps it
 * @g: its guard
 * @thread: the iothread
 *
 * Once for each peer. For a process that serves others: it takes the handler of SIGURG.
 */
void guard_watch(struct guard *g, pthread_t thread)
{
	pthread_mutex_lock(&lock);
	start_watcher();
	if (!g->users++) {
		g->thread = thread;
		g->next = watched;
		watched = g;
		pthread_cond_signal(&changed);
	}
	pthread_mutex_unlock(&lock);
}

/**
 * guard_unwatch - undo guard_watch(), before the iothread ends
 * @g: its guard
 */
void guard_unwatch(struct guard *g)
{
	struct guard **p;

	pthread_mutex_lock(&lock);
	if (!--g->users) {
		for (p = &watched; *p != g; p = &(*p)->next)
			;
		*p = g->next;
	}
	pthread_mutex_unlock(&lock);
}
