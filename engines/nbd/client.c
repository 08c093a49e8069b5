/* SPDX-License-Identifier: GPL-2.0-only */
#include <poll.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/random.h>
#include "base/clock.h"
#include "base/cpu.h"
#include "engines/nbd/client.h"

/* Looks before sleeping in the middle of a reply. */
#define LOOKS_MIDWAY	8

/**
 * nbd_client_init - prepare a client without connections
 * @c: filled in; nbd_client_destroy() is due whatever this returns
 * @nr_slots: requests that can be in flight
 * @max_conns: connections that will be added at most
 *
 * Return: 0 or -ENOMEM.
 */
int nbd_client_init(struct nbd_client *c, unsigned int nr_slots, unsigned int max_conns)
{
	*c = (struct nbd_client) {
		.conn = calloc(max_conns, sizeof(*c->conn)),
		.slot = calloc(nr_slots, sizeof(*c->slot)),
		.free = calloc(nr_slots, sizeof(*c->free)),
		.nr_slots = nr_slots,
	};
	if (!c->conn || !c->slot || !c->free)
		return -ENOMEM;
	if (getrandom(&c->salt, sizeof(c->salt), GRND_NONBLOCK) != sizeof(c->salt))
		c->salt = clock_ns();
	for (unsigned int i = nr_slots; i-- > 0; )
		c->free[c->nr_free++] = i;
	return 0;
}

/**
 * nbd_client_add - add a connection whose handshake is done
 * @c: the client
 * @h: libnbd's handle, READY; the client's from now on, unless this fails
 * @path: how to talk
 *
 * Return: 0 or a negative errno.
 */
int nbd_client_add(struct nbd_client *c, struct nbd_handle *h, const struct nbd_datapath *path)
{
	struct nbd_conn *conn = &c->conn[c->nr_conns];
	int ret;

	*conn = (struct nbd_conn) { .client = c, .path = path };
	ret = path->open(conn, h);
	if (!ret)
		c->nr_conns++;
	return ret;
}

/**
 * nbd_client_destroy - disconnect
 * @c: the client
 */
void nbd_client_destroy(struct nbd_client *c)
{
	for (unsigned int i = 0; i < c->nr_conns; i++)
		c->conn[i].path->close(&c->conn[i]);
	free(c->conn);
	free(c->slot);
	free(c->free);
}

/**
 * nbd_fault - the server broke the protocol
 * @c: the client
 * @format: what it did, for people
 *
 * Return: -EPROTO.
 */
int nbd_fault(struct nbd_client *c, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	vsnprintf(c->fault, sizeof(c->fault), format, args);
	va_end(args);
	return -EPROTO;
}

/**
 * nbd_slot_add - a chunk of a structured reply to a read comes
 * @s: what it claims to be of
 * @offset: where it belongs, in bytes from the start of the export
 * @len: its bytes
 *
 * Return: false when it is not of what was asked for.
 */
bool nbd_slot_add(struct nbd_slot *s, uint64_t offset, uint64_t len)
{
	return s->type == NBD_CMD_READ && offset >= s->offset &&
	       cover_add(&s->cover, s->conn->client->salt, offset - s->offset, len, s->len);
}

/**
 * nbd_slot_finish - a structured reply ends
 * @s: the request
 *
 * Return: 0, or -EPROTO if that was no whole read.
 */
int nbd_slot_finish(struct nbd_slot *s)
{
	struct nbd_client *c = s->conn->client;

	if (s->type != NBD_CMD_READ || s->error || cover_whole(&s->cover, c->salt, s->len))
		return 0;
	if (s->cover.bytes == s->len)
		return nbd_fault(c, "chunks that overlap in reply to a read of %u", s->len);
	return nbd_fault(c, "%u bytes in reply to a read of %u", s->cover.bytes, s->len);
}

/* The connection with the fewest requests in flight; among equals, the next in turn. */
static struct nbd_conn *choose(struct nbd_client *c)
{
	unsigned int best = c->turn;

	for (unsigned int n = 1, i = c->turn; n < c->nr_conns; n++) {
		i = i + 1 < c->nr_conns ? i + 1 : 0;
		if (c->conn[i].in_flight < c->conn[best].in_flight)
			best = i;
	}
	c->turn = best + 1 < c->nr_conns ? best + 1 : 0;
	return &c->conn[best];
}

