/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef TARGETS_UBLK_DEVICE_H
#define TARGETS_UBLK_DEVICE_H

#include "targets/ublk/control.h"
#include "targets/ublk/queue.h"

/* For the number of a device: any that is free */
#define UBLK_ANY	(-1)

/**
 * struct ublk_config - what a device is to be
 * @number: N of /dev/ublkbN, or UBLK_ANY
 * @num_queues: queues; 0 for one a CPU, which is also the most the kernel makes
 * @queue_depth: requests in flight in each
 * @block_size: logical block size in bytes
 * @read_only: nothing is to be written
 * @zero_copy: the kernel does not copy data; the backend is a file, and its I/O on io_uring
 * @recoverable: if the target is killed, the device waits for one that takes it over
 * @iothreads: who serves it
 * @nr_iothreads: how many they are
 * @map: which of them serves a queue, by the queue's number modulo @nr_map
 * @nr_map: 0 for round robin
 * @first_iothread: where that begins
 */
struct ublk_config {
	int number;
	unsigned int num_queues;
	unsigned int queue_depth;
	uint32_t block_size;
	bool read_only;
	bool zero_copy;
	bool recoverable;
	struct iothread *iothreads;
	unsigned int nr_iothreads;
	const uint16_t *map;
	unsigned int nr_map;
	unsigned int first_iothread;
};

/**
 * struct ublk_device - a device that is served
 * @control: the way to the driver
 * @backend: where the data is
 * @config: as given
 * @info: what the driver says of it
 * @fd: its /dev/ublkcN
 * @lost_fd: readable when the driver has taken it away without being asked to
 * @queue: its queues
 * @nr_started: how many of them have been started
 */
struct ublk_device {
	struct ublk_control *control;
	struct backend *backend;
	struct ublk_config config;
	struct ublksrv_ctrl_dev_info info;
	int fd;
	int lost_fd;
	struct ublk_queue *queue;
	unsigned int nr_started;
};

int ublk_device_open(struct ublk_device *d);
void ublk_device_close(struct ublk_device *d);
int ublk_device_remove(struct ublk_control *c, unsigned int number);

#endif
