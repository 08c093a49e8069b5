/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef ENGINES_VIRTIO_DEVICE_H
#define ENGINES_VIRTIO_DEVICE_H

#include "engines/driver/virtio-blk.h"
#include "engines/transport/arena.h"
#include "engines/transport/vhost-user.h"
#include "engines/virtio/options.h"

/**
 * struct shared_queue - one virtqueue of a device, lent to a job at a time
 * @mem: its ring and request slots
 * @buffers: its job's I/O buffers
 * @kick_fd: eventfd towards the device
 * @call_fd: eventfd from the device
 */
struct shared_queue {
	char *mem;
	char *buffers;
	int kick_fd;
	int call_fd;
};

/**
 * struct shared_device - a device that all jobs with the same socket share
 * @next: in the list of this process
 * @front: the connection; after set-up nobody talks on it
 * @arena: rings and buffers of all queues
 * @limits: what the device can do
 * @queue_size: entries of every queue
 * @buffer_bytes: room for I/O buffers of every queue
 * @nr_queues: how many
 * @queue: they
 * @claim: process or thread that holds each queue, 0 for none; shared between processes
 *
 * Made by the first setup() of a run, before any job is forked, so that jobs that are
 * processes inherit the mapping, the eventfds and the connection as they are.
 */
struct shared_device {
	struct shared_device *next;
	char *socket;
	struct vu_front front;
	struct arena arena;
	struct blk_limits limits;
	unsigned int queue_size;
	size_t buffer_bytes;
	unsigned int nr_queues;
	struct shared_queue *queue;
	_Atomic int *claim;
};

struct shared_device *shared_device_get(struct thread_data *td);
int shared_device_claim(struct shared_device *dev, const char *job, unsigned int *index);
void shared_device_release(struct shared_device *dev, unsigned int index);
void shared_devices_close(void);

#endif
