/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef ENGINES_VIRTIO_DEVICE_H
#define ENGINES_VIRTIO_DEVICE_H

#include "engines/driver/virtio-blk.h"
#include "engines/transport/arena.h"
#include "engines/virtio/keeper.h"
#include "engines/virtio/transport.h"

/**
 * struct shared_queue - one virtqueue of a device, lent to a job at a time
 * @mem: its ring and request slots
 * @buffers: its job's I/O buffers
 * @kick_fd: eventfd towards the device
 * @call_fd: eventfd from the device
 * @doorbell: register to kick the device by, see struct blk_queue; NULL where @kick_fd does
 */
struct shared_queue {
	char *mem;
	char *buffers;
	int kick_fd;
	int call_fd;
	volatile void *doorbell;
};

/**
 * struct shared_device - a device that all jobs with the same socket (or target) share
 * @next: in the list of this process
 * @transport: how it is reached
 * @key: which device it is, among those of its transport
 * @error: why it could not be set up, a negative errno, or 0; then it has nothing else
 * @why: the same in words
 * @priv: the transport's own
 * @features: negotiated features
 * @limits: what the device can do
 * @max_queues: queues it has
 * @max_queue_size: most entries of one, 0 where only the attempt tells
 * @peer_fd: readable when the device is gone, -1 when it cannot go
 * @link: of a device that may go away and come back, NULL of others
 * @arena: rings and buffers of all queues
 * @guest_offset: what the device adds to an address here, see struct blk_queue
 * @calls: some job sleeps, and the device has to wake it up
 * @queue_size: entries of every queue
 * @segments: most segments of a request, see struct blk_shape
 * @buffer_bytes: room for I/O buffers of every queue
 * @nr_queues: how many queues are in use
 * @queue: they
 * @claim: process or thread that holds each queue, 0 for none; shared between processes
 *
 * Made by the first setup() of a run, before any job is forked, so that jobs that are
 * processes inherit the mapping, the eventfds and the connection as they are. After that
 * nobody talks on the connection but a keeper, where there is one.
 */
struct shared_device {
	struct shared_device *next;
	const struct virtio_transport *transport;
	char *key;
	int error;
	char why[FIO_VERROR_SIZE];
	void *priv;
	uint64_t features;
	struct blk_limits limits;
	unsigned int max_queues;
	unsigned int max_queue_size;
	int peer_fd;
	struct device_link *link;
	struct arena arena;
	uint64_t guest_offset;
	bool calls;
	unsigned int queue_size;
	unsigned int segments;
	size_t buffer_bytes;
	unsigned int nr_queues;
	struct shared_queue *queue;
	_Atomic int *claim;
};

static inline struct blk_shape shared_device_shape(const struct shared_device *dev)
{
	return (struct blk_shape) {
		.num = dev->queue_size, .segments = dev->segments, .features = dev->features,
	};
}

struct shared_device *shared_device_get(struct thread_data *td);
int shared_device_claim(struct shared_device *dev, struct thread_data *td, unsigned int *index);
void shared_device_release(struct shared_device *dev, unsigned int index);
void shared_device_describe(struct shared_device *dev, const struct virtio_blk_config *config,
			    uint64_t features, unsigned int most);
struct vq_parts shared_queue_parts(const struct shared_device *dev, unsigned int index);
int shared_device_fail(struct thread_data *td, const struct shared_device *dev, int err, const char *why);
int virtio_status_fault(uint8_t status, const char **why);

#endif
