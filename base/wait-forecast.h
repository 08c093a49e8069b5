/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef BASE_WAIT_FORECAST_H
#define BASE_WAIT_FORECAST_H

#include <stdint.h>

/* Octaves of waits from 1 us on, in eight buckets each, one below and one above */
#define FORECAST_FIRST		10
#define FORECAST_OCTAVES	20
#define FORECAST_BUCKETS	(2 + 8 * FORECAST_OCTAVES)

/* How late a sleep is taken to end until some have ended */
#define FORECAST_LATE_NS	10000

/**
 * struct wait_forecast - how long waits of one kind last, and how to spend the next one
 * @count: waits by their length, old ones with less weight
 * @total: sum of these
 * @sleep_ns: how long to sleep in the next one; 0 for not at all
 * @window_ns: how long to poll after that; 0 for not at all
 */
struct wait_forecast {
	uint32_t count[FORECAST_BUCKETS];
	uint32_t total;
	uint64_t sleep_ns;
	uint64_t window_ns;
};

void wait_forecast_learn(struct wait_forecast *f, uint64_t waited_ns, uint64_t max_ns,
			 uint64_t late_ns);

/**
 * wait_late_learn - smooth how late sleeps end
 * @late_ns: so far, in ns
 * @asked_ns: how long a sleep was to be that nothing ended early
 * @slept_ns: how long it was
 *
 * Return: how late from now on, in ns.
 */
static inline uint64_t wait_late_learn(uint64_t late_ns, uint64_t asked_ns, uint64_t slept_ns)
{
	uint64_t late = slept_ns > asked_ns ? slept_ns - asked_ns : 0;

	return late_ns + late / 8 - late_ns / 8;
}

#endif
