/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef BASE_FD_H
#define BASE_FD_H

#include <errno.h>
#include <poll.h>
#include <stdbool.h>
#include <stdint.h>
#include <unistd.h>

/**
 * eventfd_signal - add 1 to an eventfd
 * @fd: the eventfd
 *
 * Waits while the counter is full, unless @fd is O_NONBLOCK.
 *
 * Return: whether it was added; errno says why not, EAGAIN for a counter that is full.
 */
static inline bool eventfd_signal(int fd)
{
	const uint64_t one = 1;
	ssize_t n;

	do
		n = write(fd, &one, sizeof(one));
	while (n < 0 && errno == EINTR);
	return n == sizeof(one);
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
