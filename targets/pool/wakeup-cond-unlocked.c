/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * cond-unlocked: a condition variable beside the queue, signalled after the queue's lock
 * is released: QEMU since 7.1, commit 900fa208f506, message id
 * 20220514065012.1149539-3-pbonzini@redhat.com. It came together with a completion
 * scheduled outside of the lock (--completion eventfd).
 *
 * Wait:   the queue's lock, released by the wait itself. A worker that finds work in the
 *         queue does not touch the condition variable.
 * Signal: no lock.
 */
#include "targets/pool/wakeup.h"

static void wake_unlocked(struct work_queue *q)
{
	pthread_mutex_unlock(&q->lock);
	pthread_cond_signal(&q->wake.cond);
}

const struct wakeup_ops cond_unlocked_wakeup = {
	.init = wakeup_cond_init,
	.destroy = wakeup_cond_destroy,
	.wake = wake_unlocked,
	.wait = wakeup_cond_wait,
	.wake_all = wakeup_cond_wake_all,
};
