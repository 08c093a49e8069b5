/* SPDX-License-Identifier: GPL-2.0-only */
#include <endian.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include "base/cpu.h"
#include "targets/nbd/connection.h"

/**
 * nbd_reply - a request is done: its reply goes out at the end of this turn
 * @c: the connection
 * @s: the request, with its result
 */
void nbd_reply(struct nbd_conn *c, struct nbd_slot *s)
{
	struct channel_stats *stats = &c->it->channel->stats;

	nbd_note(c, TRACE_DONE, s->cookie);
	if (likely(!s->r.result))
		counter_add(&stats->bytes[s->r.kind], s->r.len);
	else
		counter_add(&stats->errors, 1);
	s->next = NULL;
	*c->tx.done_end = s;
	c->tx.done_end = &s->next;
	iothread_defer(c->it, &c->flush);
}

static struct nbd_chunk chunk(const struct nbd_slot *s, uint16_t type, uint32_t len)
{
	return (struct nbd_chunk) {
		.magic = htobe32(NBD_STRUCTURED_REPLY_MAGIC),
		.flags = htobe16(NBD_REPLY_FLAG_DONE),
		.type = htobe16(type),
		.cookie = s->cookie,
		.len = htobe32(len),
	};
}

static size_t put_simple(void *to, const struct nbd_slot *s)
{
	struct nbd_simple_reply r = {
		.magic = htobe32(NBD_SIMPLE_REPLY_MAGIC),
		.error = htobe32(nbd_error(s->r.result)),
		.cookie = s->cookie,
	};

	memcpy(to, &r, sizeof(r));
	return sizeof(r);
}

/* A request that was wrong gets a sentence, one that failed the place where it failed. */
static size_t put_error(char *to, const struct nbd_slot *s)
{
	size_t why_len = s->why ? strlen(s->why) : 0;
	bool place = !s->why && s->r.len;
	uint64_t offset = htobe64(s->r.offset);
	struct nbd_chunk_error e = {
		.error = htobe32(nbd_error(s->r.result)),
		.message_len = htobe16(why_len),
	};
	size_t len = sizeof(e) + why_len;

	e.h = chunk(s, place ? NBD_REPLY_TYPE_ERROR_OFFSET : NBD_REPLY_TYPE_ERROR,
		    len - sizeof(e.h) + (place ? sizeof(offset) : 0));
	memcpy(to, &e, sizeof(e));
	if (why_len)
		memcpy(to + sizeof(e), s->why, why_len);
	if (!place)
		return len;
	memcpy(to + len, &offset, sizeof(offset));
	return len + sizeof(offset);
}

static void add_piece(struct nbd_tx *tx, void *base, size_t len)
{
	struct iovec *last = tx->nr ? &tx->iov[tx->nr - 1] : NULL;

	/* Replies without data lie side by side. */
	if (last && (char *)last->iov_base + last->iov_len == base)
		last->iov_len += len;
	else
		tx->iov[tx->nr++] = (struct iovec) { .iov_base = base, .iov_len = len };
}

/* Only READ must, and BLOCK_STATUS can only, be answered by a structured reply. */
static void add_without_data(struct nbd_conn *c, struct nbd_slot *s)
{
	struct nbd_tx *tx = &c->tx;
	char *to = tx->headers + tx->headers_len;
	size_t len = s->r.result && c->agreed.structured ? put_error(to, s) : put_simple(to, s);

	tx->headers_len += len;
	add_piece(tx, to, len);
	nbd_slot_put(&c->slots, s);
}

static void keep_while_sent(struct nbd_tx *tx, struct nbd_slot *s)
{
	s->next = tx->sending;
	tx->sending = s;
}

/*
 * The data with what precedes it, in one piece. Holes are sent as data, too: to find out where
 * they are takes an lseek(2) a read, which costs half of what reading 4 KiB from the page cache
 * does, and who copies a disk asks for block status first.
 */
static void add_read(struct nbd_conn *c, struct nbd_slot *s)
{
	size_t front;

	if (c->agreed.structured) {
		struct nbd_chunk_data d = { .offset = htobe64(s->r.offset) };

		front = sizeof(d);
		d.h = chunk(s, NBD_REPLY_TYPE_OFFSET_DATA, sizeof(d.offset) + s->r.len);
		memcpy(s->buf - front, &d, front);
	} else {
		front = sizeof(struct nbd_simple_reply);
		put_simple(s->buf - front, s);
	}
	add_piece(&c->tx, s->buf - front, front + s->r.len);
	keep_while_sent(&c->tx, s);
}

