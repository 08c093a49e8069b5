/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef TARGETS_BACKEND_BACKEND_H
#define TARGETS_BACKEND_BACKEND_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/uio.h>

struct backend;

/**
 * struct backend_ops - what stands behind a device
 * @name: what --backend calls it
 * @open: get ready for backend->size bytes
 * @warm: pay now, in this process, for what the first requests would find missing; may
 *	be NULL
 * @close: undo open
 * @read: fill @iov from @offset
 * @write: store @iov at @offset
 * @flush: make earlier writes durable
 * @discard: forget @len bytes at @offset
 * @write_zeroes: make @len bytes at @offset read as zero; @unmap allows giving them back
 *
 * Ranges lie inside the device: the caller has checked. All return 0 or a negative
 * errno and may be called from any iothread.
 */
struct backend_ops {
	const char *name;
	int (*open)(struct backend *b);
	void (*warm)(struct backend *b);
	void (*close)(struct backend *b);
	int (*read)(struct backend *b, const struct iovec *iov, unsigned int nr, uint64_t offset);
	int (*write)(struct backend *b, const struct iovec *iov, unsigned int nr, uint64_t offset);
	int (*flush)(struct backend *b);
	int (*discard)(struct backend *b, uint64_t offset, uint64_t len);
	int (*write_zeroes)(struct backend *b, uint64_t offset, uint64_t len, bool unmap);
};

/**
 * struct backend - an open backend
 * @ops: its kind
 * @size: bytes
 * @shared: processes forked later are to see the same data
 * @mem: the ram backend's memory
 */
struct backend {
	const struct backend_ops *ops;
	uint64_t size;
	bool shared;
	char *mem;
};

extern const struct backend_ops null_backend;
extern const struct backend_ops ram_backend;

int backend_open(struct backend *b, const struct backend_ops *ops, uint64_t size, bool shared);
void backend_warm(struct backend *b);
void backend_close(struct backend *b);

#endif
