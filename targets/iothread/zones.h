/* SPDX-License-Identifier: GPL-2.0-only */
/* How sources move between the zones of it->source, see struct iothread: one up or down at a time */
#ifndef TARGETS_IOTHREAD_ZONES_H
#define TARGETS_IOTHREAD_ZONES_H

#include "targets/iothread/iothread.h"

static inline void zone_put(struct iothread *it, unsigned int at, struct event_source *s)
{
	it->source[at] = s;
	s->index = at;
}

static inline void zone_exchange(struct iothread *it, unsigned int a, unsigned int b)
{
	struct event_source *s = it->source[a];

	zone_put(it, a, it->source[b]);
	zone_put(it, b, s);
}

static inline void zone_wake(struct iothread *it, struct event_source *s)
{
	if (s->index >= it->nr_awake)
		zone_exchange(it, s->index, it->nr_awake++);
}

static inline void zone_heat(struct iothread *it, struct event_source *s)
{
	zone_exchange(it, s->index, it->nr_hot++);
}

/* From among those that are awake */
static inline void zone_start_polling(struct iothread *it, struct event_source *s)
{
	zone_exchange(it, s->index, it->nr_polled++);
	zone_heat(it, s);
	s->active_ns = it->now;
	if (it->nr_polled == 1)
		it->idle_ns = it->now + it->policy.idle_ns;
	if (s->armed)
		it->polled_armed = true;
}

/* It stays awake. */
static inline void zone_stop_polling(struct iothread *it, struct event_source *s)
{
	if (s->index < it->nr_hot)
		zone_exchange(it, s->index, --it->nr_hot);
	zone_exchange(it, s->index, --it->nr_polled);
}

/* It has work, to be done in this turn. */
static inline void mark_ready(struct iothread *it, struct event_source *s)
{
	if (!s->ready) {
		s->ready = true;
		it->ready[it->nr_ready++] = s;
	}
}

void iothread_polled_changed(struct iothread *it);

#endif