/*
 * Extents as the backend gave them become the wire's, which are shorter, in the same
 * memory. They end where the request does.
 */
static unsigned int convert_extents(struct nbd_slot *s)
{
	uint64_t left = s->r.len;
	unsigned int n = 0;

	for (unsigned int i = 0; i < s->r.nr_extent && left; i++) {
		struct blk_extent from = s->r.extent[i];
		struct nbd_extent to;

		if (from.len > left)
			from.len = left;
		left -= from.len;
		to = (struct nbd_extent) { htobe32(from.len), htobe32(from.flags) };
		memcpy(s->buf + n++ * sizeof(to), &to, sizeof(to));
	}
	return n;
}

static void add_status(struct nbd_conn *c, struct nbd_slot *s)
{
	struct nbd_chunk_status h = { .context = htobe32(NBD_ALLOCATION_ID) };
	size_t len = convert_extents(s) * sizeof(struct nbd_extent);

	h.h = chunk(s, NBD_REPLY_TYPE_BLOCK_STATUS, sizeof(h.context) + len);
	memcpy(s->buf - sizeof(h), &h, sizeof(h));
	add_piece(&c->tx, s->buf - sizeof(h), sizeof(h) + len);
	keep_while_sent(&c->tx, s);
}

static void add_reply(struct nbd_conn *c, struct nbd_slot *s)
{
	if (s->type == NBD_CMD_READ && !s->r.result)
		add_read(c, s);
	else if (s->type == NBD_CMD_BLOCK_STATUS && !s->r.result)
		add_status(c, s);
	else
		add_without_data(c, s);
}

/* All that is done now goes out together. */
static void gather(struct nbd_conn *c)
{
	struct nbd_tx *tx = &c->tx;
	struct nbd_slot *s = tx->done;

	tx->done = NULL;
	tx->done_end = &tx->done;
	tx->at = 0;
	tx->nr = 0;
	tx->headers_len = 0;
	while (s) {
		struct nbd_slot *next = s->next;

		add_reply(c, s);
		s = next;
	}
	counter_add(&nbd_stats(c)->batches, 1);
}

static void sent(struct nbd_tx *tx, size_t n)
{
	tx->bytes += n;
	while (n && n >= tx->iov[tx->at].iov_len)
		n -= tx->iov[tx->at++].iov_len;
	if (n) {
		struct iovec *iov = &tx->iov[tx->at];

		iov->iov_base = (char *)iov->iov_base + n;
		iov->iov_len -= n;
	}
}

/* Returns whether all of it is on its way. */
static bool send_gathered(struct nbd_conn *c)
{
	struct nbd_tx *tx = &c->tx;

	while (tx->at < tx->nr) {
		struct msghdr mh = { .msg_iov = tx->iov + tx->at, .msg_iovlen = tx->nr - tx->at };
		ssize_t n;

		counter_add(&nbd_stats(c)->calls, 1);
		nbd_note(c, TRACE_PUBLISH, 0);
		if (mh.msg_iovlen == 1)
			n = send(c->source.fd, mh.msg_iov->iov_base, mh.msg_iov->iov_len,
				 MSG_DONTWAIT | MSG_NOSIGNAL);
		else
			n = sendmsg(c->source.fd, &mh, MSG_DONTWAIT | MSG_NOSIGNAL);
		if (n >= 0) {
			sent(tx, n);
		} else if (errno == EAGAIN) {
			tx->stuck = true;
			return false;
		} else if (errno != EINTR) {
			nbd_conn_lost(c, "send");
			return false;
		}
	}
	return true;
}

static void free_sent(struct nbd_conn *c)
{
	while (c->tx.sending) {
		struct nbd_slot *s = c->tx.sending;

		c->tx.sending = s->next;
		nbd_slot_put(&c->slots, s);
	}
}

/**
 * nbd_send_replies - send what is done, as far as the socket takes it
 * @c: the connection
 *
 * Return: whether nothing is left to be sent.
 */
bool nbd_send_replies(struct nbd_conn *c)
{
	c->tx.stuck = false;
	for (;;) {
		if (!send_gathered(c))
			return false;
		free_sent(c);
		if (!c->tx.done)
			return true;
		gather(c);
	}
}