static enum trace_kind kind_of(uint16_t type)
{
	switch (type) {
	case NBD_CMD_READ:
		return TRACE_READ;
	case NBD_CMD_WRITE:
		return TRACE_WRITE;
	case NBD_CMD_FLUSH:
		return TRACE_FLUSH;
	case NBD_CMD_TRIM:
		return TRACE_DISCARD;
	default:
		return TRACE_WRITE_ZEROES;
	}
}

/* Its cookie is known only when it was taken, and may have been sent by then. */
static void note_queued(struct nbd_client *c, const struct nbd_slot *s, uint64_t at_ns)
{
	trace_put(c->trace, (struct trace_record) {
		.time_ns = at_ns, .event = TRACE_QUEUE, .kind = kind_of(s->type), .tag = s->cookie,
		.queue = s->conn - c->conn, .offset = s->offset, .bytes = s->len,
	});
}

/**
 * nbd_client_queue - queue a request; it leaves no later than in nbd_client_send()
 * @c: the client, with a slot free
 * @type: NBD_CMD_*
 * @flags: NBD_CMD_FLAG_*
 * @offset: bytes from the start of the export
 * @len: bytes, 0 for a flush
 * @buf: data of a read or a write
 * @tag: comes back from nbd_client_next()
 *
 * A flush may be sent on any connection: it covers the writes whose replies have come, on
 * all connections of a server that allows several ("Ordering of messages and writes").
 */
void nbd_client_queue(struct nbd_client *c, uint16_t type, uint16_t flags, uint64_t offset,
		      uint32_t len, void *buf, void *tag)
{
	struct nbd_conn *conn = choose(c);
	struct nbd_slot *s = &c->slot[c->free[--c->nr_free]];
	uint64_t at_ns = unlikely(c->trace) ? clock_ns() : 0;
	*s = (struct nbd_slot) {
		.tag = tag,
		.conn = conn,
		.buf = buf,
		.offset = offset,
		.len = len,
		.type = type,
		.flags = flags,
		.age = c->age,
		.busy = true,
	};
	PROBE5(queued, IN_REG(conn), IN_REG(s), IN_MEM(s->type), IN_MEM(s->offset), IN_MEM(s->len));
	conn->in_flight++;
	conn->unsent = true;
	conn->path->queue(conn, s);
	if (unlikely(at_ns))
		note_queued(c, s, at_ns);
}

/**
 * nbd_client_send - send what was queued; what a socket does not take is sent later
 * @c: the client
 *
 * Return: 0 or a negative errno.
 */
int nbd_client_send(struct nbd_client *c)
{
	for (unsigned int i = 0; i < c->nr_conns; i++) {
		struct nbd_conn *conn = &c->conn[i];
		int ret;

		if (!conn->unsent)
			continue;
		conn->unsent = false;
		ret = conn->path->send(conn);
		if (ret < 0)
			return ret;
	}
	return 0;
}

/**
 * nbd_client_look - receive what is there and send what is left, without waiting
 * @c: the client
 *
 * Return: 1 when something came, 0, or a negative errno.
 */
int nbd_client_look(struct nbd_client *c)
{
	int came = 0;

	for (unsigned int i = 0; i < c->nr_conns; i++) {
		struct nbd_conn *conn = &c->conn[i];
		int ret = 0;

		if (!conn->in_flight)
			continue;
		if (conn->path->events(conn) & POLLOUT)
			ret = conn->path->send(conn);
		if (ret >= 0)
			ret = conn->path->receive(conn);
		if (ret < 0)
			return ret;
		came |= ret;
	}
	return came;
}

/*
 * A server may send a reply in pieces (nbdkit: two or three), each of which wakes us up: the
 * next one comes sooner than it takes to sleep.
 */
static int look_midway(struct nbd_client *c)
{
	const struct nbd_conn *conn = c->conn;

	if (c->nr_conns > 1 || !conn->path->midway || !conn->path->midway(conn))
		return 0;
	for (unsigned int n = LOOKS_MIDWAY; n; n--) {
		int ret = nbd_client_look(c);

		if (ret)
			return ret;
	}
	return 0;
}

/*
 * With several requests in flight the reply to one may be there, unless the server sends them
 * one by one and we are faster: it is left to that to say. With one request there is nothing yet.
 */
