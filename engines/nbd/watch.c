/* SPDX-License-Identifier: GPL-2.0-only */
#include <errno.h>
#include <fcntl.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>
#include "base/clock.h"
#include "base/fd.h"
#include "engines/nbd/watch.h"

/*
 * Some of the handshake's steps cannot be left once begun, although the socket does not block:
 * GnuTLS looks for the rest of a message over and over, for 40 s by libnbd's leave, and libnbd
 * itself takes replies as long as there are any. A socket that is shut down ends both.
 */

/* Wait with the lock held, until the handshake is over or it is time to ask. */
static void nap(struct watch *w)
{
	struct timespec until = ns_timespec(clock_ns() + WATCH_STEP_MS * 1000000ull);

	pthread_cond_clockwait(&w->changed, &w->lock, CLOCK_MONOTONIC, &until);
}

static void *watch_thread(void *arg)
{
	struct watch *w = arg;

	pthread_mutex_lock(&w->lock);
	while (!w->over && !w->verdict) {
		nap(w);
		if (!w->over)
			w->verdict = w->patience->go_on(w->patience->arg);
	}
	if (w->verdict && w->fd >= 0)
		shutdown(w->fd, SHUT_RDWR);
	pthread_mutex_unlock(&w->lock);
	return NULL;
}

/**
 * watch_begin - watch over a handshake
 * @w: filled in
 * @patience: how long it may take; must outlive the watch
 *
 * Return: 0 or a negative errno, with nothing to end.
 */
int watch_begin(struct watch *w, const struct nbd_patience *patience)
{
	*w = (struct watch) {
		.patience = patience,
		.lock = PTHREAD_MUTEX_INITIALIZER,
		.changed = PTHREAD_COND_INITIALIZER,
		.fd = -1,
	};
	return -pthread_create(&w->thread, NULL, watch_thread, w);
}

static void forget_fd(struct watch *w)
{
	if (w->fd >= 0)
		close(w->fd);
	w->fd = -1;
}

/**
 * watch_lend - a step begins that may take too long
 * @w: the watch
 * @fd: the socket as of now, which may be another than last time
 *
 * Return: 0, or the errno that patience has ended with.
 */
int watch_lend(struct watch *w, int fd)
{
	int ret;

	pthread_mutex_lock(&w->lock);
	/* Of its own: @fd may be closed, and its number somebody else's, before it is shut down. */
	forget_fd(w);
	w->fd = fcntl(fd, F_DUPFD_CLOEXEC, 0);
	ret = w->verdict;
	pthread_mutex_unlock(&w->lock);
	return ret;
}

/**
 * watch_end - the handshake is done, or has failed
 * @w: the watch
 * @left: set to whether the server has closed the connection
 *
 * Return: 0, or the errno that patience has ended with.
 */
int watch_end(struct watch *w, bool *left)
{
	pthread_mutex_lock(&w->lock);
	w->over = true;
	pthread_cond_signal(&w->changed);
	pthread_mutex_unlock(&w->lock);
	pthread_join(w->thread, NULL);
	*left = w->fd >= 0 && socket_hung_up(w->fd);
	forget_fd(w);
	return w->verdict;
}

/**
 * socket_hung_up - whether the other end has closed its connection
 * @fd: our socket
 *
 * Return: true even when there is still something to be read.
 */
bool socket_hung_up(int fd)
{
	return fd_events(fd, POLLRDHUP);
}
