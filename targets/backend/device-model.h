/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The emulated device: how long requests take, how many fit at once, which fail, what they cost.
 * A channel without any of this has no model, and its requests pass none of its code.
 */
#ifndef TARGETS_BACKEND_DEVICE_MODEL_H
#define TARGETS_BACKEND_DEVICE_MODEL_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include "base/rng.h"
#include "targets/backend/delay.h"
#include "targets/iothread/deadline.h"

struct blk_request;

/**
 * struct throttle_config - what a device cannot exceed
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
 * A request passes three stations: the door, which lets requests in one by one at @config.iops; a
 * unit, of which there are @config.parallel, for its service time; and the bus, which moves its
 * data at @config.bandwidth. Each station serves in order of arrival and saves up no credit while
 * it is idle.
 */
struct throttle {
	struct throttle_config config;
	pthread_mutex_t lock;		/* covers all below */
	uint64_t start_ns;
	uint64_t door;			/* when it is free; ticks since start_ns */
	uint64_t bus;
	uint64_t unit[];		/* when each is free: a heap, smallest first */
};

/* A byte adds no whole number of ns. */
#define MODEL_TICK_SHIFT	20

bool throttle_is_set(const struct throttle_config *config);
struct throttle *throttle_new(const struct throttle_config *config);
void throttle_free(struct throttle *t);
uint64_t throttle_due(struct throttle *t, uint64_t now_ns, uint64_t service_ns, uint64_t len);

/**
 * struct model_config - what an emulated device does beside answering
 * @delay: its service time
 * @delay_write: that of what changes data; DELAY_NONE if it is the same
 * @byte_ticks: what a byte adds to a read's service time, in ns << MODEL_TICK_SHIFT
 * @byte_ticks_write: the same of a write's
 * @throttled: backends may have a throttle, so that a request can have to wait
 * @request_cost_ns: CPU time to burn for a request, as a block layer would
 * @extra_notify: eventfd writes for each request that wake nobody
 * @error_rate: part of the requests that fails with -EIO, 0 to 1
 * @fail_after: requests of an iothread to answer before all others fail with -EIO; 0 for none
 */
struct model_config {
	struct delay delay;
	struct delay delay_write;
	uint64_t byte_ticks;
	uint64_t byte_ticks_write;
	bool throttled;
	uint64_t request_cost_ns;
	unsigned int extra_notify;
	double error_rate;
	uint64_t fail_after;
};

/**
 * struct device_model - an iothread's part of the emulated device
 * @config: as given
 * @it: the iothread; everything here is its own
 * @over: called for a request whose service time is over, in the iothread
 * @timed: requests can have to wait
 * @deadlines: those that do
 * @latest_ns: when all service times are over, as the target ends
 * @extra_fd: the eventfd of @config.extra_notify, -1 without
 * @rng: source of draws
 * @answered: requests that were not failed on purpose because of @config.fail_after
 */
struct device_model {
	struct model_config config;
	struct iothread *it;
	void (*over)(struct blk_request *r);
	bool timed;
	struct deadlines deadlines;
	uint64_t latest_ns;
	int extra_fd;
	struct rng rng;
	uint64_t answered;
};

bool model_is_set(const struct model_config *config);
uint64_t model_byte_ticks(uint64_t bandwidth);
struct device_model *model_open(struct iothread *it, const struct model_config *config,
				void (*over)(struct blk_request *r));
void model_close(struct device_model *m);
int model_reserve(struct device_model *m, unsigned int more);
void model_release(struct device_model *m, unsigned int fewer);
void model_charge(struct device_model *m);
bool model_accepts(struct device_model *m, struct blk_request *r);
bool model_holds(struct device_model *m, struct blk_request *r);
bool model_cancel(struct device_model *m, struct blk_request *r);
void model_hurry(struct device_model *m, struct blk_request *r, uint64_t until_ns);
void model_hurry_all(struct device_model *m, uint64_t until_ns);

#endif
