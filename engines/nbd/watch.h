/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef ENGINES_NBD_WATCH_H
#define ENGINES_NBD_WATCH_H

#include <pthread.h>
#include <stdbool.h>

/**
 * struct nbd_patience - how long to wait for a server
 * @go_on: asked several times a second, from a thread of its own; 0 to wait on, or a negative
 *	errno to give up with
 * @arg: its argument
 */
struct nbd_patience {
	int (*go_on)(void *arg);
	void *arg;
};

/**
 * struct watch - a thread that ends a handshake which takes too long
 * @patience: what it asks
 * @thread: the thread
 * @lock: protects what follows
 * @changed: @over was set
 * @fd: a duplicate of the connection's socket, -1 for none
 * @over: the handshake is done, or has failed
 * @verdict: 0, or patience's errno
 */
struct watch {
	const struct nbd_patience *patience;
	pthread_t thread;
	pthread_mutex_t lock;
	pthread_cond_t changed;
	int fd;
	bool over;
	int verdict;
};

/* How often patience is asked, in ms. */
#define WATCH_STEP_MS	50

int watch_begin(struct watch *w, const struct nbd_patience *patience);
int watch_lend(struct watch *w, int fd);
int watch_end(struct watch *w, bool *left);

bool socket_hung_up(int fd);

#endif
