/* SPDX-License-Identifier: GPL-2.0-only */
#include <endian.h>
#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include "base/cpu.h"
#include "targets/nbd/connection.h"
#include "targets/nbd/rights.h"

/*
 * After a large write most likely comes another one: receive little but its header, and its
 * data need not be copied.
 */
#define AFTER_LARGE	4096u

/* What others are kept waiting for: then it is their turn. */
#define TURN_BYTES	SLICE_BYTES

/* A write that is served from the receive buffer is done when it has been submitted. */
_Static_assert(NBD_RX <= SLICE_BYTES, "no slices of what is in the receive buffer");

/*
 * Where the kernel lets clients send descriptors, it closes those that nobody receives before
 * this returns, and that takes as long as the client wishes. To receive them costs 50 ns a call
 * with data and 200 ns one without: it is done after the first time, see guard.h.
 */
static ssize_t receive_guarded(struct nbd_conn *c, struct msghdr *mh)
{
	struct guard *g = &c->it->guard;
	unsigned int entered;
	ssize_t n;

	if (guard_is_careful(g))
		return nbd_receive_rights(c->source.fd, mh);
	entered = guard_enter(g);
	n = recvmsg(c->source.fd, mh, MSG_DONTWAIT);
	guard_leave(g, entered);
	return n;
}

static ssize_t receive_some(struct nbd_conn *c, size_t *asked)
{
	struct nbd_rx *rx = &c->rx;
	size_t room = NBD_RX - rx->tail;

	if (rx->large && room > AFTER_LARGE)
		room = AFTER_LARGE;
	if (likely(!rx->filling && !c->rights)) {
		*asked = room;
		return recv(c->source.fd, rx->buf + rx->tail, room, MSG_DONTWAIT);
	}

	struct iovec iov[] = {
		{ rx->filling ? rx->filling->buf + rx->filling->r.len - rx->missing : NULL, rx->missing },
		{ rx->buf + rx->tail, room },
	};
	struct msghdr mh = { .msg_iov = iov + !rx->filling, .msg_iovlen = 1 + !!rx->filling };

	*asked = rx->missing + room;
	if (c->rights)
		return receive_guarded(c, &mh);
	return recvmsg(c->source.fd, &mh, MSG_DONTWAIT);
}

static void came(struct nbd_rx *rx, size_t n)
{
	size_t direct = n < rx->missing ? n : rx->missing;

	rx->missing -= direct;
	rx->tail += n - direct;
	rx->fresh = true;
}

/**
 * nbd_receive - take what the socket has, without waiting
 * @c: the connection; called in its iothread
 *
 * Return: whether there is something to do.
 */
bool nbd_receive(struct nbd_conn *c)
{
	struct nbd_rx *rx = &c->rx;
	size_t asked;
	ssize_t n;

	if (rx->blocked || rx->ended)
		return false;
	n = receive_some(c, &asked);
	if (n > 0) {
		/* Less than there was room for is all there was: see epoll(7) on EPOLLET. */
		rx->drained = (size_t)n < asked;
		came(rx, n);
		return true;
	}
	if (n < 0 && errno == EAGAIN) {
		rx->drained = true;
		return false;
	}
	if (n < 0 && errno == EINTR)
		return false;
	rx->ended = true;
	if (n < 0)
		nbd_conn_lost(c, "recv");
	return true;
}

static void forget(struct nbd_rx *rx)
{
	unsigned int n = rx->tail - rx->head;

	if (n > rx->skip)
		n = rx->skip;
	rx->head += n;
	rx->skip -= n;
}

static void request_done(struct blk_request *r)
{
	struct nbd_slot *s = (struct nbd_slot *)r;

	s->in_flight = false;
	s->conn->in_flight--;
	nbd_reply(s->conn, s);
}

static void submit(struct nbd_conn *c, struct nbd_slot *s)
{
	s->r.backend = c->disk->backend;
	s->r.done = request_done;
	if (channel_submit(c->it->channel, &s->r)) {
		nbd_reply(c, s);
		return;
	}
	s->in_flight = true;
	c->in_flight++;
}

/* A write whose data begins at the head of the buffer, or is still to come. */
static void take_data(struct nbd_conn *c, struct nbd_slot *s)
{
	struct nbd_rx *rx = &c->rx;
	uint32_t len = s->r.len, here = rx->tail - rx->head;

	if (here > len)
		here = len;
	if (here == len && c->in_place) {
		s->iov.iov_base = rx->buf + rx->head;
	} else {
		memcpy(s->buf, rx->buf + rx->head, here);
		s->iov.iov_base = s->buf;
	}
	rx->head += here;
	if (here == len) {
		submit(c, s);
	} else {
		rx->filling = s;
		rx->missing = len - here;
	}
}

static bool is_large_write(const struct nbd_conn *c, const struct nbd_slot *s)
{
	return s->type == NBD_CMD_WRITE && s->r.len > (c->in_place ? NBD_RX / 2 : NBD_SMALL);
}

