/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef ENGINES_NBD_CLIENT_H
#define ENGINES_NBD_CLIENT_H

#include <poll.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <libnbd.h>
#include "base/cpu.h"
#include "base/hist.h"
#include "engines/glue/backoff.h"
#include "engines/nbd/cover.h"
#include "wire/nbd.h"
#include "wire/trace.h"

/*
 * An NBD client in the transmission phase, over one or more connections of one server. It
 * knows no fio, and how a connection talks (nbd_direct, nbd_by_libnbd) is its datapath's.
 */

#define NBD_CONNECTIONS_MAX	64

struct nbd_conn;

/**
 * struct nbd_slot - a request in flight
 * @tag: the user's
 * @conn: the connection it went to
 * @next: in a list of the datapath's
 * @buf: data of a read or a write
 * @offset: bytes from the start of the export
 * @len: bytes
 * @type: NBD_CMD_*
 * @flags: NBD_CMD_FLAG_*
 * @cover: what the chunks of a structured read have brought
 * @cookie: what the server calls it; the datapath's to set when it takes the request, and to
 *	know it again by
 * @age: nbd_client.age when it was queued
 * @error: 0 or a positive errno, once it is complete
 * @busy: it is in flight
 */
struct nbd_slot {
	void *tag;
	struct nbd_conn *conn;
	struct nbd_slot *next;
	char *buf;
	uint64_t offset;
	uint32_t len;
	uint16_t type;
	uint16_t flags;
	struct cover cover;
	uint64_t cookie;
	uint32_t age;
	int error;
	bool busy;
};

/**
 * struct nbd_datapath - a way to talk to a server after the handshake
 * @name: for people
 * @open: take a connection over whose handshake is done; @h is the datapath's on success
 * @close: end it, with a disconnect if nothing is in flight
 * @queue: take a request, to be sent no later than in the next send()
 * @send: send what is queued, or as much of it as the socket takes
 * @receive: look for replies without waiting; 1 when something came, 0 when nothing did
 * @midway: whether a part of a reply has come; may be NULL
 * @ready: whether next() has a request although receive() was not called; NULL where it never has
 * @next: set @s to a request that is complete, or return 0 if receive() has brought none
 * @events: what to poll(2) for
 *
 * All return 0 or more, or a negative errno: -ECONNRESET when the server has closed the
 * connection, -EPROTO with nbd_client.fault set.
 */
struct nbd_datapath {
	const char *name;
	int (*open)(struct nbd_conn *c, struct nbd_handle *h);
	void (*close)(struct nbd_conn *c);
	void (*queue)(struct nbd_conn *c, struct nbd_slot *s);
	int (*send)(struct nbd_conn *c);
	int (*receive)(struct nbd_conn *c);
	bool (*midway)(const struct nbd_conn *c);
	bool (*ready)(const struct nbd_conn *c);
	int (*next)(struct nbd_conn *c, struct nbd_slot **s);
	short (*events)(const struct nbd_conn *c);
};

extern const struct nbd_datapath nbd_direct;
extern const struct nbd_datapath nbd_by_libnbd;

/**
 * struct nbd_conn - one connection
 * @client: whose
 * @path: how it talks
 * @priv: the datapath's
 * @fd: its socket
 * @in_flight: requests without a reply
 * @unsent: requests were queued since the last send()
 */
struct nbd_conn {
	struct nbd_client *client;
	const struct nbd_datapath *path;
	void *priv;
	int fd;
	unsigned int in_flight;
	bool unsent;
};

/**
 * struct nbd_stats - what a client counts; written and read by its job alone
 * @sends: system calls that sent something
 * @receives: system calls that received something
 * @batch: requests whose last byte went out in the same system call
 * @replies: requests that were completed by the same system call
 *
 * libnbd's system calls are not seen.
 */
struct nbd_stats {
	uint64_t sends;
	uint64_t receives;
	struct hist batch;
	struct hist replies;
};

/**
 * struct nbd_client - one job's connections to a server
 * @conn: they
 * @nr_conns: how many
 * @turn: the one that gets the next request, if others have no fewer in flight
 * @reading: the one that nbd_client_next() looks at
 * @slot: requests
 * @nr_slots: how many can be in flight
 * @free: stack of free slots; the one used last is in the caches
 * @nr_free: its height
 * @age: a coarse clock for finding stuck requests, advanced by the user
 * @look_backoff: whether looking before a sleep is of use
 * @salt: for struct cover
 * @fault: what was wrong with a reply, for -EPROTO
 * @complaint: what the server said about the first error it explained
 * @trace: where to write down what happens, NULL for nowhere; the user's to set
 */
struct nbd_client {
	struct nbd_conn *conn;
	unsigned int nr_conns;
	unsigned int turn;
	unsigned int reading;
	struct nbd_slot *slot;
	unsigned int nr_slots;
	uint32_t *free;
	unsigned int nr_free;
	uint32_t age;
	struct backoff look_backoff;
	uint64_t salt;
	char fault[160];
	char complaint[256];
	struct trace_ring *trace;
	struct nbd_stats stats;
};

/* All that a connection has queued is about to be sent; its number would have to be computed for a probe. */
static inline void nbd_note_submit(const struct nbd_conn *c)
{
	struct nbd_client *client = c->client;

	PROBE2(submitted, IN_REG(c), IN_REG(0));
	if (unlikely(client->trace))
		trace_note(client->trace, TRACE_SUBMIT, c - client->conn, 0, 0);
}

int nbd_client_init(struct nbd_client *c, unsigned int nr_slots, unsigned int max_conns);
int nbd_client_add(struct nbd_client *c, struct nbd_handle *h, const struct nbd_datapath *path);
void nbd_client_destroy(struct nbd_client *c);

void nbd_client_queue(struct nbd_client *c, uint16_t type, uint16_t flags, uint64_t offset,
		      uint32_t len, void *buf, void *tag);
int nbd_client_send(struct nbd_client *c);
int nbd_client_look(struct nbd_client *c);
int nbd_client_before_sleep(struct nbd_client *c);
unsigned int nbd_client_fds(const struct nbd_client *c, struct pollfd *p);
int nbd_client_woken(struct nbd_client *c, const struct pollfd *p);
int nbd_client_next(struct nbd_client *c, void **tag, int *err);
bool nbd_client_has_replies(const struct nbd_client *c);
bool nbd_client_stuck(const struct nbd_client *c, uint32_t max_age);

bool nbd_slot_add(struct nbd_slot *s, uint64_t offset, uint64_t len);
int nbd_slot_finish(struct nbd_slot *s);
int nbd_fault(struct nbd_client *c, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

#endif
