/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * System calls of an iothread on what belongs to a peer, which do not wait unless the peer sees
 * to it.
 *
 * Such a call is a write() to a call eventfd that does not block: the driver shares the file
 * description, fills the counter, clears O_NONBLOCK, and the write blocks without end. Nothing that
 * is as fast as write() can rule that out, as there is no moment between a look and the call in
 * which the driver could not do it. Measured on one machine, an eventfd that takes it: write()
 * 190 ns, io_uring with a registered eventfd 250 to 310 ns, Linux AIO with one (IOCB_FLAG_RESFD)
 * 410 to 450 ns; a look with poll() in front of the write() 390 ns; a thread that writes instead,
 * microseconds. RWF_NOWAIT is for files with write_iter, which an eventfd has not.
 *
 * So the iothread marks when it is in such a call, which costs two stores, and a thread of its
 * own looks at the mark now and then. An iothread found in the same call twice is interrupted by a
 * signal, and from then on has to be careful, that is, to take the slower way that cannot wait.
 * In all its life an iothread can therefore be kept once by one peer, for GUARD_TICK_MS to twice
 * that, and an iothread whose peers behave pays nothing.
 */
#ifndef TARGETS_IOTHREAD_GUARD_H
#define TARGETS_IOTHREAD_GUARD_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>

#define GUARD_TICK_MS	50

/**
 * struct guard - where an iothread is
 * @entered: odd while it is in a guarded call
 * @careful: it was kept by a peer
 * @seen: what @entered was at the last look; the rest belongs to the thread that looks
 * @thread: the iothread
 * @next: list of those that are looked at
 * @users: peers because of which it is on that list
 */
struct guard {
	atomic_uint entered;
	atomic_bool careful;
	unsigned int seen;
	pthread_t thread;
	struct guard *next;
	unsigned int users;
};

/* Begin a guarded call, in its iothread; what it returns is for guard_leave(). */
static inline unsigned int guard_enter(struct guard *g)
{
	/* relaxed: only this thread writes, and the thread that looks wants no more than the number */
	unsigned int entered = atomic_load_explicit(&g->entered, memory_order_relaxed) + 1;

	atomic_store_explicit(&g->entered, entered, memory_order_relaxed);
	return entered;
}

/* End it; errno stays. */
static inline void guard_leave(struct guard *g, unsigned int entered)
{
	atomic_store_explicit(&g->entered, entered + 1, memory_order_relaxed);
}

/* Whether to take the way that cannot wait. */
static inline bool guard_is_careful(struct guard *g)
{
	/* relaxed: a call that does not know yet is interrupted like the first one */
	return atomic_load_explicit(&g->careful, memory_order_relaxed);
}

void guard_watch(struct guard *g, pthread_t thread);
void guard_unwatch(struct guard *g);

/**
 * struct signaller - a way to signal eventfds that never waits
 * @ctx: of Linux AIO
 * @nothing: an empty file, -1 without one
 * @unreaped: events that the kernel has for us
 * @is_open: @ctx is valid
 * @tried: whether it can be opened is known
 */
struct signaller {
	unsigned long ctx;	/* aio_context_t, whose header excludes libaio's */
	int nothing;
	unsigned int unreaped;
	bool is_open;
	bool tried;
};

void signaller_init(struct signaller *s);
bool signaller_open(struct signaller *s);
int signaller_signal(struct signaller *s, int fd);
void signaller_destroy(struct signaller *s);
bool is_eventfd(int fd);

#endif