static int look_once(struct nbd_client *c)
{
	int ret;

	if (c->nr_slots - c->nr_free < 2 || backoff_skips(&c->look_backoff))
		return 0;
	ret = nbd_client_look(c);
	backoff_note(&c->look_backoff, ret);
	return ret;
}

static bool any_ready(const struct nbd_client *c)
{
	for (unsigned int i = 0; i < c->nr_conns; i++) {
		const struct nbd_conn *conn = &c->conn[i];

		if (conn->path->ready && conn->path->ready(conn))
			return true;
	}
	return false;
}

/**
 * nbd_client_before_sleep - look once more, where that is likely to save a sleep
 * @c: the client, with requests in flight
 *
 * Return: as nbd_client_look().
 */
int nbd_client_before_sleep(struct nbd_client *c)
{
	int ret;

	if (any_ready(c))
		return 1;
	ret = look_midway(c);
	return ret ? ret : look_once(c);
}

/**
 * nbd_client_fds - what to poll(2) for
 * @c: the client, with requests in flight
 * @p: filled in
 *
 * Return: how many.
 */
unsigned int nbd_client_fds(const struct nbd_client *c, struct pollfd *p)
{
	for (unsigned int i = 0; i < c->nr_conns; i++) {
		const struct nbd_conn *conn = &c->conn[i];

		p[i].fd = conn->in_flight ? conn->fd : -1;
		p[i].events = conn->path->events(conn);
	}
	return c->nr_conns;
}

/**
 * nbd_client_woken - go on with the connections that have something
 * @c: the client
 * @p: what poll(2) said of nbd_client_fds()
 *
 * Return: as nbd_client_look().
 */
int nbd_client_woken(struct nbd_client *c, const struct pollfd *p)
{
	int came = 0;

	for (unsigned int i = 0; i < c->nr_conns; i++) {
		struct nbd_conn *conn = &c->conn[i];
		int got = 0;

		if (p[i].revents & POLLOUT)
			got = conn->path->send(conn);
		if (got >= 0 && p[i].revents & ~POLLOUT)
			got = conn->path->receive(conn);
		if (got < 0)
			return got;
		came |= got;
	}
	return came;
}

/**
 * nbd_client_next - take the next completion from what was received
 * @c: the client
 * @tag: set to the request's
 * @err: set to 0, or the request's errno
 *
 * Return: 1 with a completion, 0 without, or a negative errno.
 */
int nbd_client_next(struct nbd_client *c, void **tag, int *err)
{
	for (unsigned int n = 0; n < c->nr_conns; n++) {
		struct nbd_conn *conn = &c->conn[c->reading];
		struct nbd_slot *s;
		int ret = conn->path->next(conn, &s);

		if (ret < 0)
			return ret;
		if (ret) {
			PROBE2(seen, IN_REG(conn), IN_MEM(s));
			if (unlikely(c->trace))
				trace_note(c->trace, TRACE_SEEN, conn - c->conn, s->cookie, 0);
			s->busy = false;
			conn->in_flight--;
			c->free[c->nr_free++] = s - c->slot;
			*tag = s->tag;
			*err = s->error;
			return 1;
		}
		c->reading = c->reading + 1 < c->nr_conns ? c->reading + 1 : 0;
	}
	return 0;
}

/**
 * nbd_client_has_replies - look for what nbd_client_next() may find, without receiving
 * @c: the client
 *
 * Return: whether received bytes wait to be read.
 */
bool nbd_client_has_replies(const struct nbd_client *c)
{
	for (unsigned int i = 0; i < c->nr_conns; i++) {
		const struct nbd_conn *conn = &c->conn[i];

		if (conn->path->midway && conn->path->midway(conn))
			return true;
	}
	return false;
}

/**
 * nbd_client_stuck - look for requests in flight for too long
 * @c: the client
 * @max_age: how far nbd_client.age may have advanced since a request was queued
 *
 * Return: whether there is one.
 */
bool nbd_client_stuck(const struct nbd_client *c, uint32_t max_age)
{
	for (unsigned int i = 0; i < c->nr_slots; i++) {
		if (c->slot[i].busy && c->age - c->slot[i].age > max_age)
			return true;
	}
	return false;
}
