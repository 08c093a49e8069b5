/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef TARGETS_DEVICE_VIRTIO_BLK_H
#define TARGETS_DEVICE_VIRTIO_BLK_H

#include <linux/virtio_blk.h>
#include "targets/backend/backend.h"
#include "targets/stats.h"
#include "wire/split-device.h"

/**
 * struct blk_device - a virtio-blk device: what it offers and what stands behind it
 * @backend: where the data is
 * @features: feature bits offered, without transport features
 * @config: configuration space, little-endian; @config.wce is what the driver wrote last
 * @block_size: smallest unit of I/O in bytes
 * @request_cost_ns: CPU time to burn for a request
 */
struct blk_device {
	struct backend *backend;
	uint64_t features;
	struct virtio_blk_config config;
	uint32_t block_size;
	uint64_t request_cost_ns;
};

void blk_device_init(struct blk_device *dev, struct backend *backend, uint32_t block_size,
		     bool read_only, unsigned int num_queues);
int blk_device_write_config(struct blk_device *dev, uint32_t offset, uint32_t size,
			    const void *data);
int blk_device_execute(struct blk_device *dev, struct vq_chain *c, struct iothread_stats *stats,
		       uint8_t **status_at, uint32_t *written);

#endif
