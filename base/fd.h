/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef BASE_FD_H
#define BASE_FD_H

#include <errno.h>
#include <poll.h>
#include <stdint.h>
#include <unistd.h>

/**
 * eventfd_try_signal - add 1 to an eventfd with one system call
 * @fd: the eventfd
 *
 * Waits while the counter is full, unless @fd is O_NONBLOCK.
 *
 * Return: 0, -EAGAIN when the counter is full, which its reader is still to be told of, -EINTR,
 * or another negative errno.
 */
static inline int eventfd_try_signal(int fd)
{
	const uint64_t one = 1;

	return write(fd, &one, sizeof(one)) < 0 ? -errno : 0;
}

/**
 * eventfd_signal - add 1 to an eventfd, whatever signals come
 * @fd: the eventfd
 *
 * Return: as eventfd_try_signal(), but never -EINTR.
 */
static inline int eventfd_signal(int fd)
{
	int ret;

	do
		ret = eventfd_try_signal(fd);
	while (ret == -EINTR);
	return ret;
}

/**
 * fd_events - what poll(2) says of a descriptor, without waiting
 * @fd: the descriptor
 * @events: POLL* to look for; POLLHUP and POLLERR come without being asked for
 *
 * Return: those that are there, 0 for none.
 */
static inline short fd_events(int fd, short events)
{
	struct pollfd p = { .fd = fd, .events = events };

	return poll(&p, 1, 0) == 1 ? p.revents : 0;
}

#endif
