/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * sem: a POSIX semaphore that counts the work in the queue, as in QEMU up to 6.2
 * (util/thread-pool.c since 7e68494b0be4, with QemuSemaphore a sem_t).
 *
 * Wait:   no lock. A worker takes one from the semaphore for each piece of work, whether
 *         it slept or not, and only then the queue's lock.
 * Signal: no lock; posted after the queue's lock is released.
 *
 * QEMU waited with sem_timedwait(), that is by the wall clock, which was the reason to give
 * it up; here the clock is the monotonic one. The futex below is the same.
 */
#include "targets/pool/wakeup.h"

static int sem_wakeup_init(struct work_queue *q)
{
	return sem_init(&q->wake.sem, 0, 0) ? -errno : 0;
}

static void sem_wakeup_destroy(struct work_queue *q)
{
	sem_destroy(&q->wake.sem);
}

static void sem_wake(struct work_queue *q)
{
	pthread_mutex_unlock(&q->lock);
	sem_post(&q->wake.sem);
}

static bool sem_sleep(sem_t *sem, struct pool_worker *w, uint64_t timeout_ns)
{
	struct timespec deadline = wakeup_deadline(timeout_ns);
	int ret;

	do {
		ret = sem_clockwait(sem, CLOCK_MONOTONIC, &deadline);
	} while (ret && errno == EINTR);
	wakeup_slept(w, !ret);
	return !ret;
}

static bool sem_wakeup_wait(struct work_queue *q, struct pool_worker *w, uint64_t timeout_ns)
{
	bool got;

	q->idle++;
	pthread_mutex_unlock(&q->lock);
	got = !sem_trywait(&q->wake.sem) || sem_sleep(&q->wake.sem, w, timeout_ns);
	pthread_mutex_lock(&q->lock);
	q->idle--;
	return got;
}

static void sem_wake_all(struct work_queue *q, unsigned int workers)
{
	while (workers--)
		sem_post(&q->wake.sem);
}

const struct wakeup_ops sem_wakeup = {
	.init = sem_wakeup_init,
	.destroy = sem_wakeup_destroy,
	.wake = sem_wake,
	.wait = sem_wakeup_wait,
	.wake_all = sem_wake_all,
};
