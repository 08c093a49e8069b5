/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef TARGETS_BACKEND_BACKEND_H
#define TARGETS_BACKEND_BACKEND_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "targets/backend/device-model.h"
#include "targets/backend/request.h"

/**
 * struct backend_ops - what stands behind a device
 * @name: what --backend calls it
 * @open: get ready; sets backend->size where it is 0
 * @warm: pay now, in this process, for what the first requests would find missing; may
 *	be NULL
 * @close: undo open
 * @execute: carry a request out and return 0 or a negative errno; called from any thread,
 *	may block; what the backend has no notion of is -EOPNOTSUPP
 */
struct backend_ops {
	const char *name;
	int (*open)(struct backend *b);
	void (*warm)(struct backend *b);
	void (*close)(struct backend *b);
	int (*execute)(struct backend *b, struct blk_request *r);
};

/**
 * struct backend_config - what is asked of a backend
 * @ops: its kind
 * @path: the file backend's file or block device
 * @size: bytes; 0 for what the file has
 * @block_size: smallest unit of I/O in bytes
 * @shared: processes forked later are to see the same data
 * @read_only: nothing will be written
 * @direct: go around the page cache
 * @polled: it must be able to have its I/O polled for (IORING_SETUP_IOPOLL)
 * @throttle: what the emulated device cannot exceed
 */
struct backend_config {
	const struct backend_ops *ops;
	const char *path;
	uint64_t size;
	uint32_t block_size;
	bool shared;
	bool read_only;
	bool direct;
	bool polled;
	struct throttle_config throttle;
};

/**
 * struct backend - an open backend
 * @ops: its kind
 * @config: what was asked for
 * @size: bytes
 * @mem: the ram backend's memory
 * @fd: the file backend's file
 * @align: the file backend's unit of offsets and lengths, in bytes; 1 for any
 * @mem_align: its unit of memory addresses, in bytes; 1 for any
 * @is_block: the file is a block device
 * @throttle: the emulated device's, NULL without one
 * @flush_error: how its first failed flush failed
 */
struct backend {
	const struct backend_ops *ops;
	struct backend_config config;
	uint64_t size;
	char *mem;
	int fd;
	unsigned int align;
	unsigned int mem_align;
	bool is_block;
	struct throttle *throttle;
	atomic_int flush_error;
};

extern const struct backend_ops null_backend;
extern const struct backend_ops ram_backend;
extern const struct backend_ops file_backend;

int backend_open(struct backend *b, const struct backend_config *config);
void backend_warm(struct backend *b);
void backend_close(struct backend *b);

/* What the ways to a file's I/O have to know of it */
bool file_takes_memory(const struct backend *b, const struct blk_request *r);
int file_flushed(struct backend *b, int result);

int uring_check_polled(const struct backend *b);

#endif
