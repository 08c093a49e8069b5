/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef TARGETS_NBD_CONNECTION_H
#define TARGETS_NBD_CONNECTION_H

#include <endian.h>
#include <semaphore.h>
#include <sys/epoll.h>
#include "base/cpu.h"
#include "targets/backend/channel.h"
#include "targets/nbd/request.h"

/* Bytes of a receive buffer: as much as a socket usually holds. */
#define NBD_RX		(256u << 10)

/* EPOLLRDHUP comes with the last data, and only once. */
#define NBD_CONN_EVENTS	(EPOLLIN | EPOLLRDHUP)

/**
 * struct nbd_rx - received bytes that have not been parsed
 * @buf: NBD_RX bytes
 * @head: first byte not parsed
 * @tail: behind the last byte received
 * @filling: a write whose data is still coming, straight into its own buffer
 * @missing: bytes of it
 * @skip: bytes to discard: the data of a refused write
 * @large: the last request was a write too large to be copied
 * @fresh: bytes were received that take_requests() has not seen
 * @drained: the socket was empty, so that epoll reports the next bytes
 * @hung_up: the client has closed its end, which epoll reports only once
 * @blocked: no slot or no memory for the request at @head
 * @blocked_puts: nbd_slots.puts at that moment
 * @resume: parse the buffer again without receiving first: a blocked request can go on, or the
 *	turn of other connections came first
 * @turn_bytes: bytes that requests of this turn ask for
 * @ended: receive nothing more
 */
struct nbd_rx {
	char *buf;
	unsigned int head;
	unsigned int tail;
	struct nbd_slot *filling;
	uint32_t missing;
	uint32_t skip;
	bool large;
	bool fresh;
	bool drained;
	bool hung_up;
	bool blocked;
	bool resume;
	uint64_t blocked_puts;
	bool ended;
	uint64_t turn_bytes;
};

/**
 * struct nbd_tx - replies
 * @done, @done_end: requests that are done, in the order in which they were
 * @sending: those whose data is part of what is being sent
 * @iov: what is being sent
 * @at: first of it not sent
 * @nr: how many there are
 * @headers: replies without data
 * @headers_len: bytes used of it
 * @stuck: the socket is full
 * @watched: epoll watches for EPOLLOUT
 * @bytes: sent so far
 */
struct nbd_tx {
	struct nbd_slot *done;
	struct nbd_slot **done_end;
	struct nbd_slot *sending;
	struct iovec iov[NBD_SLOTS];
	unsigned int at;
	unsigned int nr;
	char headers[NBD_SLOTS * NBD_REPLY_MAX];
	unsigned int headers_len;
	bool stuck;
	bool watched;
	uint64_t bytes;
};

/**
 * struct nbd_conn - a connection in transmission, an event source of one iothread
 * @source: the event source; its fd is the socket
 * @it: the iothread that serves it
 * @trace: where the iothread writes down what happens, NULL without a trace
 * @number: what the connection is called there
 * @disk: what is exported
 * @agreed: by the handshake
 * @in_place: serve writes whose data is complete from the receive buffer, because the backend is
 *	done with it when it returns
 * @rights: clients can send descriptors: a unix socket of an old kernel
 * @finishing: the target ends
 * @hurried: the delays of requests in flight have been shortened
 * @broken: the client is dropped
 * @removed: its event source has been removed from the iothread
 * @in_flight: requests given to the channel and not done
 * @slots: its requests
 * @flush: sends replies at the end of a turn
 * @over: posted when the iothread is done with it
 * @seen_bytes: @tx.bytes at the last nbd_conn_hurry()
 * @why: the reason for dropping the client, empty when it just left
 */
struct nbd_conn {
	struct event_source source;
	struct iothread *it;
	struct trace_ring *trace;
	uint16_t number;
	const struct nbd_disk *disk;
	struct nbd_agreed agreed;
	bool in_place;
	bool rights;
	bool finishing;
	bool hurried;
	bool broken;
	bool removed;
	unsigned int in_flight;
	struct nbd_rx rx;
	struct nbd_slots slots;
	struct deferred flush;
	sem_t over;
	uint64_t seen_bytes;
	char why[NBD_WHY_MAX];
	struct nbd_tx tx;
} __attribute__((aligned(THREAD_ALIGN)));

struct nbd_conn *nbd_conn_new(int sock, const struct nbd_disk *disk,
			      const struct nbd_agreed *agreed);
int nbd_conn_start(struct nbd_conn *c, struct iothread *it);
void nbd_conn_finish(struct nbd_conn *c);
void nbd_conn_hurry(struct nbd_conn *c);
void nbd_conn_wait(struct nbd_conn *c);
void nbd_conn_free(struct nbd_conn *c);

void nbd_conn_fail(struct nbd_conn *c, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));
void nbd_conn_lost(struct nbd_conn *c, const char *what);
void nbd_conn_see_off(struct nbd_conn *c, bool all_sent);

/* Whether the end of a connection may have come, or has to be brought about. */
static inline bool nbd_conn_is_ending(const struct nbd_conn *c)
{
	return c->rx.ended || (c->rx.blocked && c->rx.hung_up);
}

/* Of a request, whose probe the caller has; a cookie is turned round for the record only. */
static inline void nbd_note(struct nbd_conn *c, enum trace_event event, uint64_t cookie)
{
	if (unlikely(c->trace))
		trace_note(c->trace, event, c->number, be64toh(cookie), 0);
}

static inline struct iothread_stats *nbd_stats(struct nbd_conn *c)
{
	return &c->it->stats;
}

#endif
