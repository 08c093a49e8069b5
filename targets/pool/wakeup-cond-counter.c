/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * cond-counter: a semaphore made of a mutex, a condition variable and a counter, as
 * QemuSemaphore is since commit f9fc8932b11f (message id
 * 20220222090507.2028-2-longpeng2@huawei.com) and the thread pool was built on until
 * commit 900fa208f506. This is what lost 8 %: message id
 * 1c2caac1-1ea3-7dd5-eaee-1a6763e9b672@redhat.com.
 *
 * Wait:   the semaphore's own lock, with the queue's released; each piece of work costs a
 *         round of both.
 * Signal: the semaphore's own lock, taken after the queue's is released and held while
 *         signalling.
 */
#include "targets/pool/wakeup.h"

static int counter_init(struct work_queue *q)
{
	pthread_mutex_init(&q->wake.counter.lock, NULL);
	return wakeup_cond_new(&q->wake.counter.cond);
}

static void counter_destroy(struct work_queue *q)
{
	pthread_cond_destroy(&q->wake.counter.cond);
	pthread_mutex_destroy(&q->wake.counter.lock);
}

static void counter_wake(struct work_queue *q)
{
	pthread_mutex_unlock(&q->lock);

	pthread_mutex_lock(&q->wake.counter.lock);
	q->wake.counter.count++;
	pthread_cond_signal(&q->wake.counter.cond);
	pthread_mutex_unlock(&q->wake.counter.lock);
}

/* With the counter's lock held */
static bool counter_sleep(struct work_queue *q, struct pool_worker *w, uint64_t timeout_ns)
{
	struct timespec deadline = wakeup_deadline(timeout_ns);
	int ret = 0;

	while (!q->wake.counter.count && ret != ETIMEDOUT)
		ret = pthread_cond_timedwait(&q->wake.counter.cond, &q->wake.counter.lock,
					     &deadline);
	wakeup_slept(w, q->wake.counter.count);
	return q->wake.counter.count;
}

static bool counter_wait(struct work_queue *q, struct pool_worker *w, uint64_t timeout_ns)
{
	bool got;

	q->idle++;
	pthread_mutex_unlock(&q->lock);

	pthread_mutex_lock(&q->wake.counter.lock);
	got = q->wake.counter.count || counter_sleep(q, w, timeout_ns);
	if (got)
		q->wake.counter.count--;
	pthread_mutex_unlock(&q->wake.counter.lock);

	pthread_mutex_lock(&q->lock);
	q->idle--;
	return got;
}

static void counter_wake_all(struct work_queue *q, unsigned int workers)
{
	pthread_mutex_lock(&q->wake.counter.lock);
	q->wake.counter.count += workers;
	pthread_cond_broadcast(&q->wake.counter.cond);
	pthread_mutex_unlock(&q->wake.counter.lock);
}

const struct wakeup_ops cond_counter_wakeup = {
	.init = counter_init,
	.destroy = counter_destroy,
	.wake = counter_wake,
	.wait = counter_wait,
	.wake_all = counter_wake_all,
};
