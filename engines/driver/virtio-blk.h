/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef ENGINES_DRIVER_VIRTIO_BLK_H
#define ENGINES_DRIVER_VIRTIO_BLK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/uio.h>
#include <linux/virtio_blk.h>
#include "base/cpu.h"
#include "base/hist.h"
#include "wire/trace.h"
#include "wire/vq-driver.h"

/*
 * A virtio-blk driver that knows no transport: it is given memory the device can
 * reach, what was negotiated, and an eventfd or a register to kick the device by.
 */

/* Configuration fields this driver reads; a device may refuse to be asked for more. */
#define BLK_CONFIG_BYTES \
	(offsetof(struct virtio_blk_config, unused1) + \
	 sizeof(((struct virtio_blk_config *)0)->unused1))

/**
 * struct blk_limits - what a device can do, in this driver's terms
 * @capacity: bytes
 * @block_size: smallest unit of I/O in bytes
 * @max_transfer: most bytes of one read or write
 * @max_segments: most pieces of memory of one read or write
 * @max_discard: most bytes of one discard, 0 when the device has none
 * @flush: the device has a cache to flush
 * @read_only: it refuses writes
 */
struct blk_limits {
	uint64_t capacity;
	uint32_t block_size;
	uint32_t max_transfer;
	uint32_t max_segments;
	uint32_t max_discard;
	bool flush;
	bool read_only;
};

/* Most segments of a request: with header and status they fill two kilobytes of table. */
#define BLK_SEGMENTS_MAX	126

/**
 * struct blk_shape - what the memory of a queue looks like
 * @num: queue size
 * @features: negotiated features
 * @segments: most segments of a request, up to BLK_SEGMENTS_MAX; more than one needs
 *	indirect tables
 */
struct blk_shape {
	unsigned int num;
	unsigned int segments;
	uint64_t features;
};

/**
 * struct blk_slot - memory of one request that the device can reach
 *
 * What the device reads fills exactly one cache line, so that one transfer between
 * the cores brings it all; what it writes is on another line.
 */
struct blk_slot {
	union {
		struct vring_desc table[VQ_CHAIN];
		struct vring_packed_desc packed[VQ_CHAIN];
	};
	struct virtio_blk_outhdr hdr;
	uint8_t status __attribute__((aligned(CACHE_LINE)));
	struct virtio_blk_discard_write_zeroes range;
} __attribute__((aligned(CACHE_LINE)));

/**
 * struct blk_table - an indirect table of a request with several segments
 */
union blk_entry {
	struct vring_desc split;
	struct vring_packed_desc packed;
};

struct blk_table {
	union blk_entry entry[BLK_SEGMENTS_MAX + 2];
} __attribute__((aligned(CACHE_LINE)));

/**
 * struct blk_tagged - what the driver remembers of a request, out of the device's reach
 * @tag: the user's
 * @age: blk_queue.age when it was queued
 * @busy: it is in flight
 * @renewed: another device has taken it over, and its age was counted anew
 */
struct blk_tagged {
	void *tag;
	uint32_t age;
	bool busy;
	bool renewed;
};

/**
 * struct blk_stats - what a queue counts; written and read by its job alone
 * @kicks: kicks sent
 * @batches: times requests were shown to the device
 * @batch: requests shown to the device at once
 */
struct blk_stats {
	uint64_t kicks;
	uint64_t batches;
	struct hist batch;
};

/**
 * struct blk_queue - one virtqueue of a device, driven by one job
 * @ring: the virtqueue
 * @count: a packed ring's own
 * @slot: device-visible memory of the requests
 * @table: longer tables, one for each slot, where requests may have several segments
 * @guest_offset: guest physical address of memory, minus its address here
 * @request: one for each slot
 * @nr_slots: requests that can be in flight
 * @free: stack of free slots; the one used last is in the caches
 * @nr_free: its height
 * @batch: requests the device has not been shown
 * @indirect: requests go through indirect tables
 * @owns_chain: each slot owns VQ_CHAIN descriptors of a split ring, named by the first
 * @kick_fd: eventfd of the device
 * @doorbell: where @number is stored as a kick, instead; NULL without; the user's to set
 * @age: a coarse clock for finding stuck requests, advanced by the user
 * @trace: where to write down what happens, NULL for nowhere; the user's to set
 * @number: what the queue is called there; the user's to set
 */
struct blk_queue {
	struct vq_driver ring;
	uint8_t *count;
	struct blk_slot *slot;
	struct blk_table *table;
	uint64_t guest_offset;
	struct blk_tagged *request;
	unsigned int nr_slots;
	uint16_t *free;
	unsigned int nr_free;
	unsigned int batch;
	bool indirect;
	bool owns_chain;
	int kick_fd;
	volatile void *doorbell;
	uint32_t age;
	uint16_t number;
	struct trace_ring *trace;
	struct blk_stats stats;
};

void blk_limits_read(struct blk_limits *l, const struct virtio_blk_config *c, uint64_t features);
uint64_t blk_driver_features(bool packed, bool event_idx, bool indirect);

unsigned int blk_queue_slots(unsigned int num, bool indirect);
size_t blk_queue_bytes(const struct blk_shape *shape);
void blk_queue_ring(struct vq_driver *ring, void *mem, const struct blk_shape *shape);
int blk_queue_init(struct blk_queue *q, void *mem, const struct blk_shape *shape,
		   uint64_t guest_offset, int kick_fd);
void blk_queue_destroy(struct blk_queue *q);

void blk_queue_rw(struct blk_queue *q, bool write, uint64_t offset, void *buf, uint32_t len,
		  void *tag);
void blk_queue_rwv(struct blk_queue *q, bool write, uint64_t offset, const struct iovec *iov,
		   unsigned int n, void *tag);
void blk_queue_flush(struct blk_queue *q, void *tag);
void blk_queue_discard(struct blk_queue *q, uint64_t offset, uint32_t len, void *tag);
int blk_queue_submit(struct blk_queue *q);
int blk_queue_check_kick(struct blk_queue *q);
int blk_queue_next(struct blk_queue *q, void **tag, int *err);
void blk_queue_renew(struct blk_queue *q);
bool blk_queue_stuck(const struct blk_queue *q, uint32_t max_age, bool gone);

#endif
