/* SPDX-License-Identifier: GPL-2.0-only */
/* The life of a connection in transmission, and how it ends */

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "base/clock.h"
#include "base/fd.h"
#include "targets/nbd/connection.h"

/**
 * nbd_conn_fail - drop the client
 * @c: the connection; called in its iothread
 * @fmt: why, printf() style, or NULL when it has left by itself
 *
 * Requests in flight are waited for, but not answered.
 */
void nbd_conn_fail(struct nbd_conn *c, const char *fmt, ...)
{
	va_list ap;

	if (c->broken)
		return;
	c->broken = true;
	c->rx.ended = true;
	if (fmt) {
		va_start(ap, fmt);
		vsnprintf(c->why, sizeof(c->why), fmt, ap);
		va_end(ap);
	}
	iothread_defer(c->it, &c->flush);
}

/**
 * nbd_conn_lost - drop the client because a call on its socket failed
 * @c: the connection; called in its iothread
 * @what: the call, with errno as it left it
 *
 * A client that has closed its end is dropped without a line.
 */
void nbd_conn_lost(struct nbd_conn *c, const char *what)
{
	if (errno == EPIPE || errno == ECONNRESET)
		nbd_conn_fail(c, NULL);
	else
		nbd_conn_fail(c, "%s: %s", what, strerror(errno));
}

/* Cancel delayed requests: nobody will see their replies. */
static void cancel_requests(struct nbd_conn *c)
{
	for (unsigned int i = 0; c->in_flight && i < c->slots.touched; i++) {
		struct nbd_slot *s = &c->slots.slot[i];

		if (s->in_flight && channel_cancel(c->it->channel, &s->r)) {
			s->in_flight = false;
			c->in_flight--;
		}
	}
}

/* Shorten the delays of requests whose client may still read the replies. */
static void hurry_requests(struct nbd_conn *c)
{
	uint64_t until = clock_ns() + CHANNEL_PATIENCE_NS;

	if (c->hurried)
		return;
	c->hurried = true;
	for (unsigned int i = 0; i < c->slots.touched; i++) {
		struct nbd_slot *s = &c->slots.slot[i];

		if (s->in_flight)
			channel_hurry(c->it->channel, &s->r, until);
	}
}

/* Let a client that sends nothing more keep its place for requests in flight, but only for a while. */
static void see_off(struct nbd_conn *c)
{
	if (!c->in_flight)
		return;
	if (fd_events(c->source.fd, 0))
		nbd_conn_fail(c, NULL);
	else if (c->rx.ended)
		hurry_requests(c);
}

static void stop_looking(struct nbd_conn *c)
{
	if (c->removed)
		return;
	c->removed = true;
	iothread_remove_source(c->it, &c->source);
}

/* Whether the stream ends in the middle of a request. */
static bool is_truncated(const struct nbd_conn *c)
{
	return c->rx.filling || c->rx.skip || c->rx.tail != c->rx.head;
}

/**
 * nbd_conn_see_off - end a connection as far as it can end now
 * @c: the connection, broken or nbd_conn_is_ending(); called in its iothread at the end of a turn
 * @all_sent: no reply is left to be sent
 */
void nbd_conn_see_off(struct nbd_conn *c, bool all_sent)
{
	if (c->broken) {
		stop_looking(c);
		cancel_requests(c);
	} else {
		see_off(c);
		if (!c->rx.ended || !all_sent || c->rx.resume || c->rx.fresh)
			return;
		if (!c->finishing && !c->in_flight && is_truncated(c))
			nbd_conn_fail(c, "connection closed in the middle of a request");
	}
	if (c->in_flight || c->flush.queued)
		return;
	stop_looking(c);
	sem_post(&c->over);
}

/**
 * nbd_conn_new - prepare a connection for transmission
 * @sock: the socket, the caller's to close
 * @disk: what is exported
 * @agreed: by the handshake
 *
 * Return: the connection, or NULL without memory.
 */
struct nbd_conn *nbd_conn_new(int sock, const struct nbd_disk *disk,
			      const struct nbd_agreed *agreed)
{
	struct nbd_conn *c = alloc_apart(1, sizeof(*c));

	if (!c)
		return NULL;
	c->rx.buf = malloc(NBD_RX);
	if (!c->rx.buf || nbd_slots_init(&c->slots)) {
		free(c->rx.buf);
		free(c);
		return NULL;
	}
	c->source = (struct event_source) { .fd = sock };
	c->disk = disk;
	c->agreed = *agreed;
	c->tx.done_end = &c->tx.done;
	sem_init(&c->over, 0, 0);
	return c;
}

struct start {
	struct nbd_conn *c;
	int ret;
};

static void start_in_thread(void *arg)
{
	struct start *s = arg;
	struct iothread *it = s->c->it;

	s->ret = channel_reserve(it->channel, NBD_SLOTS);
	if (s->ret)
		return;
	s->ret = iothread_add_source(it, &s->c->source);
	if (s->ret) {
		channel_release(it->channel, NBD_SLOTS);
		return;
	}
	iothread_watch_source(it, &s->c->source, NBD_CONN_EVENTS);
	if (s->c->rights)
		guard_watch(&it->guard, pthread_self());
}

/**
 * nbd_conn_start - let an iothread serve a connection
 * @c: the connection, with what an iothread calls: @c->source.ops, @c->flush.fn
 * @it: the iothread
 *
 * Return: 0 or a negative errno.
 */
int nbd_conn_start(struct nbd_conn *c, struct iothread *it)
{
	struct start s = { .c = c };

	c->it = it;
	c->trace = it->channel->trace;
	c->in_place = !it->channel->config.aio && c->disk->backend->align <= 1;
	iothread_call(it, start_in_thread, &s);
	return s.ret;
}

static void finish_in_thread(void *arg)
{
	struct nbd_conn *c = arg;

	if (c->removed)
		return;
	c->finishing = true;
	c->source.ops->dispatch(&c->source);
	c->rx.ended = true;
	iothread_defer(c->it, &c->flush);
}

/**
 * nbd_conn_finish - accept no more requests, answer those that have come, then end
 * @c: the connection, started
 */
void nbd_conn_finish(struct nbd_conn *c)
{
	iothread_call(c->it, finish_in_thread, c);
}

static void hurry_in_thread(void *arg)
{
	struct nbd_conn *c = arg;

	if (!c->removed && c->tx.stuck && c->tx.bytes == c->seen_bytes)
		nbd_conn_fail(c, "client is not reading replies");
	c->seen_bytes = c->tx.bytes;
}

/**
 * nbd_conn_hurry - drop a client that has taken none of its replies since the last call
 * @c: the connection, finishing
 */
void nbd_conn_hurry(struct nbd_conn *c)
{
	iothread_call(c->it, hurry_in_thread, c);
}

static void release_in_thread(void *arg)
{
	struct nbd_conn *c = arg;

	channel_release(c->it->channel, NBD_SLOTS);
	if (c->rights)
		guard_unwatch(&c->it->guard);
}

/**
 * nbd_conn_wait - wait until a connection is over
 * @c: the connection, started
 */
void nbd_conn_wait(struct nbd_conn *c)
{
	while (sem_wait(&c->over) < 0 && errno == EINTR)
		;
	iothread_call(c->it, release_in_thread, c);
}

/**
 * nbd_conn_free - give a connection's memory back
 * @c: the connection, over or never started
 */
void nbd_conn_free(struct nbd_conn *c)
{
	sem_destroy(&c->over);
	nbd_slots_destroy(&c->slots);
	free(c->rx.buf);
	free(c);
}
