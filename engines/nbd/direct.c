/* SPDX-License-Identifier: GPL-2.0-only */
#include <endian.h>
#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>
#include "base/cpu.h"
#include "engines/nbd/direct.h"

/* The datapath that batches: what goes over the socket. direct-reply.c reads replies. */

/* Pieces of memory in one system call. */
#define PIECES	128

static void free_direct(struct direct *d)
{
	free(d->hdr);
	free(d->out);
	free(d->buf);
	free(d);
}

static struct direct *alloc_direct(unsigned int nr_slots)
{
	struct direct *d = calloc(1, sizeof(*d));
	unsigned int size = 1;

	if (!d)
		return NULL;
	/* A request that was answered before it was sent completely is one more. */
	while (size < nr_slots + 1)
		size *= 2;
	d->mask = size - 1;
	d->hdr = calloc(size, sizeof(*d->hdr));
	d->out = calloc(size, sizeof(*d->out));
	d->buf = malloc(DIRECT_BUFFER);
	if (d->hdr && d->out && d->buf)
		return d;
	free_direct(d);
	return NULL;
}

static int direct_open(struct nbd_conn *c, struct nbd_handle *h)
{
	struct direct *d = alloc_direct(c->client->nr_slots);

	if (!d)
		return -ENOMEM;
	c->priv = d;
	d->structured = nbd_get_structured_replies_negotiated(h) == 1;
	c->fd = fcntl(nbd_aio_get_fd(h), F_DUPFD_CLOEXEC, 0);
	if (c->fd < 0) {
		int err = errno;

		free_direct(d);
		return -err;
	}
	/* Says nothing to the server. */
	nbd_close(h);
	return 0;
}

static void direct_close(struct nbd_conn *c)
{
	struct nbd_request disc = {
		.magic = htobe32(NBD_REQUEST_MAGIC),
		.type = htobe16(NBD_CMD_DISC),
	};
	struct direct *d = c->priv;

	if (!d->nr_out && !c->in_flight)
		(void)!send(c->fd, &disc, sizeof(disc), MSG_DONTWAIT | MSG_NOSIGNAL);
	close(c->fd);
	free_direct(d);
}

static void direct_queue(struct nbd_conn *c, struct nbd_slot *s)
{
	struct direct *d = c->priv;
	uint32_t serial = d->first + d->nr_out++;
	unsigned int i = serial & d->mask;

	s->cookie = (uint64_t)serial << 32 | (s - c->client->slot);
	d->hdr[i] = (struct nbd_request) {
		.magic = htobe32(NBD_REQUEST_MAGIC),
		.flags = htobe16(s->flags),
		.type = htobe16(s->type),
		.cookie = htobe64(s->cookie),
		.offset = htobe64(s->offset),
		.len = htobe32(s->len),
	};
	d->out[i] = (struct direct_out) { .data = s->buf };
	if (s->type == NBD_CMD_WRITE)
		d->out[i].len = s->len;
	if (s->type == NBD_CMD_READ && s->len >= DIRECT_LARGE)
		d->large++;
}

/* Add memory to @n pieces, less what of it has been sent already; returns their number. */
static unsigned int add_piece(struct iovec *iov, unsigned int n, const void *base, size_t len,
			      size_t *sent)
{
	size_t cut = *sent < len ? *sent : len;
	char *p = (char *)base + cut;

	*sent -= cut;
	len -= cut;
	if (!len)
		return n;
	if (n && (char *)iov[n - 1].iov_base + iov[n - 1].iov_len == p) {
		iov[n - 1].iov_len += len;
		return n;
	}
	iov[n] = (struct iovec) { .iov_base = p, .iov_len = len };
	return n + 1;
}

static unsigned int gather(const struct direct *d, struct iovec *iov)
{
	size_t sent = d->sent;
	unsigned int n = 0;

	for (unsigned int k = 0; k < d->nr_out && n + 2 <= PIECES; k++) {
		unsigned int i = (d->first + k) & d->mask;

		n = add_piece(iov, n, &d->hdr[i], sizeof(d->hdr[i]), &sent);
		n = add_piece(iov, n, d->out[i].data, d->out[i].len, &sent);
	}
	return n;
}

