/* SPDX-License-Identifier: GPL-2.0-only */
#include <string.h>
#include "targets/close-aside.h"
#include "targets/nbd/rights.h"

/* All that a client can send at once: SCM_MAX_FD of the kernel */
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
