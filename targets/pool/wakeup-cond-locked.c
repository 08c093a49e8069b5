/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * cond-locked: a condition variable beside the queue, signalled with the queue's lock
 * held. The first patch against the loss of cond-counter, message id
 * 20220505131346.823941-1-pbonzini@redhat.com; it was slower still (1012 MiB/s in
 * 1c2caac1-1ea3-7dd5-eaee-1a6763e9b672@redhat.com).
 *
 * Wait:   the queue's lock, released by the wait itself. A worker that finds work in the
 *         queue does not touch the condition variable.
 * Signal: the queue's lock is held.
 */
#include "targets/pool/wakeup.h"

static void wake_locked(struct work_queue *q)
{
	pthread_cond_signal(&q->wake.cond);
	pthread_mutex_unlock(&q->lock);
}

const struct wakeup_ops cond_locked_wakeup = {
	.init = wakeup_cond_init,
	.destroy = wakeup_cond_destroy,
	.wake = wake_locked,
	.wait = wakeup_cond_wait,
	.wake_all = wakeup_cond_wake_all,
};