/* @len bytes have gone; returns how many requests that has completed the sending of. */
static unsigned int forget_sent(struct direct *d, size_t len)
{
	unsigned int n = 0;

	for (;;) {
		size_t left = sizeof(struct nbd_request) + d->out[d->first & d->mask].len - d->sent;

		if (len < left) {
			d->sent += len;
			return n;
		}
		len -= left;
		d->sent = 0;
		d->first++;
		n++;
		if (!--d->nr_out)
			return n;
	}
}

static int direct_send(struct nbd_conn *c)
{
	struct direct *d = c->priv;

	while (d->nr_out) {
		struct iovec iov[PIECES];
		struct msghdr msg = { .msg_iov = iov, .msg_iovlen = gather(d, iov) };
		unsigned int n;
		ssize_t ret;

		nbd_note_submit(c);
		if (msg.msg_iovlen == 1)
			ret = send(c->fd, iov[0].iov_base, iov[0].iov_len,
				   MSG_DONTWAIT | MSG_NOSIGNAL);
		else
			ret = sendmsg(c->fd, &msg, MSG_DONTWAIT | MSG_NOSIGNAL);
		if (ret < 0) {
			if (errno == EAGAIN)
				return 0;
			if (errno == EINTR)
				continue;
			return errno == EPIPE ? -ECONNRESET : -errno;
		}
		c->client->stats.sends++;
		n = forget_sent(d, ret);
		if (n)
			hist_add(&c->client->stats.batch, n);
	}
	return 0;
}

/*
 * Data of a read that is not in the buffer goes where it belongs, and what comes behind it
 * into the buffer, with the same system call. direct_next() has taken all that it could,
 * so there is at most the beginning of a reply in the buffer.
 */
static unsigned int make_room(struct direct *d, struct iovec *iov)
{
	unsigned int n = 0;
	size_t room;

	if (d->pos) {
		memmove(d->buf, d->buf + d->pos, d->end - d->pos);
		d->end -= d->pos;
		d->pos = 0;
	}
	if (d->left)
		iov[n++] = (struct iovec) { .iov_base = d->to, .iov_len = d->left };
	room = DIRECT_BUFFER - d->end;
	if (d->large && room > DIRECT_SIP)
		room = DIRECT_SIP;
	iov[n++] = (struct iovec) { .iov_base = d->buf + d->end, .iov_len = room };
	return n;
}

static int direct_receive(struct nbd_conn *c)
{
	struct direct *d = c->priv;
	struct iovec iov[2];
	struct msghdr msg = { .msg_iov = iov, .msg_iovlen = make_room(d, iov) };
	ssize_t ret;

	if (msg.msg_iovlen == 1)
		ret = recv(c->fd, iov[0].iov_base, iov[0].iov_len, MSG_DONTWAIT);
	else
		ret = recvmsg(c->fd, &msg, MSG_DONTWAIT);
	if (ret < 0)
		return errno == EAGAIN || errno == EINTR ? 0 : -errno;
	if (!ret)
		return -ECONNRESET;
	c->client->stats.receives++;
	if (d->completed)
		hist_add(&c->client->stats.replies, d->completed);
	d->completed = 0;

	if (d->left) {
		size_t n = (size_t)ret < d->left ? (size_t)ret : d->left;

		d->to += n;
		d->left -= n;
		ret -= n;
	}
	d->end += ret;
	return 1;
}

static bool direct_midway(const struct nbd_conn *c)
{
	const struct direct *d = c->priv;

	return d->left || d->end > d->pos;
}

static short direct_events(const struct nbd_conn *c)
{
	const struct direct *d = c->priv;

	return d->nr_out ? POLLIN | POLLOUT : POLLIN;
}

const struct nbd_datapath nbd_direct = {
	.name = "direct",
	.open = direct_open,
	.close = direct_close,
	.queue = direct_queue,
	.send = direct_send,
	.receive = direct_receive,
	.midway = direct_midway,
	.next = direct_next,
	.events = direct_events,
};
