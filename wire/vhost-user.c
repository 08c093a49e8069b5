/* SPDX-License-Identifier: GPL-2.0-only */
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>
#include "base/clock.h"
#include "wire/vhost-user.h"

static const char *const request_names[VU_REQUEST_MAX] = {
	[VU_GET_FEATURES] = "GET_FEATURES",
	[VU_SET_FEATURES] = "SET_FEATURES",
	[VU_SET_OWNER] = "SET_OWNER",
	[VU_RESET_OWNER] = "RESET_OWNER",
	[VU_SET_MEM_TABLE] = "SET_MEM_TABLE",
	[VU_SET_VRING_NUM] = "SET_VRING_NUM",
	[VU_SET_VRING_ADDR] = "SET_VRING_ADDR",
	[VU_SET_VRING_BASE] = "SET_VRING_BASE",
	[VU_GET_VRING_BASE] = "GET_VRING_BASE",
	[VU_SET_VRING_KICK] = "SET_VRING_KICK",
	[VU_SET_VRING_CALL] = "SET_VRING_CALL",
	[VU_SET_VRING_ERR] = "SET_VRING_ERR",
	[VU_GET_PROTOCOL_FEATURES] = "GET_PROTOCOL_FEATURES",
	[VU_SET_PROTOCOL_FEATURES] = "SET_PROTOCOL_FEATURES",
	[VU_GET_QUEUE_NUM] = "GET_QUEUE_NUM",
	[VU_SET_VRING_ENABLE] = "SET_VRING_ENABLE",
	[VU_GET_CONFIG] = "GET_CONFIG",
	[VU_SET_CONFIG] = "SET_CONFIG",
	[VU_GET_INFLIGHT_FD] = "GET_INFLIGHT_FD",
	[VU_SET_INFLIGHT_FD] = "SET_INFLIGHT_FD",
	[VU_GET_MAX_MEM_SLOTS] = "GET_MAX_MEM_SLOTS",
	[VU_ADD_MEM_REG] = "ADD_MEM_REG",
	[VU_REM_MEM_REG] = "REM_MEM_REG",
};

/**
 * vu_request_name - a request's name for messages
 * @request: its number, anything a peer may send
 *
 * Return: the name, or "unknown request".
 */
const char *vu_request_name(uint32_t request)
{
	if (request < VU_REQUEST_MAX && request_names[request])
		return request_names[request];
	return "unknown request";
}

/* A buffer for descriptors that are sent, aligned as the CMSG macros need it. */
union control {
	char buf[CMSG_SPACE(sizeof(int) * VU_MAX_FDS)];
	struct cmsghdr align;
};

/*
 * One for all that a peer can send at once (SCM_MAX_FD of the kernel): what does not fit the
 * kernel closes itself, in the receiving thread, and that may take as long as the peer wishes.
 */
#define FDS_AT_ONCE	253

union much_control {
	char buf[CMSG_SPACE(sizeof(int) * FDS_AT_ONCE)];
	struct cmsghdr align;
};

static int wait_readable(int sock, uint64_t deadline_ns)
{
	struct pollfd p = { .fd = sock, .events = POLLIN };

	for (;;) {
		int timeout = -1, ret;

		if (deadline_ns != UINT64_MAX) {
			uint64_t now = clock_ns();

			timeout = now < deadline_ns ? (int)((deadline_ns - now) / 1000000 + 1) : 0;
		}
		ret = poll(&p, 1, timeout);
		if (ret > 0)
			return 0;
		if (!ret)
			return -ETIMEDOUT;
		if (errno != EINTR)
			return -errno;
	}
}

/*
 * Keep the descriptors that came along, as far as @msg has room. The kernel has closed those for
 * which this process may have no more: none at all, then, and no control message either.
 */
static int take_fds(struct msghdr *mh, struct vu_msg *msg, void (*discard)(int fd))
{
	bool too_many = false;

	for (struct cmsghdr *c = CMSG_FIRSTHDR(mh); c; c = CMSG_NXTHDR(mh, c)) {
		unsigned int n = (c->cmsg_len - CMSG_LEN(0)) / sizeof(int);

		if (c->cmsg_level != SOL_SOCKET || c->cmsg_type != SCM_RIGHTS)
			continue;
		for (unsigned int i = 0; i < n; i++) {
			int fd;

			memcpy(&fd, CMSG_DATA(c) + i * sizeof(fd), sizeof(fd));
			if (msg && msg->nr_fds < VU_MAX_FDS) {
				msg->fd[msg->nr_fds++] = fd;
			} else {
				discard(fd);
				too_many = true;
			}
		}
	}
	if (!msg)
		return 0;
	return too_many ? -E2BIG : mh->msg_flags & MSG_CTRUNC ? -EMFILE : 0;
}

