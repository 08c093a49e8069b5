/* SPDX-License-Identifier: GPL-2.0-only */
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include "engines/nbd/connect.h"
#include "wire/nbd.h"

/* The handshake, which is libnbd's, whoever talks afterwards. */

/* What a server has to hang up, in ms. */
#define LEAVE_MS	1000

/* No request is larger, whatever the server would take: libnbd and nbdkit know no more. */
#define REQUEST_MAX	(64u << 20)

/* Whether connecting can succeed a little later: the server has too many to accept. */
static bool is_full(int err)
{
	return err == EAGAIN;
}

static struct nbd_handle *create(bool structured)
{
	struct nbd_handle *h = nbd_create();

	if (!h)
		return NULL;
	/* A job file is its user's own: it may name a file with keys. */
	nbd_set_uri_allow_local_file(h, true);
	/* Read buffers need no zeroes before the data comes. */
	nbd_set_pread_initialize(h, false);
	nbd_set_request_structured_replies(h, structured);
#ifdef LIBNBD_HAVE_NBD_SET_REQUEST_EXTENDED_HEADERS
	/* The direct datapath does not speak them. */
	nbd_set_request_extended_headers(h, false);
#endif
	return h;
}

/* Keep libnbd's last words, or others; returns their errno, negative. */
static int failed(char *why, size_t len, const char *otherwise)
{
	const char *error = nbd_get_error();
	int err = nbd_get_errno();

	snprintf(why, len, "%s", error ? : otherwise);
	return -(err ? : error ? EPROTO : ECONNRESET);
}

/*
 * Not nbd_poll(), which is confused by a server that has left before it was greeted. Returns
 * 0, or -1 with libnbd's error.
 */
static int step(struct nbd_handle *h)
{
	unsigned int direction = nbd_aio_get_direction(h);
	struct pollfd p = {
		.fd = nbd_aio_get_fd(h),
		.events = (direction & LIBNBD_AIO_DIRECTION_READ ? POLLIN : 0) |
			  (direction & LIBNBD_AIO_DIRECTION_WRITE ? POLLOUT : 0),
	};

	if (poll(&p, 1, WATCH_STEP_MS) <= 0)
		return 0;
	/* A connection that is broken says so to whichever is tried. */
	if (direction & LIBNBD_AIO_DIRECTION_READ && p.revents & ~POLLOUT)
		return nbd_aio_notify_read(h);
	return direction & LIBNBD_AIO_DIRECTION_WRITE ? nbd_aio_notify_write(h) : 0;
}

/* Returns 0 with the handshake done, or -1 with libnbd's error or without one. */
static int shake_hands(struct nbd_handle *h, const char *uri, struct watch *w)
{
	int ret = nbd_aio_connect_uri(h, uri);

	while (!ret && nbd_aio_is_ready(h) != 1) {
		if (nbd_aio_is_dead(h) == 1 || nbd_aio_is_closed(h) == 1 ||
		    watch_lend(w, nbd_aio_get_fd(h)))
			return -1;
		ret = step(h);
	}
	return ret;
}

static int try(struct nbd_handle *h, const char *uri, const struct nbd_patience *patience,
	       char *why, size_t len)
{
	struct watch w;
	bool left;
	int ret = watch_begin(&w, patience), gave_up;

	if (ret) {
		snprintf(why, len, "cannot start a thread: %s", strerror(-ret));
		return ret;
	}
	ret = shake_hands(h, uri, &w);
	if (ret)
		ret = failed(why, len, "the server has closed the connection");
	gave_up = watch_end(&w, &left);
	if (gave_up) {
		*why = '\0';
		return gave_up;
	}
	/* To libnbd, and to GnuTLS, that is but a message that does not go on. */
	return (ret == -EPROTO || ret == -EPIPE) && left ? -ECONNRESET : ret;
}

/**
 * nbd_server_connect - connect to a server, up to the end of the handshake
 * @uri: NBD URI
 * @structured: ask for structured replies
 * @patience: how long that may take
 * @h: set to libnbd's handle, in READY state
 * @why: set to what is wrong, on failure
 * @len: room in @why
 *
 * A server that serves as many clients as it will lets others wait, or refuses them for
 * the moment ("server backlog overflowed" of qemu-nbd 5.2): both count as waiting.
 *
 * Return: 0, or a negative errno; with patience's own, @why is empty.
 */
int nbd_server_connect(const char *uri, bool structured, const struct nbd_patience *patience,
		       struct nbd_handle **h, char *why, size_t len)
{
	const struct timespec step = { .tv_nsec = WATCH_STEP_MS * 1000000 };
	int ret;

	do {
		*why = '\0';
		*h = create(structured);
		if (!*h)
			return failed(why, len, "no memory");
		ret = try(*h, uri, patience, why, len);
		if (!ret)
			return 0;
		nbd_close(*h);
		if (!is_full(-ret))
			return ret;
		*why = '\0';
		nanosleep(&step, NULL);
		ret = patience->go_on(patience->arg);
	} while (!ret);
	return ret;
}

static uint32_t block_size(struct nbd_handle *h, int which, uint32_t otherwise)
{
	int64_t size = nbd_get_block_size(h, which);

	return size > 0 ? (uint64_t)size < UINT32_MAX ? size : UINT32_MAX : otherwise;
}

/**
 * nbd_server_limits - what the handshake has told of an export
 * @h: libnbd's handle, READY
 * @l: filled in
 *
 * "Size constraints" of the specification: without any advertised, single bytes can be
 * addressed, and 32 MiB is what every server takes.
 */
void nbd_server_limits(struct nbd_handle *h, struct nbd_limits *l)
{
	int64_t size = nbd_get_size(h);

	*l = (struct nbd_limits) {
		.capacity = size > 0 ? size : 0,
		.block_size = block_size(h, LIBNBD_SIZE_MINIMUM, 1),
		.max_payload = block_size(h, LIBNBD_SIZE_MAXIMUM, NBD_PAYLOAD_MAX),
		.read_only = nbd_is_read_only(h) == 1,
		.flush = nbd_can_flush(h) == 1,
		.fua = nbd_can_fua(h) == 1,
		.trim = nbd_can_trim(h) == 1,
		.zeroes = nbd_can_zero(h) == 1,
		.multi_conn = nbd_can_multi_conn(h) == 1,
		.structured = nbd_get_structured_replies_negotiated(h) == 1,
		.tls = nbd_get_tls_negotiated(h) == 1,
	};
	if (l->max_payload > REQUEST_MAX)
		l->max_payload = REQUEST_MAX;
	/* Requests are split, and the export ends, between blocks. */
	l->max_payload -= l->max_payload % l->block_size;
	if (!l->max_payload)
		l->max_payload = l->block_size;
	l->capacity -= l->capacity % l->block_size;
}

/**
 * nbd_server_leave - disconnect, and wait a little until the server has noticed
 * @h: libnbd's handle, READY; closed
 *
 * A server for one client at a time is then free for the next.
 */
void nbd_server_leave(struct nbd_handle *h)
{
	int ret = nbd_aio_disconnect(h, 0);

	for (unsigned int ms = 0; ms < LEAVE_MS && !ret; ms += WATCH_STEP_MS) {
		if (nbd_aio_is_closed(h) == 1 || nbd_aio_is_dead(h) == 1)
			break;
		ret = step(h);
	}
	nbd_close(h);
}
