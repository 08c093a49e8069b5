/* SPDX-License-Identifier: GPL-2.0-only */
#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "base/fd.h"
#include "engines/nbd/client.h"
#include "engines/nbd/watch.h"

/* The datapath for what we do not do ourselves, which is TLS: libnbd's own. */

/**
 * struct by_libnbd - a connection on which libnbd talks
 * @h: its handle
 * @first: requests that are complete, oldest first
 * @last: where the next one is hung in
 * @broken: negative errno of a connection that is found broken
 * @structured: structured replies were negotiated
 */
struct by_libnbd {
	struct nbd_handle *h;
	struct nbd_slot *first;
	struct nbd_slot **last;
	int broken;
	bool structured;
};

static int by_libnbd_open(struct nbd_conn *c, struct nbd_handle *h)
{
	struct by_libnbd *l = calloc(1, sizeof(*l));

	if (!l)
		return -ENOMEM;
	/* Libnbd closes its own when it gives the connection up, before we ask why. */
	c->fd = fcntl(nbd_aio_get_fd(h), F_DUPFD_CLOEXEC, 0);
	if (c->fd < 0) {
		int err = errno;

		free(l);
		return -err;
	}
	l->h = h;
	l->structured = nbd_get_structured_replies_negotiated(h) == 1;
	l->last = &l->first;
	c->priv = l;
	return 0;
}

static void by_libnbd_close(struct nbd_conn *c)
{
	struct by_libnbd *l = c->priv;

	if (!c->in_flight && nbd_aio_is_ready(l->h) == 1)
		nbd_aio_disconnect(l->h, 0);
	nbd_close(l->h);
	close(c->fd);
	free(l);
}

static void completed(struct nbd_slot *s, int error)
{
	struct by_libnbd *l = s->conn->priv;

	s->error = error;
	s->next = NULL;
	*l->last = s;
	l->last = &s->next;
}

/* Called by libnbd; 1 tells it to forget the command. */
static int on_completion(void *slot, int *error)
{
	completed(slot, *error);
	return 1;
}

/*
 * Called by libnbd for a chunk of a read. It counts bytes, so that of a server which sends
 * one half twice it would take that for the whole.
 */
static int on_chunk(void *slot, const void *data, size_t len, uint64_t offset, unsigned int status,
		    int *error)
{
	struct nbd_slot *s = slot;
	struct by_libnbd *l = s->conn->priv;

	(void)data;
	(void)error;
	if (status != LIBNBD_READ_ERROR && !nbd_slot_add(s, offset, len))
		l->broken = nbd_fault(s->conn->client, "not what was asked for in a chunk");
	return 0;
}

/* Called by libnbd at the end of a read in chunks. */
static int on_last_chunk(void *slot, int *error)
{
	struct nbd_slot *s = slot;
	struct by_libnbd *l = s->conn->priv;

	s->error = *error;
	if (nbd_slot_finish(s))
		l->broken = -EPROTO;
	return on_completion(slot, error);
}

static int64_t queue_read(struct by_libnbd *l, struct nbd_slot *s)
{
	nbd_chunk_callback chunk = { .callback = on_chunk, .user_data = s };
	nbd_completion_callback last = { .callback = on_last_chunk, .user_data = s };
	nbd_completion_callback done = { .callback = on_completion, .user_data = s };

	if (!l->structured)
		return nbd_aio_pread(l->h, s->buf, s->len, s->offset, done, s->flags);
	return nbd_aio_pread_structured(l->h, s->buf, s->len, s->offset, chunk, last, s->flags);
}

/*
 * What is wrong with a connection that libnbd has given up. Of a server that has left, GnuTLS
 * says that a packet is no good, or that it cannot send.
 */
static int explain(struct nbd_conn *c)
{
	struct by_libnbd *l = c->priv;
	const char *error = nbd_get_error();
	int err = nbd_get_errno();
	bool own = !err || err == EPROTO;

	if (nbd_aio_is_closed(l->h) == 1 || err == ENOTCONN || err == EPIPE)
		return -ECONNRESET;
	if ((!own || (error && strstr(error, "gnutls"))) && socket_hung_up(c->fd))
		return -ECONNRESET;
	return own ? nbd_fault(c->client, "%s", error ? : "no reason given") : -err;
}

