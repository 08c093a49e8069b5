/* SPDX-License-Identifier: GPL-2.0-only */
#include <string.h>
#include "targets/close-aside.h"
#include "targets/nbd/rights.h"

/* Most descriptors in one message: SCM_MAX_FD of the kernel */
#define RIGHTS_MAX	253

union rights {
	char buf[CMSG_SPACE(sizeof(int) * RIGHTS_MAX)];
	struct cmsghdr align;
};

static void close_rights(struct msghdr *mh)
{
	for (struct cmsghdr *m = CMSG_FIRSTHDR(mh); m; m = CMSG_NXTHDR(mh, m)) {
		size_t n = (m->cmsg_len - CMSG_LEN(0)) / sizeof(int);

		for (size_t i = 0; m->cmsg_type == SCM_RIGHTS && i < n; i++) {
			int fd;

			memcpy(&fd, CMSG_DATA(m) + i * sizeof(fd), sizeof(fd));
			close_aside(fd);
		}
	}
}

/**
 * nbd_receive_rights - receive without waiting, neither for bytes nor for a close()
 * @sock: the connection
 * @mh: where the bytes go
 *
 * Return: as recvmsg(2); descriptors that came along are closed where that keeps nobody.
 */
ssize_t nbd_receive_rights(int sock, struct msghdr *mh)
{
	union rights rights;
	ssize_t n;

	mh->msg_control = rights.buf;
	mh->msg_controllen = sizeof(rights.buf);
	n = recvmsg(sock, mh, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
	if (n > 0 && mh->msg_controllen)
		close_rights(mh);
	return n;
}

/**
 * nbd_receive_guarded - receive without waiting for what clients send besides bytes
 * @g: the guard of the iothread; called in it
 * @sock: the connection, on which descriptors may come
 * @mh: where the bytes go
 *
 * Where the kernel lets clients send descriptors, it closes those that nobody receives before
 * recvmsg(2) returns, and that takes as long as the client wishes. To receive them costs 50 ns a
 * call with data and 200 ns one without: it is done after the first time, see guard.h.
 *
 * Return: as recvmsg(2).
 */
ssize_t nbd_receive_guarded(struct guard *g, int sock, struct msghdr *mh)
{
	unsigned int entered;
	ssize_t n;

	if (guard_is_careful(g))
		return nbd_receive_rights(sock, mh);
	entered = guard_enter(g);
	n = recvmsg(sock, mh, MSG_DONTWAIT);
	guard_leave(g, entered);
	return n;
}
