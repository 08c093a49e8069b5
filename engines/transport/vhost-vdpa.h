/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef ENGINES_TRANSPORT_VHOST_VDPA_H
#define ENGINES_TRANSPORT_VHOST_VDPA_H

#include <stddef.h>
#include <stdint.h>
#include "engines/transport/why.h"

/**
 * struct vdpa - a virtio device behind the kernel's vhost-vdpa
 * @fd: the device's file
 * @id: kind of device, VIRTIO_ID_BLOCK for a disk
 * @features: offered, then negotiated
 * @status: as we set it
 * @max_queues: virtqueues it has; 0 if the kernel does not tell (before 5.19)
 * @max_queue_size: most entries of one
 * @config_size: bytes of its configuration space; 0 if the kernel does not tell
 * @why: why the last function failed
 *
 * Only one process opens it at a time. When the last copy of @fd is closed, by whatever end of the
 * processes that have it, the kernel resets the device and forgets the memory.
 */
struct vdpa {
	int fd;
	uint32_t id;
	uint64_t features;
	uint8_t status;
	unsigned int max_queues;
	unsigned int max_queue_size;
	unsigned int config_size;
	struct why why;
};

/**
 * struct vdpa_queue - where a virtqueue is
 * @num: entries
 * @desc: descriptors, or the packed ring, as the device addresses them
 * @driver: available ring, or the driver's event suppression
 * @device: used ring, or the device's event suppression
 * @kick_fd: eventfd towards the device
 * @call_fd: eventfd from the device; -1 if it need not call
 */
struct vdpa_queue {
	unsigned int num;
	uint64_t desc;
	uint64_t driver;
	uint64_t device;
	int kick_fd;
	int call_fd;
};

int vdpa_open(struct vdpa *v, const char *path);
int vdpa_negotiate(struct vdpa *v, uint64_t wanted, uint64_t needed);
int vdpa_read_config(struct vdpa *v, void *config, size_t len);
int vdpa_map_memory(struct vdpa *v, void *base, size_t size, uint64_t *iova);
int vdpa_start_queue(struct vdpa *v, unsigned int index, const struct vdpa_queue *q);
int vdpa_call_on_config(struct vdpa *v, int fd);
int vdpa_driver_ok(struct vdpa *v);
int vdpa_status(const struct vdpa *v);
void vdpa_close(struct vdpa *v);

#endif
