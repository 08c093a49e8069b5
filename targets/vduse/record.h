/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef TARGETS_VDUSE_RECORD_H
#define TARGETS_VDUSE_RECORD_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "targets/backend/backend.h"

/**
 * struct vduse_identity - what must be the same for a target to take a device over
 * @num_queues: queues
 * @queue_size: most entries of one
 * @block_size: in bytes
 * @read_only: 1 if nothing may be written
 * @size: capacity in bytes
 * @keeps: 0 if the data is gone with the target, as memory is
 * @place: file system of the file; 0 for a block device, or without a file
 * @number: inode number of the file, or the number of the block device; 0 without
 */
struct vduse_identity {
	uint32_t num_queues;
	uint32_t queue_size;
	uint32_t block_size;
	uint32_t read_only;
	uint64_t size;
	uint64_t keeps;
	uint64_t place;
	uint64_t number;
};

/**
 * struct vduse_record - a device's state, which outlives a target that is killed
 * @shared: the file in /dev/shm, mapped
 * @len: its bytes
 * @room: bytes of each queue's record of requests in flight
 */
struct vduse_record {
	struct vduse_record_head *shared;
	size_t len;
	size_t room;
};

void vduse_identity_of(struct vduse_identity *id, const struct backend *b, unsigned int num_queues,
		       unsigned int queue_size);
int vduse_record_create(struct vduse_record *r, const char *name, const struct vduse_identity *id);
int vduse_record_open(struct vduse_record *r, const char *name);
const struct vduse_identity *vduse_record_identity(const struct vduse_record *r);
uint8_t vduse_record_status(const struct vduse_record *r);
void vduse_record_set_status(struct vduse_record *r, uint8_t status);
void *vduse_record_queue(const struct vduse_record *r, unsigned int index);
void vduse_record_close(struct vduse_record *r);
void vduse_record_remove(const char *name);

#endif