/* What it brings to the backend or back from it. */
static size_t room_needed(const struct nbd_slot *s)
{
	switch (s->type) {
	case NBD_CMD_READ:
	case NBD_CMD_WRITE:
		return s->r.len;
	case NBD_CMD_BLOCK_STATUS:
		return NBD_SMALL;
	default:
		return 0;
	}
}

static void start(struct nbd_conn *c, struct nbd_slot *s, int err, bool one_extent)
{
	counter_add(&c->it->channel->stats.requests[s->r.kind], 1);
	if (unlikely(err)) {
		if (s->type == NBD_CMD_WRITE)
			c->rx.skip = s->r.len;
		s->r.result = err;
		nbd_reply(c, s);
		return;
	}
	c->rx.turn_bytes += s->r.len;
	s->iov = (struct iovec) { .iov_base = s->buf, .iov_len = s->r.len };
	c->rx.large = is_large_write(c, s);
	if (s->type == NBD_CMD_WRITE) {
		take_data(c, s);
		return;
	}
	if (s->type == NBD_CMD_BLOCK_STATUS) {
		s->r.extent = (struct blk_extent *)s->buf;
		s->r.nr_extent = one_extent ? 1 : NBD_SMALL / sizeof(struct blk_extent);
	}
	submit(c, s);
}

static bool bad_request(struct nbd_conn *c, const struct nbd_request *req)
{
	if (be32toh(req->magic) != NBD_REQUEST_MAGIC) {
		nbd_conn_fail(c, "what should be a request begins with 0x%08x",
			      be32toh(req->magic));
		return true;
	}
	/* It would take long to hear it all out. */
	if (be16toh(req->type) == NBD_CMD_WRITE && be32toh(req->len) > NBD_PAYLOAD_MAX) {
		nbd_conn_fail(c, "it writes %u bytes in one request, %u are the most",
			      be32toh(req->len), NBD_PAYLOAD_MAX);
		return true;
	}
	return false;
}

static void block(struct nbd_conn *c)
{
	c->rx.blocked = true;
	c->rx.blocked_puts = c->slots.puts;
}

/* Take the request at the head of the buffer; false when there is none that can be taken. */
static bool take_request(struct nbd_conn *c)
{
	struct nbd_rx *rx = &c->rx;
	const struct nbd_request *req = (const struct nbd_request *)(rx->buf + rx->head);
	struct nbd_slot *s;
	size_t room;
	int err;

	if (rx->tail - rx->head < sizeof(*req) || bad_request(c, req))
		return false;
	if (be16toh(req->type) == NBD_CMD_DISC) {
		rx->ended = true;
		rx->head = rx->tail;
		return false;
	}
	s = nbd_slot_get(&c->slots, c);
	if (unlikely(!s)) {
		block(c);
		return false;
	}
	s->cookie = req->cookie;
	s->type = be16toh(req->type);
	s->r.offset = be64toh(req->offset);
	s->r.len = be32toh(req->len);
	err = nbd_check_request(c, s, be16toh(req->flags));
	room = err ? 0 : room_needed(s);
	if (room)
		err = nbd_slot_room(&c->slots, s, room);
	if (unlikely(err == -EAGAIN)) {
		nbd_slot_put(&c->slots, s);
		block(c);
		return false;
	}
	rx->head += sizeof(*req);
	if (unlikely(c->trace)) {
		s->r.work.name = (struct trace_name) { be64toh(s->cookie), c->number };
		nbd_note(c, TRACE_POP, s->cookie);
	}
	start(c, s, err, be16toh(req->flags) & NBD_CMD_FLAG_REQ_ONE);
	return true;
}

/* What is left is less than a header, unless it has to wait. */
static void make_room(struct nbd_rx *rx)
{
	unsigned int left = rx->tail - rx->head;

	if (rx->blocked || rx->resume)
		return;
	if (left)
		memmove(rx->buf, rx->buf + rx->head, left);
	rx->head = 0;
	rx->tail = left;
}

/**
 * nbd_take_requests - start all requests that have come
 * @c: the connection; called in its iothread
 */
void nbd_take_requests(struct nbd_conn *c)
{
	struct nbd_rx *rx = &c->rx;
	unsigned int taken = 0;

	rx->fresh = false;
	rx->resume = false;
	rx->turn_bytes = 0;
	channel_turn(c->it->channel);
	if (rx->filling && !rx->missing) {
		submit(c, rx->filling);
		rx->filling = NULL;
	}
	while (!rx->filling && !c->broken && !rx->resume) {
		if (unlikely(rx->skip))
			forget(rx);
		if (rx->skip || !take_request(c))
			break;
		taken++;
		rx->resume = rx->turn_bytes >= TURN_BYTES;
	}
	make_room(rx);
	if (taken)
		hist_add(&c->it->channel->stats.batch, taken);
}

/**
 * nbd_rx_truncated - whether what came ends inside of a request
 * @c: the connection
 */
bool nbd_rx_truncated(const struct nbd_conn *c)
{
	return c->rx.filling || c->rx.skip || c->rx.tail != c->rx.head;
}
