/* SPDX-License-Identifier: GPL-2.0-only */
#include <poll.h>
#include <signal.h>
#include <sys/eventfd.h>
#include "base/clock.h"
#include "base/fd.h"
#include "engines/virtio/device.h"
#include "engines/virtio/keeper.h"

/*
 * One thread of the process that set the device up, so that jobs that are processes have
 * nobody to agree with about who connects anew. They only ever look at struct device_link.
 */

/* How long to leave a device alone that is not there. */
#define RETRY_MS	20

/* Wait for the connection to end, or for a time when @sock is -1; returns whether to go on. */
static bool wait_for_end(const struct keeper *k, int sock, int timeout_ms)
{
	struct pollfd p[] = {
		{ .fd = k->stop_fd, .events = POLLIN },
		{ .fd = sock, .events = POLLIN },
	};

	while (poll(p, 2, timeout_ms) < 0 && errno == EINTR)
		;
	return !p[0].revents;
}

/* A call that the device did not come to make, or will never make, is made here. */
static void wake_jobs(const struct keeper *k)
{
	for (unsigned int i = 0; i < k->dev->nr_queues; i++)
		eventfd_signal(k->dev->queue[i].call_fd);
}

/* Returns 0, a negative errno when the time is up, or 1 when fio is at its end. */
static int bring_back(struct keeper *k)
{
	uint64_t until = clock_ns() + k->wait_ns;
	int ret;

	for (;;) {
		ret = k->rebuild(k->dev);
		if (!ret || clock_ns() >= until)
			return ret;
		if (!wait_for_end(k, -1, RETRY_MS))
			return 1;
	}
}

static void *keeper_main(void *arg)
{
	struct keeper *k = arg;

	pthread_setname_np(pthread_self(), "keeper");
	while (wait_for_end(k, *k->sock, -1)) {
		int ret;

		atomic_store(&k->link->state, LINK_DOWN);
		ret = bring_back(k);
		if (ret > 0)
			break;
		if (ret < 0) {
			log_err("%s device '%s' has not come back in %llu s (stuck_timeout): %s\n",
				k->dev->transport->name, k->dev->key, k->wait_ns / 1000000000,
				strerror(-ret));
			atomic_store(&k->link->state, LINK_LOST);
			wake_jobs(k);
			break;
		}
		/* In this order: a job that finds the device up again is to find that it was down. */
		atomic_fetch_add(&k->link->generation, 1);
		atomic_store(&k->link->state, LINK_UP);
		wake_jobs(k);
	}
	return NULL;
}

/**
 * keeper_start - look after a connection that has been set up
 * @k: the keeper, filled in down to @link; must stay where it is
 *
 * Return: 0 or a negative errno.
 */
int keeper_start(struct keeper *k)
{
	sigset_t all, before;
	int ret;

	k->stop_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (k->stop_fd < 0)
		return -errno;
	k->owner = getpid();
	/* Signals are fio's. */
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	ret = -pthread_create(&k->thread, NULL, keeper_main, k);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	if (ret) {
		close(k->stop_fd);
		k->owner = 0;
	}
	return ret;
}

/**
 * keeper_stop - leave the connection alone
 * @k: the keeper; no harm in one that was not started, all zero
 */
void keeper_stop(struct keeper *k)
{
	if (k->owner != getpid())
		return;
	eventfd_signal(k->stop_fd);
	pthread_join(k->thread, NULL);
	close(k->stop_fd);
	k->owner = 0;
}
