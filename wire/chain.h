/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef WIRE_CHAIN_H
#define WIRE_CHAIN_H

#include <errno.h>
#include <sys/uio.h>
#include "wire/guest-memory.h"

/* Pieces of one request after translation; seg_max in the device's config stays below. */
#define VQ_IOV_MAX	130

/**
 * struct vq_chain - a request as the device sees it
 * @head: names the request when it is returned: its first descriptor in a split ring, its
 *	buffer id in a packed one
 * @count: descriptors it takes in a packed ring
 * @entry: its entry in a packed ring's record of requests in flight, where there is one
 * @nr_read: pieces the device reads, first in @iov
 * @nr_write: pieces the device writes, behind them
 * @iov: host addresses
 */
struct vq_chain {
	uint16_t head;
	uint16_t count;
	uint16_t entry;
	uint16_t nr_read;
	uint16_t nr_write;
	struct iovec iov[VQ_IOV_MAX];
};

/**
 * vq_chain_add - add a descriptor's memory to a request
 * @c: the request
 * @mem: the driver's memory
 * @addr: guest physical address
 * @len: bytes; they may lie in several regions
 * @device_writes: the device writes them, else it reads them
 *
 * Return: 0, -EINVAL for an empty descriptor or one that the device reads behind one that
 * it writes (VIRTIO 1.2, 2.7.4.2 and 2.8.17), -EFAULT for an address outside the memory,
 * -E2BIG for too many pieces.
 */
static inline int vq_chain_add(struct vq_chain *c, const struct guest_memory *mem, uint64_t addr,
			       uint64_t len, bool device_writes)
{
	if (!len || (!device_writes && c->nr_write))
		return -EINVAL;

	while (len) {
		unsigned int n = c->nr_read + c->nr_write;
		uint64_t run = len;
		void *host = guest_memory_run(mem, addr, &run);

		if (!host)
			return -EFAULT;
		if (n == VQ_IOV_MAX)
			return -E2BIG;
		c->iov[n] = (struct iovec) { .iov_base = host, .iov_len = run };
		if (device_writes)
			c->nr_write++;
		else
			c->nr_read++;
		addr += run;
		len -= run;
	}
	return 0;
}

#endif
