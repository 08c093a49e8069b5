/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef TARGETS_BACKEND_THROTTLE_H
#define TARGETS_BACKEND_THROTTLE_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

/**
 * struct throttle_config - what an emulated device cannot exceed
 * @parallel: requests it works on at once; 0 for any number
 * @iops: requests a second; 0 for any number
 * @bandwidth: bytes a second; 0 for any number
 */
struct throttle_config {
	unsigned int parallel;
	uint64_t iops;
	uint64_t bandwidth;
};

/**
 * struct throttle - a device that can be saturated, shared by all iothreads
 *
 * Three stations that a request passes: the door, which lets requests in one by one at
 * @config.iops; a unit, of which there are @config.parallel, for its service time; and the bus, which moves its data at @config.bandwidth. Each station serves in order of arrival and saves
 * up no credit while it is idle.
 */
struct throttle {
	struct throttle_config config;
	pthread_mutex_t lock;		/* covers all below */
	uint64_t start_ns;
	uint64_t door;			/* when it is free; ticks since start_ns */
	uint64_t bus;
	uint64_t unit[];		/* when each is free: a heap, smallest first */
};

bool throttle_is_set(const struct throttle_config *config);
struct throttle *throttle_new(const struct throttle_config *config);
void throttle_free(struct throttle *t);
uint64_t throttle_due(struct throttle *t, uint64_t now_ns, uint64_t service_ns, uint64_t len);

#endif
