/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef BASE_COUNTER_H
#define BASE_COUNTER_H

#include <stdatomic.h>
#include <stdint.h>

/*
 * A counter that one thread writes and any thread may read at any time. Relaxed
 * is enough: a reader wants a recent value, not an order between counters. The
 * load and store compile to a plain add, where fetch_add would lock the bus.
 */
typedef _Atomic uint64_t counter_t;

static inline uint64_t counter_get(const counter_t *c)
{
	return atomic_load_explicit((counter_t *)c, memory_order_relaxed);
}

static inline void counter_set(counter_t *c, uint64_t v)
{
	atomic_store_explicit(c, v, memory_order_relaxed);
}

static inline void counter_add(counter_t *c, uint64_t n)
{
	counter_set(c, counter_get(c) + n);
}

#endif
