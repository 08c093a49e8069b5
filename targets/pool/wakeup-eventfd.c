/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * eventfd: an eventfd in semaphore mode, one count for each piece of work. How event loops
 * hand work to threads that wait for file descriptors, too; in no version of QEMU's pool.
 * At least a system call at either end of each piece of work, and a write wakes all that
 * sleep in poll(), of whom one finds something to read.
 *
 * Wait:   no lock but the eventfd's own, in the kernel; the queue's is released.
 * Signal: no lock but the eventfd's own; written after the queue's lock is released.
 */
#include <poll.h>
#include <sys/eventfd.h>
#include "targets/pool/wakeup.h"

static int eventfd_init(struct work_queue *q)
{
	q->wake.fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK | EFD_SEMAPHORE);
	return q->wake.fd < 0 ? -errno : 0;
}

static void eventfd_destroy(struct work_queue *q)
{
	close(q->wake.fd);
}

static void post(struct work_queue *q, uint64_t n)
{
	while (write(q->wake.fd, &n, sizeof(n)) < 0 && errno == EINTR)
		;
}

static void eventfd_wake(struct work_queue *q)
{
	pthread_mutex_unlock(&q->lock);
	post(q, 1);
}

static bool take(struct work_queue *q)
{
	uint64_t n;

	return read(q->wake.fd, &n, sizeof(n)) == sizeof(n);
}

static bool eventfd_sleep(struct work_queue *q, struct pool_worker *w, uint64_t timeout_ns)
{
	struct pollfd fd = { .fd = q->wake.fd, .events = POLLIN };
	uint64_t end = clock_ns() + timeout_ns, now;
	bool got = false;

	while (!got && (now = clock_ns()) < end) {
		struct timespec left = ns_timespec(end - now);
		bool woken = ppoll(&fd, 1, &left, NULL) == 1;

		wakeup_slept(w, woken);
		got = woken && take(q);
	}
	return got;
}

static bool eventfd_wait(struct work_queue *q, struct pool_worker *w, uint64_t timeout_ns)
{
	bool got;

	q->idle++;
	pthread_mutex_unlock(&q->lock);
	got = take(q) || eventfd_sleep(q, w, timeout_ns);
	pthread_mutex_lock(&q->lock);
	q->idle--;
	return got;
}

static void eventfd_wake_all(struct work_queue *q, unsigned int workers)
{
	post(q, workers);
}

const struct wakeup_ops eventfd_wakeup = {
	.init = eventfd_init,
	.destroy = eventfd_destroy,
	.wake = eventfd_wake,
	.wait = eventfd_wait,
	.wake_all = eventfd_wake_all,
};
