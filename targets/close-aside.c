/* SPDX-License-Identifier: GPL-2.0-only */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>
#include "targets/close-aside.h"

/*
 * Threads that a close() may block. Keep descriptors open once all of them are blocked: a client
 * that goes on sending such ones exhausts the limit of descriptors, which makes new clients wait,
 * but not those that are served.
 */
#define CLOSERS_MAX	16

/* None of them needs more. */
#define STACK_SIZE	(256u << 10)

struct unwanted {
	struct unwanted *next;
	int fd;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct unwanted *first;
static unsigned int nr_closers;

/* Memory does not wait to be closed: only memory has seals. */
static bool is_memory(int fd)
{
	return fcntl(fd, F_GET_SEALS) >= 0;
}

static void close_it(int fd)
{
	const struct linger off = { 0 };

	/* Avoid the wait, unless the peer sets it again. */
	setsockopt(fd, SOL_SOCKET, SO_LINGER, &off, sizeof(off));
	close(fd);
}

static struct unwanted *take(void)
{
	struct unwanted *u;

	pthread_mutex_lock(&lock);
	u = first;
	if (u)
		first = u->next;
	else
		nr_closers--;
	pthread_mutex_unlock(&lock);
	return u;
}

static void *closer_main(void *unused)
{
	struct unwanted *u;

	(void)unused;
	pthread_setname_np(pthread_self(), "closer");
	while ((u = take())) {
		close_it(u->fd);
		free(u);
	}
	return NULL;
}

/* With the lock. Start a thread for each descriptor, as those there are may be blocked. */
static void start_closer(void)
{
	pthread_attr_t attr;
	pthread_t thread;

	if (nr_closers == CLOSERS_MAX)
		return;
	pthread_attr_init(&attr);
	pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_DETACHED);
	pthread_attr_setstacksize(&attr, STACK_SIZE);
	if (!pthread_create(&thread, &attr, closer_main, NULL))
		nr_closers++;
	pthread_attr_destroy(&attr);
}

/**
 * close_aside - close a descriptor without waiting for it
 * @fd: one that a peer has sent, or a unix socket whose queue may hold such ones
 *
 * Whoever made it decides how long close() takes: a TCP socket with SO_LINGER and unsent data, a
 * file of a FUSE server that does not answer, a unix socket that has either in its queue. A
 * thread that does nothing else closes it, and the process ends without waiting for that thread.
 */
void close_aside(int fd)
{
	struct unwanted *u;

	if (is_memory(fd)) {
		close(fd);
		return;
	}
	u = malloc(sizeof(*u));
	if (!u) {
		close_it(fd);
		return;
	}
	u->fd = fd;
	pthread_mutex_lock(&lock);
	u->next = first;
	first = u;
	start_closer();
	pthread_mutex_unlock(&lock);
}
