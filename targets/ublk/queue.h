/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef TARGETS_UBLK_QUEUE_H
#define TARGETS_UBLK_QUEUE_H

#include <liburing.h>
#include <semaphore.h>
#include "targets/backend/channel.h"
#include "targets/ublk/abi.h"

struct ublk_queue;

/**
 * struct ublk_slot - a tag of a queue, and the request it stands for
 * @r: as the channel sees it; first, so that its done() finds the slot
 * @iov: its data
 * @queue: the queue
 * @moved: bytes of it that zero copy has moved
 */
struct ublk_slot {
	struct blk_request r;
	struct iovec iov;
	struct ublk_queue *queue;
	uint64_t moved;
};

/**
 * struct ublk_queue - a queue of a ublk device, served by one iothread
 * @source: the event source; its fd is the ring
 * @it: who serves it: the driver wants all commands of a queue from one thread
 * @backend: the disk
 * @trace: where the iothread writes down what happens, NULL without a trace
 * @ring: an io_uring: a command that waits for a request, or brings an answer and waits for the
 *	next one, is a submission; a request is the completion
 * @desc: requests by their tag, written by the driver and only read here
 * @slot: the same on our side
 * @memory: where the driver copies data to and from, @stride bytes a tag; NULL with @zero_copy
 * @stride: from one tag's memory to the next
 * @max_bytes: most data of a request
 * @depth: tags
 * @number: which of the device's queues
 * @fd: the device's /dev/ublkcN
 * @lost_fd: eventfd to write to when the driver takes a tag away without being asked to
 * @read_only: refuse whatever changes data
 * @zero_copy: the ring reads and writes the memory of whoever uses the device: see zero-copy.c
 * @closing: the device is being stopped
 * @held: tags with a command in the driver or a request in flight
 * @submit: answers the requests that were done in this turn
 * @ended: posted when @held has become 0
 */
struct ublk_queue {
	struct event_source source;
	struct iothread *it;
	struct backend *backend;
	struct trace_ring *trace;
	struct io_uring ring;
	const struct ublksrv_io_desc *desc;
	struct ublk_slot *slot;
	char *memory;
	size_t stride;
	uint32_t max_bytes;
	unsigned int depth;
	uint16_t number;
	int fd;
	int lost_fd;
	bool read_only;
	bool zero_copy;
	bool closing;
	unsigned int held;
	struct deferred submit;
	sem_t ended;
} __attribute__((aligned(THREAD_ALIGN)));

int ublk_queue_start(struct ublk_queue *q, struct iothread *it);
void ublk_queue_close(struct ublk_queue *q);
void ublk_queue_stop(struct ublk_queue *q);

/* Set in the name of a completion that is of I/O on the file, beside the tag */
#define UBLK_IS_IO	(UINT64_C(1) << 32)

int ublk_zero_copy_prepare(struct ublk_queue *q);
void ublk_zero_copy_carry(struct blk_request *r);
void ublk_zero_copy_moved(struct ublk_slot *s, int result);

#endif