static void by_libnbd_queue(struct nbd_conn *c, struct nbd_slot *s)
{
	struct by_libnbd *l = c->priv;
	nbd_completion_callback done = { .callback = on_completion, .user_data = s };
	int64_t ret = -1;

	nbd_note_submit(c);
	switch (s->type) {
	case NBD_CMD_READ:
		ret = queue_read(l, s);
		break;
	case NBD_CMD_WRITE:
		ret = nbd_aio_pwrite(l->h, s->buf, s->len, s->offset, done, s->flags);
		break;
	case NBD_CMD_TRIM:
		ret = nbd_aio_trim(l->h, s->len, s->offset, done, s->flags);
		break;
	case NBD_CMD_WRITE_ZEROES:
		ret = nbd_aio_zero(l->h, s->len, s->offset, done, s->flags);
		break;
	case NBD_CMD_FLUSH:
		ret = nbd_aio_flush(l->h, done, s->flags);
		break;
	}
	if (ret >= 0) {
		s->cookie = ret;
		return;
	}
	if (nbd_aio_is_dead(l->h) == 1 || nbd_aio_is_closed(l->h) == 1)
		l->broken = explain(c);
	else
		completed(s, nbd_get_errno() ? : EIO);
}

static int by_libnbd_send(struct nbd_conn *c)
{
	struct by_libnbd *l = c->priv;

	if (l->broken)
		return l->broken;
	/* A command goes out at once if the socket takes it. */
	if (nbd_aio_get_direction(l->h) & LIBNBD_AIO_DIRECTION_WRITE && nbd_aio_notify_write(l->h) < 0)
		return explain(c);
	return l->broken;
}

/*
 * Only of a socket that has something is libnbd told so: otherwise one that has sent the half of a write
 * finds no reply, forgets that it was sending, and waits for the server, which waits for the other half.
 */
static int by_libnbd_receive(struct nbd_conn *c)
{
	struct by_libnbd *l = c->priv;

	if (l->broken)
		return l->broken;
	if (nbd_aio_get_direction(l->h) & LIBNBD_AIO_DIRECTION_READ && fd_events(c->fd, POLLIN) &&
	    nbd_aio_notify_read(l->h) < 0)
		return explain(c);
	if (nbd_aio_is_closed(l->h) == 1)
		return -ECONNRESET;
	return l->broken ? : l->first != NULL;
}

static int by_libnbd_next(struct nbd_conn *c, struct nbd_slot **s)
{
	struct by_libnbd *l = c->priv;

	*s = l->first;
	if (!*s)
		return 0;
	/* No server sends this number: libnbd has given the connection up. */
	if ((*s)->error == ENOTCONN)
		return l->broken ? : explain(c);
	l->first = (*s)->next;
	if (!l->first)
		l->last = &l->first;
	return 1;
}

/* libnbd takes replies whenever it can, also when it is given a command or a socket to write to. */
static bool by_libnbd_ready(const struct nbd_conn *c)
{
	const struct by_libnbd *l = c->priv;

	return l->first;
}

static short by_libnbd_events(const struct nbd_conn *c)
{
	const struct by_libnbd *l = c->priv;
	unsigned int direction = nbd_aio_get_direction(l->h);

	return (direction & LIBNBD_AIO_DIRECTION_READ ? POLLIN : 0) |
	       (direction & LIBNBD_AIO_DIRECTION_WRITE ? POLLOUT : 0);
}

const struct nbd_datapath nbd_by_libnbd = {
	.name = "libnbd",
	.open = by_libnbd_open,
	.close = by_libnbd_close,
	.queue = by_libnbd_queue,
	.send = by_libnbd_send,
	.receive = by_libnbd_receive,
	.ready = by_libnbd_ready,
	.next = by_libnbd_next,
	.events = by_libnbd_events,
};
