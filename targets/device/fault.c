/* SPDX-License-Identifier: GPL-2.0-only */
#include <errno.h>
#include "targets/device/fault.h"

/**
 * queue_fault - why a queue cannot go on, in words
 * @err: the negative errno that queue.on_broken, or what checks a driver's memory and descriptors, gave
 *
 * Return: what follows the name of whose queue it is, without an end of line.
 */
const char *queue_fault(int err)
{
	switch (err) {
	case -ERANGE:
		return "a descriptor or ring index is out of range";
	case -ELOOP:
		return "a descriptor chain loops";
	case -EFAULT:
		return "an address lies outside the shared memory";
	case -E2BIG:
		return "a request has too many segments";
	case -EPROTO:
		return "a request has no room for its status";
	case -EBADF:
		return "call eventfd cannot be written";
	case -EDEADLK:
		return "call eventfd is full and blocks";
	case -EBADFD:
		return "kick, call or error descriptor is not an eventfd";
	case -EOVERFLOW:
		return "more requests are in flight than the ring holds";
	case -ESTALE:
		return "shared memory was truncated, or its file system is full";
	case -EDQUOT:
		return "shared memory exceeds --max-client-memory";
	case -EREMOTEIO:
		return "shared memory is on a FUSE, overlay or network file system: share a memfd, tmpfs, hugetlbfs or a local file";
	default:
		return "a descriptor is malformed";
	}
}
