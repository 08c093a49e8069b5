/* SPDX-License-Identifier: GPL-2.0-only */
/* The way of a request through a connection: received, started, done, answered */

#include <endian.h>
#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include "base/container.h"
#include "base/cpu.h"
#include "base/fd.h"
#include "targets/nbd/request.h"
#include "targets/nbd/rights.h"
#include "targets/nbd/transmission.h"

/*
 * Receive little more than a header after a large write: another one is likely, whose data can
 * then be received into its own buffer instead of being copied there.
 */
#define AFTER_LARGE	4096u

/* Bytes that a connection may ask for before it is the turn of others. */
#define TURN_BYTES	SLICE_BYTES

/* A write that is served from the receive buffer must be done when submitting it returns. */
_Static_assert(NBD_RX <= SLICE_BYTES, "no slices of what is in the receive buffer");

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
		return nbd_receive_guarded(&c->it->guard, c->source.fd, &mh);
	return recvmsg(c->source.fd, &mh, MSG_DONTWAIT);
}

static void came(struct nbd_rx *rx, size_t n)
{
	size_t direct = n < rx->missing ? n : rx->missing;

	rx->missing -= direct;
	rx->tail += n - direct;
	rx->fresh = true;
}

/* Receive what the socket has, without waiting. Returns whether there is something to do. */
static bool receive(struct nbd_conn *c)
{
	struct nbd_rx *rx = &c->rx;
	size_t asked;
	ssize_t n;

	if (rx->blocked || rx->ended)
		return false;
	n = receive_some(c, &asked);
	if (n > 0) {
		/* A short read has emptied the socket: see epoll(7) on EPOLLET. */
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

/* Send the reply to a request that is done at the end of this turn. */
static void reply(struct nbd_conn *c, struct nbd_slot *s)
{
	struct channel_stats *stats = &c->it->channel->stats;

	PROBE3(completed, IN_REG(&s->r), IN_MEM(c->number), IN_MEM(s->cookie));
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
	struct nbd_slot *s = container_of(r, struct nbd_slot, r);

	s->in_flight = false;
	s->conn->in_flight--;
	reply(s->conn, s);
}

static void submit(struct nbd_conn *c, struct nbd_slot *s)
{
	s->r.backend = c->disk->backend;
	s->r.done = request_done;
	if (channel_submit(c->it->channel, &s->r)) {
		reply(c, s);
		return;
	}
	s->in_flight = true;
	c->in_flight++;
}

/* Start a write whose data begins at the head of the buffer, or is still to come. */
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

static void start(struct nbd_conn *c, struct nbd_slot *s, int err, bool one_extent)
{
	counter_add(&c->it->channel->stats.requests[s->r.kind], 1);
	if (unlikely(err)) {
		if (s->type == NBD_CMD_WRITE)
			c->rx.skip = s->r.len;
		s->r.result = err;
		reply(c, s);
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

static void block(struct nbd_conn *c)
{
	c->rx.blocked = true;
	c->rx.blocked_puts = c->slots.puts;
}

static void drop_malformed(struct nbd_conn *c, const struct nbd_request *req)
{
	char why[NBD_WHY_MAX];

	nbd_say_malformed(req, why);
	nbd_conn_fail(c, "%s", why);
}

/* Take the request at the head of the buffer; false when there is none that can be taken. */
static bool take_request(struct nbd_conn *c)
{
	struct nbd_rx *rx = &c->rx;
	const struct nbd_request *req = (const struct nbd_request *)(rx->buf + rx->head);
	struct nbd_slot *s;
	size_t room;
	int err;

	if (rx->tail - rx->head < sizeof(*req))
		return false;
	if (unlikely(nbd_is_malformed(req))) {
		drop_malformed(c, req);
		return false;
	}
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
	err = nbd_check_request(c->disk, &c->agreed, s, be16toh(req->flags));
	room = err ? 0 : nbd_room_needed(s);
	if (room)
		err = nbd_slot_room(&c->slots, s, room);
	if (unlikely(err == -EAGAIN)) {
		nbd_slot_put(&c->slots, s);
		block(c);
		return false;
	}
	rx->head += sizeof(*req);
	PROBE3(taken, IN_REG(&s->r), IN_MEM(c->number), IN_MEM(s->cookie));
	if (unlikely(c->trace)) {
		s->r.work.name = (struct trace_name) { be64toh(s->cookie), c->number };
		nbd_note(c, TRACE_POP, s->cookie);
	}
	start(c, s, err, be16toh(req->flags) & NBD_CMD_FLAG_REQ_ONE);
	return true;
}

/* Move what is left, less than a header, to the front; requests that have to wait stay where they are. */
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

/* Start all requests that have come. */
static void take_requests(struct nbd_conn *c)
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

static void add_piece(struct nbd_tx *tx, void *base, size_t len)
{
	struct iovec *last = tx->nr ? &tx->iov[tx->nr - 1] : NULL;

	/* Replies without data lie side by side: send them as one piece. */
	if (last && (char *)last->iov_base + last->iov_len == base)
		last->iov_len += len;
	else
		tx->iov[tx->nr++] = (struct iovec) { .iov_base = base, .iov_len = len };
}

static void keep_while_sent(struct nbd_tx *tx, struct nbd_slot *s)
{
	s->next = tx->sending;
	tx->sending = s;
}

static void add_reply(struct nbd_conn *c, struct nbd_slot *s)
{
	struct nbd_tx *tx = &c->tx;
	char *to = tx->headers + tx->headers_len;
	struct iovec piece = nbd_form_reply(s, c->agreed.structured, to);

	add_piece(tx, piece.iov_base, piece.iov_len);
	if (piece.iov_base != to) {
		keep_while_sent(tx, s);
		return;
	}
	tx->headers_len += piece.iov_len;
	nbd_slot_put(&c->slots, s);
}

/* Put the replies to all requests that are done into one message. */
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

/* Returns whether the socket took all of it. */
static bool send_gathered(struct nbd_conn *c)
{
	struct nbd_tx *tx = &c->tx;

	while (tx->at < tx->nr) {
		struct msghdr mh = { .msg_iov = tx->iov + tx->at, .msg_iovlen = tx->nr - tx->at };
		ssize_t n;

		counter_add(&nbd_stats(c)->calls, 1);
		PROBE1(published, IN_MEM(c->number));
		trace_batch(c->trace, TRACE_PUBLISH, c->number, 0);
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

/* Send what is done, as far as the socket takes it. Returns whether nothing is left to be sent. */
static bool send_replies(struct nbd_conn *c)
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

static struct nbd_conn *source_to_conn(struct event_source *s)
{
	return container_of(s, struct nbd_conn, source);
}

static bool conn_poll(struct event_source *s, uint64_t now)
{
	struct nbd_conn *c = source_to_conn(s);

	(void)now;
	if (unlikely(c->tx.stuck) && fd_events(s->fd, POLLOUT))
		return true;
	return c->rx.resume || receive(c);
}

/* Watch for EPOLLOUT only while the socket is full. */
static void watch_for_room(struct nbd_conn *c, bool on)
{
	if (c->tx.watched == on)
		return;
	c->tx.watched = on;
	iothread_watch_source(c->it, &c->source, NBD_CONN_EVENTS | (on ? EPOLLOUT : 0));
}

static bool conn_arm(struct event_source *s)
{
	struct nbd_conn *c = source_to_conn(s);

	watch_for_room(c, c->tx.stuck);
	if (c->rx.resume)
		return true;
	return (!c->rx.drained || c->rx.hung_up) && receive(c);
}

static void conn_disarm(struct event_source *s)
{
	(void)s;
}

static void conn_woken(struct event_source *s)
{
	struct nbd_conn *c = source_to_conn(s);

	c->rx.drained = false;
	if (s->events & (EPOLLRDHUP | EPOLLHUP | EPOLLERR))
		c->rx.hung_up = true;
	/* NBD has no notifications of its own: count the waits that the socket ended. */
	counter_add(&nbd_stats(c)->kicks, 1);
	counter_add(&nbd_stats(c)->noticed, 1);
	PROBE1(target_woken, IN_MEM(c->number));
	trace_batch(c->trace, TRACE_WOKEN, c->number, 0);
}

static void conn_dispatch(struct event_source *s)
{
	struct nbd_conn *c = source_to_conn(s);

	if (!c->rx.fresh && !c->rx.resume)
		receive(c);
	take_requests(c);
	if (unlikely(c->tx.stuck || c->rx.ended || c->rx.hung_up))
		iothread_defer(c->it, &c->flush);
}

static const struct event_source_ops conn_ops = {
	.poll = conn_poll,
	.arm = conn_arm,
	.disarm = conn_disarm,
	.woken = conn_woken,
	.dispatch = conn_dispatch,
	.no_poll_handler = true,
};

/* Resume requests that had to wait, now that a slot or memory was given back. */
static void unblock(struct nbd_conn *c)
{
	if (!c->rx.blocked || c->slots.puts == c->rx.blocked_puts)
		return;
	c->rx.blocked = false;
	c->rx.resume = true;
}

/* At the end of a turn: send replies, and see whether it is over. */
static void conn_flush(struct deferred *d)
{
	struct nbd_conn *c = container_of(d, struct nbd_conn, flush);
	bool all_sent = !c->broken && send_replies(c);

	if (likely(!c->broken)) {
		unblock(c);
		/* Have conn_arm() called before the loop sleeps. */
		if (c->rx.resume || c->tx.stuck || c->tx.watched)
			event_source_rearm(&c->source);
		if (likely(!nbd_conn_is_ending(c)))
			return;
	}
	nbd_conn_see_off(c, all_sent);
}

/**
 * nbd_transmission_start - let an iothread serve a connection
 * @c: the connection
 * @it: the iothread
 *
 * Return: 0 or a negative errno.
 */
int nbd_transmission_start(struct nbd_conn *c, struct iothread *it)
{
	c->source.ops = &conn_ops;
	c->flush.fn = conn_flush;
	return nbd_conn_start(c, it);
}
