/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef TARGETS_DEVICE_QUEUE_H
#define TARGETS_DEVICE_QUEUE_H

#include <semaphore.h>
#include "targets/device/virtio-blk.h"
#include "targets/backend/channel.h"
#include "wire/inflight.h"

/**
 * struct queue_request - room for a request of a queue
 */
struct queue_request {
	struct vblk_request vblk;	/* first, as it is handed back */
	struct queue *queue;
	struct queue_request *next_free;
	bool in_flight;
};

/**
 * struct queue - a running virtqueue of a device, served by one iothread
 * @source: the event source; its fd is the kick eventfd
 * @it: who serves it
 * @dev: the device
 * @ring: the virtqueue
 * @mem: the driver's memory
 * @trace: where the iothread writes down what happens, NULL without a trace; beside what
 *	every request needs
 * @inflight: record to keep of what is in flight, NULL without one
 * @resubmits: there may be requests of an earlier device that are to come first
 * @one_by_one: the last turn found a single request, so that the next is probably like it
 * @recover: the record may be an earlier device's, who left requests
 * @call_blocks: writing to @call_fd while its counter is full would block the iothread
 * @guarded: the driver shares @call_fd and may make it block
 * @number: what the queue is called in a trace
 * @kicks_unseen: the kick descriptor does not count, so that wake-ups stand for kicks
 * @kicks_seen: what it had counted when the iothread last looked, or the owner before
 * @call_fd: eventfd to notify the driver, or -1
 * @call: notifies it in place of that eventfd, without waiting; or NULL
 * @on_broken: told of a request that cannot be answered; the queue has stopped looking
 * @owner: argument of @on_broken
 * @broken: @on_broken has been told
 * @stopping: queue_stop() waits for @in_flight to become 0
 * @in_flight: requests taken and not given back
 * @request: room for as many as the ring holds
 * @free: those not in flight that have been used before
 * @touched: how many have been used
 * @publish: shows the driver what was given back in this turn
 * @drained: posted when a stopping queue has become empty
 */
struct queue {
	struct event_source source;
	struct iothread *it;
	struct blk_device *dev;
	struct vq_device ring;
	const struct guest_memory *mem;
	struct trace_ring *trace;
	struct vq_inflight *inflight;
	bool resubmits;
	bool one_by_one;
	bool recover;
	bool call_blocks;
	bool guarded;
	bool kicks_unseen;
	uint16_t number;
	int call_fd;
	void (*call)(struct queue *q);
	uint64_t kicks_seen;
	void (*on_broken)(void *owner, struct queue *q, int err);
	void *owner;
	bool broken;
	bool stopping;
	unsigned int in_flight;
	struct queue_request *request;
	struct queue_request *free;
	unsigned int touched;
	struct deferred publish;
	sem_t drained;
} __attribute__((aligned(THREAD_ALIGN)));

int queue_start(struct queue *q, struct iothread *it, uint32_t base);
void queue_stop(struct queue *q, bool at_once);

#endif
