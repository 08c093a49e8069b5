/* SPDX-License-Identifier: GPL-2.0-only */
/* Which sources an iothread serves, and what of their descriptors wakes it */

#include <errno.h>
#include <sys/epoll.h>
#include "targets/iothread/zones.h"

/* Who never sleeps needs no epoll, which a socket's sender would have to pay for. */
static bool watches(const struct iothread *it)
{
	return it->policy.ops != &poll_busy;
}

/**
 * iothread_add_source - let an iothread serve a source
 * @it: the iothread; called in it, or before it runs
 * @s: the source; looked at in the next turn whether its fd is readable or not
 *
 * Return: 0, -ENOSPC with IOTHREAD_SOURCES sources, or what epoll said.
 */
int iothread_add_source(struct iothread *it, struct event_source *s)
{
	const struct poll_policy_ops *policy = it->policy.ops;
	struct epoll_event ev = { .events = EPOLLIN | EPOLLET, .data.ptr = s };

	if (it->nr_sources == IOTHREAD_SOURCES)
		return -ENOSPC;
	if (s->fd >= 0 && watches(it) && epoll_ctl(it->epoll_fd, EPOLL_CTL_ADD, s->fd, &ev))
		return -errno;
	s->armed = false;
	s->ready = false;
	s->it = it;
	s->window_ns = 0;
	s->jiffy = 0;
	s->work = 0;
	zone_put(it, it->nr_sources, s);
	zone_exchange(it, it->nr_sources++, it->nr_awake++);
	if (policy->at_once && policy->at_once(s))
		zone_start_polling(it, s);
	return 0;
}

/**
 * iothread_watch_source - change what of a source's fd wakes a sleeping thread
 * @it: the iothread; called in it
 * @s: one of its sources
 * @events: EPOLLIN, which is what it begins with, and others; what is there already counts
 *	as news
 */
void iothread_watch_source(struct iothread *it, struct event_source *s, uint32_t events)
{
	struct epoll_event ev = { .events = events | EPOLLET, .data.ptr = s };

	if (watches(it))
		epoll_ctl(it->epoll_fd, EPOLL_CTL_MOD, s->fd, &ev);
}

/**
 * iothread_remove_source - stop serving a source
 * @it: the iothread; called in it
 * @s: the source; its fd is the caller's to close
 *
 * The last source of each zone takes the place of one before. dispatch_ready() walks
 * downwards, so that it misses none that way.
 */
void iothread_remove_source(struct iothread *it, struct event_source *s)
{
	unsigned int polled = it->nr_polled;

	if (s->fd >= 0 && watches(it))
		epoll_ctl(it->epoll_fd, EPOLL_CTL_DEL, s->fd, NULL);
	if (s->index < it->nr_polled)
		zone_exchange(it, s->index, --it->nr_polled);
	if (s->index < it->nr_awake)
		zone_exchange(it, s->index, --it->nr_awake);
	zone_exchange(it, s->index, --it->nr_sources);
	s->it = NULL;
	if (it->nr_polled != polled)
		iothread_polled_changed(it);
}

/**
 * event_source_rearm - what a source waits for has changed, so arm it again before a sleep
 * @s: the source; called in its iothread, if it has one
 */
void event_source_rearm(struct event_source *s)
{
	if (!s->armed)
		return;
	s->armed = false;
	if (s->it)
		zone_wake(s->it, s);
}

/**
 * iothread_defer - run something once at the end of this turn
 * @it: the iothread; called in it
 * @d: what to run; asking twice is as good as once
 */
void iothread_defer(struct iothread *it, struct deferred *d)
{
	if (d->queued)
		return;
	d->queued = true;
	d->next = it->deferred;
	it->deferred = d;
}