/* Descriptors come with the first byte of a message; later ones, with @msg NULL, are discarded. */
static int recv_all(int sock, void *buf, size_t len, struct vu_msg *msg, uint64_t deadline_ns,
		    void (*discard)(int fd))
{
	union much_control control;
	size_t done = 0;

	while (done < len) {
		struct iovec iov = { .iov_base = (char *)buf + done, .iov_len = len - done };
		struct msghdr mh = {
			.msg_iov = &iov,
			.msg_iovlen = 1,
			.msg_control = control.buf,
			.msg_controllen = sizeof(control.buf),
		};
		ssize_t n;
		int ret = wait_readable(sock, deadline_ns);

		if (ret)
			return ret;
		n = recvmsg(sock, &mh, MSG_CMSG_CLOEXEC);
		if (n < 0 && (errno == EINTR || errno == EAGAIN))
			continue;
		if (n < 0)
			return -errno;
		if (msg || mh.msg_controllen) {
			ret = take_fds(&mh, msg, discard);
			if (ret)
				return ret;
		}
		if (!n)
			return done || !msg ? -EPIPE : -ECONNRESET;
		done += n;
	}
	return 0;
}

static void close_fds(struct vu_msg *msg, void (*discard)(int fd))
{
	for (unsigned int i = 0; i < msg->nr_fds; i++) {
		if (msg->fd[i] >= 0)
			discard(msg->fd[i]);
	}
	msg->nr_fds = 0;
}

/**
 * vu_recv_from - receive one whole message from a peer who is not trusted
 * @sock: connected socket
 * @msg: filled in; the caller takes its descriptors and discards the others
 * @timeout_ms: how long to wait for the whole message, negative for no limit
 * @discard: what to do with descriptors that are not wanted, instead of close(), which can take
 *	long
 *
 * Otherwise as vu_recv().
 *
 * Return: as vu_recv().
 */
int vu_recv_from(int sock, struct vu_msg *msg, int timeout_ms, void (*discard)(int fd))
{
	uint64_t deadline = timeout_ms < 0 ? UINT64_MAX : clock_ns() + timeout_ms * 1000000ull;
	int ret;

	msg->nr_fds = 0;
	ret = recv_all(sock, &msg->h, sizeof(msg->h), msg, deadline, discard);
	if (ret)
		goto err;

	ret = -EPROTO;
	if ((msg->h.flags & VU_VERSION_MASK) != VU_VERSION || msg->h.size > VU_PAYLOAD_MAX)
		goto err;

	/* What a peer leaves out of a payload reads as zero. */
	memset(&msg->u64, 0, VU_PAYLOAD_MAX);
	ret = recv_all(sock, &msg->u64, msg->h.size, NULL, deadline, discard);
	if (!ret)
		return 0;
err:
	close_fds(msg, discard);
	return ret;
}

static void just_close(int fd)
{
	close(fd);
}

/**
 * vu_recv - receive one whole message
 * @sock: connected socket
 * @msg: filled in; the caller takes its descriptors or calls vu_close_fds()
 * @timeout_ms: how long to wait for the whole message, negative for no limit
 *
 * On an error no descriptor is left open.
 *
 * Return: 0, -ECONNRESET when the peer closed between two messages, -EPIPE when it
 * closed inside one, -EPROTO for another version or an oversized payload, -E2BIG for
 * more than VU_MAX_FDS descriptors, -EMFILE when this process may have no more of them,
 * -ETIMEDOUT, or what recvmsg said.
 */
int vu_recv(int sock, struct vu_msg *msg, int timeout_ms)
{
	return vu_recv_from(sock, msg, timeout_ms, just_close);
}

/**
 * vu_send - send one whole message
 * @sock: connected, blocking socket
 * @msg: header with size set, payload, and @nr_fds descriptors, which stay the caller's
 *
 * Return: 0 or what sendmsg said.
 */
int vu_send(int sock, struct vu_msg *msg)
{
	union control control;
	struct iovec iov = { .iov_base = &msg->h, .iov_len = sizeof(msg->h) + msg->h.size };
	struct msghdr mh = { .msg_iov = &iov, .msg_iovlen = 1 };

	if (msg->nr_fds) {
		struct cmsghdr *c;

		memset(&control, 0, sizeof(control));
		mh.msg_control = control.buf;
		mh.msg_controllen = CMSG_SPACE(sizeof(int) * msg->nr_fds);
		c = CMSG_FIRSTHDR(&mh);
		c->cmsg_level = SOL_SOCKET;
		c->cmsg_type = SCM_RIGHTS;
		c->cmsg_len = CMSG_LEN(sizeof(int) * msg->nr_fds);
		memcpy(CMSG_DATA(c), msg->fd, sizeof(int) * msg->nr_fds);
	}

	while (iov.iov_len) {
		ssize_t n = sendmsg(sock, &mh, MSG_NOSIGNAL);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -errno;
		iov.iov_base = (char *)iov.iov_base + n;
		iov.iov_len -= n;
		/* The descriptors went with the first byte. */
		mh.msg_control = NULL;
		mh.msg_controllen = 0;
	}
	return 0;
}

/**
 * vu_close_fds - close the descriptors nobody took
 * @msg: the message
 */
void vu_close_fds(struct vu_msg *msg)
{
	close_fds(msg, just_close);
}

/**
 * vu_discard_fds - part with the descriptors nobody took
 * @msg: the message
 * @discard: as vu_recv_from() has it
 */
void vu_discard_fds(struct vu_msg *msg, void (*discard)(int fd))
{
	close_fds(msg, discard);
}
