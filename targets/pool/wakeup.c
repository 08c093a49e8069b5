/* SPDX-License-Identifier: GPL-2.0-only */
/* What the strategies share whose condition variable goes with the queue's lock */

#include "targets/pool/wakeup.h"

/**
 * wakeup_cond_new - make a condition variable that measures time with CLOCK_MONOTONIC
 * @c: the variable
 *
 * Return: 0 or a negative errno.
 */
int wakeup_cond_new(pthread_cond_t *c)
{
	pthread_condattr_t attr;
	int ret;

	pthread_condattr_init(&attr);
	ret = pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
	if (!ret)
		ret = pthread_cond_init(c, &attr);
	pthread_condattr_destroy(&attr);
	return -ret;
}

int wakeup_cond_init(struct work_queue *q)
{
	return wakeup_cond_new(&q->wake.cond);
}

void wakeup_cond_destroy(struct work_queue *q)
{
	pthread_cond_destroy(&q->wake.cond);
}

bool wakeup_cond_wait(struct work_queue *q, struct pool_worker *w, uint64_t timeout_ns)
{
	struct timespec deadline;
	bool woken;

	if (!wakeup_nothing_to_do(q))
		return true;
	deadline = wakeup_deadline(timeout_ns);
	q->idle++;
	woken = pthread_cond_timedwait(&q->wake.cond, &q->lock, &deadline) != ETIMEDOUT;
	q->idle--;
	wakeup_slept(w, woken);
	return woken;
}

void wakeup_cond_wake_all(struct work_queue *q, unsigned int workers)
{
	(void)workers;
	pthread_cond_broadcast(&q->wake.cond);
}
