/* SPDX-License-Identifier: GPL-2.0-only */
#include <errno.h>
#include <linux/aio_abi.h>
#include <signal.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>
#include "targets/iothread/guard.h"

/* Ignored by default, so it does no harm when it arrives late or comes from another process. */
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

/*
 * The kernel signals an eventfd at the end of an asynchronous request without waiting, whatever
 * the counter and the flags of the descriptor: one that is full stays full. It is the way in
 * which its own devices make calls. The request that ends at once here is a read of a byte from
 * an empty file.
 */

/* Their events, which say nothing, are taken in this many at a time. */
#define REAP	64u

/**
 * signaller_init - make one that takes no more than a descriptor
 * @s: filled in
 */
void signaller_init(struct signaller *s)
{
	*s = (struct signaller) { .nothing = memfd_create("nothing", MFD_CLOEXEC) };
}

/**
 * signaller_open - get ready
 * @s: initialised, or opened before
 *
 * Return: whether it can be used; not every system has Linux AIO, or more of it to give.
 */
bool signaller_open(struct signaller *s)
{
	if (!s->tried)
		s->is_open = s->nothing >= 0 && !syscall(SYS_io_setup, 2 * REAP, &s->ctx);
	s->tried = true;
	return s->is_open;
}

static void reap(struct signaller *s)
{
	struct io_event event[REAP];
	const struct timespec now = { 0 };
	long n = syscall(SYS_io_getevents, s->ctx, 0L, (long)REAP, event, &now);

	if (n > 0)
		s->unreaped -= (unsigned int)n;
}

/**
 * signaller_signal - add 1 to an eventfd's counter
 * @s: opened
 * @fd: the eventfd
 *
 * Return: 0, or a negative errno: -EINVAL for what is no eventfd.
 */
int signaller_signal(struct signaller *s, int fd)
{
	char byte;
	struct iocb cb = {
		.aio_lio_opcode = IOCB_CMD_PREAD,
		.aio_fildes = (uint32_t)s->nothing,
		.aio_buf = (uintptr_t)&byte,
		.aio_nbytes = 1,
		.aio_flags = IOCB_FLAG_RESFD,
		.aio_resfd = (uint32_t)fd,
	}, *list = &cb;

	if (s->unreaped >= REAP)
		reap(s);
	if (syscall(SYS_io_submit, s->ctx, 1L, &list) != 1)
		return -errno;
	s->unreaped++;
	return 0;
}

/**
 * signaller_destroy - undo signaller_init()
 * @s: the signaller
 */
void signaller_destroy(struct signaller *s)
{
	if (s->is_open)
		syscall(SYS_io_destroy, s->ctx);
	if (s->nothing >= 0)
		close(s->nothing);
}

/**
 * is_eventfd - what kind of descriptor a peer has sent
 * @fd: the descriptor
 *
 * To look at it takes nothing from its file's own operations, which might wait. Without /proc
 * every anonymous file passes, none of which waits to be written, polled or closed.
 *
 * Return: whether it is an eventfd.
 */
bool is_eventfd(int fd)
{
	char path[32], name[32];
	struct stat st;
	ssize_t n;

	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	n = readlink(path, name, sizeof(name) - 1);
	if (n < 0)
		return !fstat(fd, &st) && !(st.st_mode & S_IFMT);
	name[n] = '\0';
	return !strcmp(name, "anon_inode:[eventfd]");
}
