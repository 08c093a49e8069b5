/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef ENGINES_VIRTIO_KEEPER_H
#define ENGINES_VIRTIO_KEEPER_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>

struct shared_device;

enum link_state {
	LINK_UP,
	LINK_DOWN,	/* the device is gone, and is being waited for */
	LINK_LOST,	/* it did not come back */
};

/**
 * struct device_link - what jobs, forked or threads, know of the connection to their device
 * @state: enum link_state
 * @generation: how many times the device has come back
 */
struct device_link {
	_Atomic int state;
	_Atomic unsigned int generation;
};

/**
 * struct keeper - looks after the connection of a device that may go away
 * @dev: the device
 * @wait_ns: how long to wait for it, in ns
 * @sock: the connection, to be replaced by @rebuild
 * @rebuild: connect and set everything up as it was; 0 or a negative errno
 * @link: told to the jobs
 * @thread: does it
 * @owner: process it runs in
 * @stop_fd: written to end it
 */
struct keeper {
	struct shared_device *dev;
	unsigned long long wait_ns;
	int *sock;
	int (*rebuild)(struct shared_device *dev);
	struct device_link *link;
	pthread_t thread;
	int owner;
	int stop_fd;
};

int keeper_start(struct keeper *k);
void keeper_stop(struct keeper *k);

#endif
