/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef TARGETS_DEVICE_QUEUE_H
#define TARGETS_DEVICE_QUEUE_H

#include "base/alloc.h"
#include "targets/delay.h"
#include "targets/device/virtio-blk.h"
#include "targets/iothread/deadline.h"
#include "targets/iothread/iothread.h"

/**
 * struct queue_thread - an iothread with what its queues share
 * @it: the thread
 * @deadlines: delayed requests of all its queues
 * @delay: service time of the emulated device
 * @rng: source of its draws
 */
struct queue_thread {
	struct iothread it;
	struct deadlines deadlines;
	struct delay delay;
	struct rng rng;
} __attribute__((aligned(THREAD_ALIGN)));

/**
 * struct delayed - a request that has been carried out and waits for its time
 */
struct delayed {
	struct deadline deadline;	/* first: deadlines hand it back */
	struct queue *queue;
	struct delayed *next_free;
	uint64_t taken_ns;
	uint8_t *status_at;
	uint32_t written;
	uint16_t head;
	uint8_t status;
	bool waiting;
};

/**
 * struct queue - a running virtqueue of a device, served by one iothread
 * @source: the event source; its fd is the kick eventfd
 * @thread: who serves it
 * @dev: the device
 * @ring: the virtqueue
 * @mem: the driver's memory
 * @call_fd: eventfd to notify the driver, or -1
 * @on_broken: told of a request that cannot be answered; the queue has stopped looking
 * @owner: argument of @on_broken
 * @broken: @on_broken has been told
 * @stopping: queue_stop() waits for @in_flight to become 0
 * @in_flight: delayed requests
 * @delayed: room for as many as the ring holds
 * @flush: publishes what came due together
 * @drained: posted when a stopping queue has become empty
 */
struct queue {
	struct event_source source;
	struct queue_thread *thread;
	struct blk_device *dev;
	struct split_device ring;
	const struct guest_memory *mem;
	int call_fd;
	void (*on_broken)(void *owner, struct queue *q, int err);
	void *owner;
	bool broken;
	bool stopping;
	unsigned int in_flight;
	struct delayed *delayed;
	struct delayed *free;
	struct deadline_flush flush;
	sem_t drained;
	struct vq_chain chain;
} __attribute__((aligned(THREAD_ALIGN)));

int queue_thread_start(struct queue_thread *t, unsigned int index, const cpu_set_t *cpus,
		       const struct poll_policy *policy, const struct delay *delay);
void queue_thread_stop(struct queue_thread *t);
int queue_start(struct queue *q, struct queue_thread *thread, uint16_t base);
void queue_stop(struct queue *q, bool at_once);

#endif
