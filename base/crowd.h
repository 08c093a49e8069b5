/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef BASE_CROWD_H
#define BASE_CROWD_H

#include <stdbool.h>
#include <stdint.h>

/**
 * struct crowd - whether a polling thread has its CPU to itself
 * @crowded: others want to run here, so that it had better yield
 * @checked_ns: when that was last looked into
 * @switches: how often the thread had been switched away from by then
 * @cpu_ns: CPU time it had had by then
 * @yields: times it gave way
 *
 * A thread that polls for what another thread does, on a CPU that this one needs, waits
 * for a whole time slice in vain. It finds out by being switched away from although it
 * never sleeps, and then lets others run instead of polling on.
 */
struct crowd {
	bool crowded;
	uint64_t checked_ns;
	uint64_t switches;
	uint64_t cpu_ns;
	uint64_t yields;
};

void crowd_look(struct crowd *c, uint64_t now_ns);

#endif
