/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef TARGETS_DEVICE_VIRTIO_BLK_H
#define TARGETS_DEVICE_VIRTIO_BLK_H

#include <stdatomic.h>
#include <linux/virtio_blk.h>
#include "targets/backend/channel.h"
#include "wire/vq-device.h"

/**
 * struct blk_device - a virtio-blk device: what it offers and what stands behind it
 * @backend: where the data is
 * @features: feature bits offered, without transport features
 * @config: configuration space, little-endian; @config.wce is what the driver wrote last
 * @block_size: smallest unit of I/O in bytes
 * @write_through: the driver has no flush
 * @durable: what it writes is to be durable when it is done; all that changes while iothreads
 *	serve the device
 */
struct blk_device {
	struct backend *backend;
	uint64_t features;
	struct virtio_blk_config config;
	uint32_t block_size;
	bool write_through;
	atomic_bool durable;
};

/* Pieces of one direction, consumed from the front. */
struct vblk_pieces {
	struct iovec *iov;
	unsigned int nr;
};

/* What vblk_submit() returns for a request that is done later; no virtio-blk status. */
#define VBLK_PENDING	256

/**
 * struct vblk_request - a virtio-blk request, from its chain to its status
 * @blk: what the backend is asked for; first, as it is handed back
 * @chain: the request in the driver's memory; its pieces are consumed
 * @dev: the device
 * @channel: the serving iothread's
 * @done: called in that iothread for a request that was pending
 * @ranges: of discard and write zeroes: those to come
 * @status_at: where the status byte goes
 * @status: the status, when it is done
 * @written: bytes written into the request's memory, status included
 */
struct vblk_request {
	struct blk_request blk;
	struct blk_device *dev;
	struct channel *channel;
	void (*done)(struct vblk_request *r);
	struct vblk_pieces ranges;
	uint8_t *status_at;
	uint8_t status;
	uint32_t written;
	struct vq_chain chain;
};

void blk_device_init(struct blk_device *dev, struct backend *backend, uint32_t block_size,
		     bool read_only, unsigned int num_queues);
void blk_device_negotiated(struct blk_device *dev, uint64_t features);
int blk_device_write_config(struct blk_device *dev, uint32_t offset, uint32_t size,
			    const void *data);
int vblk_submit(struct vblk_request *r, struct blk_device *dev, struct channel *channel);
bool vblk_cancel(struct vblk_request *r);

#endif
