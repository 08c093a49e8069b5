/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef TARGETS_VDUSE_MEMORY_H
#define TARGETS_VDUSE_MEMORY_H

#include <pthread.h>
#include "targets/device/lost-memory.h"

/**
 * struct vduse_memory - a driver's memory, mapped here as it is first needed
 * @fd: the device's file
 * @owner: whose it is, told when pages are lost
 * @lock: covers the rest
 * @region: what is mapped
 * @nr: how many they are
 * @room: how many @region has room for
 * @mapped: bytes of all
 * @max: most bytes that may be mapped
 * @refused: why a region was not mapped, 0 if none was refused: a negative errno that queue_fault() knows
 */
struct vduse_memory {
	int fd;
	struct memory_owner *owner;
	pthread_mutex_t lock;
	struct guest_region *region;
	unsigned int nr;
	unsigned int room;
	uint64_t mapped;
	uint64_t max;
	int refused;
};

void vduse_memory_init(struct vduse_memory *m, int fd, struct memory_owner *owner, uint64_t max);
int vduse_memory_find(struct vduse_memory *m, uint64_t addr, struct guest_region *r);
void vduse_memory_drop(struct vduse_memory *m, uint64_t start, uint64_t last);
int vduse_memory_refused(struct vduse_memory *m);
void vduse_memory_destroy(struct vduse_memory *m);

#endif
