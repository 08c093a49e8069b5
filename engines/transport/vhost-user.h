/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef ENGINES_TRANSPORT_VHOST_USER_H
#define ENGINES_TRANSPORT_VHOST_USER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "wire/vq-driver.h"

/**
 * struct vu_front - a vhost-user front end: the connection to a device
 * @sock: the socket
 * @timeout_ms: how long to wait for an answer
 * @offered: features the device offers
 * @features: negotiated features
 * @protocol: negotiated protocol features
 * @max_queues: queues the device has
 */
struct vu_front {
	int sock;
	int timeout_ms;
	uint64_t offered;
	uint64_t features;
	uint64_t protocol;
	unsigned int max_queues;
};

/**
 * struct vu_kept - the device's record of requests in flight, which outlives it
 * @fd: the memory, -1 without
 * @size: bytes
 * @offset: where in @fd it begins
 * @queues: queues it is for
 * @queue_size: entries of each
 */
struct vu_kept {
	int fd;
	uint64_t size;
	uint64_t offset;
	unsigned int queues;
	unsigned int queue_size;
};

int vu_front_connect(struct vu_front *f, const char *path, int timeout_ms);
int vu_front_negotiate(struct vu_front *f, uint64_t wanted, bool inflight);
int vu_front_get_config(struct vu_front *f, void *config, size_t len);
int vu_front_get_inflight(struct vu_front *f, unsigned int queues, unsigned int queue_size,
			  struct vu_kept *kept);
int vu_front_set_inflight(struct vu_front *f, const struct vu_kept *kept);
int vu_front_share_memory(struct vu_front *f, int fd, void *base, size_t size);
int vu_front_start_queue(struct vu_front *f, unsigned int index, unsigned int num,
			 const struct vq_driver *ring, int kick_fd, int call_fd);
void vu_front_close(struct vu_front *f);

#endif
