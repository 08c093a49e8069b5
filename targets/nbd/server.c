/* SPDX-License-Identifier: GPL-2.0-only */
/* A client from its handshake to its end */

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include "base/clock.h"
#include "base/container.h"
#include "targets/nbd/handshake.h"
#include "targets/nbd/server.h"
#include "targets/nbd/transmission.h"

/* How long a handshake may take. */
#define HANDSHAKE_MS	10000

/* And how long a client may take to hear that there is no place for it. */
#define REFUSAL_MS	1000

/* At the end of the target, drop a client that reads none of its replies for so long. */
#define FINISH_NS	UINT64_C(2000000000)

/* A handshake's data lies on the stack. */
#define STACK_SIZE	(256u << 10)

/**
 * struct nbd_client - a client, with a thread of its own that shakes hands and cleans up
 * @client: its place
 * @conn: its transmission, NULL before and after; covered by the clients' lock
 */
struct nbd_client {
	struct client client;
	struct nbd_conn *conn;
};

#define GAVE_WAY	"evicted for a new client: oldest handshake"

static struct nbd_client *to_client(struct client *c)
{
	return container_of(c, struct nbd_client, client);
}

static struct nbd_server *server_of(const struct nbd_client *c)
{
	return container_of(c->client.all, struct nbd_server, clients);
}

static void say_why(const struct nbd_client *c, const char *why)
{
	if (*why)
		client_dropped(&c->client, "%s", why);
}

/* Show nbd_server_close() the connection, or hide it again; false when the server is closing. */
static bool publish(struct nbd_client *c, struct nbd_conn *conn)
{
	struct nbd_server *s = server_of(c);
	bool closing;

	pthread_mutex_lock(&s->clients.lock);
	c->conn = conn;
	closing = s->closing;
	pthread_mutex_unlock(&s->clients.lock);
	return !closing;
}

static bool is_closing(struct nbd_server *s)
{
	bool closing;

	pthread_mutex_lock(&s->clients.lock);
	closing = s->closing;
	pthread_mutex_unlock(&s->clients.lock);
	return closing;
}

static struct iothread *choose_iothread(struct nbd_server *s)
{
	unsigned int n;

	pthread_mutex_lock(&s->clients.lock);
	n = s->next_iothread++ % s->nr_iothreads;
	pthread_mutex_unlock(&s->clients.lock);
	return &s->iothreads[n];
}

static struct nbd_conn *new_conn(const struct nbd_client *c, const struct nbd_agreed *agreed)
{
	struct nbd_server *s = server_of(c);
	struct nbd_conn *conn = nbd_conn_new(c->client.sock, &s->disk, agreed);

	if (!conn)
		return NULL;
	conn->number = c->client.id;
	conn->rights = s->clients.listener.is_unix && !s->clients.listener.no_rights;
	return conn;
}

static void transmission(struct nbd_client *c, const struct nbd_agreed *agreed)
{
	struct nbd_conn *conn = new_conn(c, agreed);
	int ret = conn ? nbd_transmission_start(conn, choose_iothread(server_of(c))) : -ENOMEM;

	if (ret) {
		say_why(c, strerror(-ret));
	} else {
		if (!publish(c, conn))
			nbd_conn_finish(conn);
		nbd_conn_wait(conn);
		publish(c, NULL);
		say_why(c, conn->why);
	}
	if (conn)
		nbd_conn_free(conn);
}

static void serve(struct client *client)
{
	struct nbd_client *c = to_client(client);
	struct nbd_server *s = server_of(c);
	char why[NBD_WHY_MAX] = "";
	struct nbd_agreed agreed;
	int ret = nbd_handshake(client->sock, &s->disk, HANDSHAKE_MS, &agreed, why);

	if (!client_keeps_place(client))
		say_why(c, GAVE_WAY);
	else if (is_closing(s))
		return;
	else if (!ret)
		transmission(c, &agreed);
	else if (ret < 0)
		say_why(c, why);
}

/* Tell a client why it has no place: one that asks for the export shows it to its user. */
static void refuse(struct client *client)
{
	struct nbd_disk disk = server_of(to_client(client))->disk;
	char why[NBD_WHY_MAX];
	struct nbd_agreed agreed;

	disk.refusal = "too many clients (see --max-clients)";
	nbd_handshake(client->sock, &disk, REFUSAL_MS, &agreed, why);
}

static struct client *new_client(struct clients *all, int sock)
{
	struct nbd_client *c = calloc(1, sizeof(*c));
	int one = 1;

	/* Small replies must not wait for the client's acknowledgement of earlier ones. */
	if (!all->listener.is_unix)
		setsockopt(sock, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
	return c ? &c->client : NULL;
}

static void free_client(struct client *client)
{
	free(to_client(client));
}

static const struct client_ops client_ops = {
	.thread_name = "client",
	.stack_size = STACK_SIZE,
	.new = new_client,
	.serve = serve,
	.refuse = refuse,
	.free = free_client,
};

/**
 * nbd_server_start - get ready for clients
 * @s: the server, its listener, disk, most clients and iothreads filled in
 */
void nbd_server_start(struct nbd_server *s)
{
	s->clients.ops = &client_ops;
	clients_start(&s->clients, 1, 16 * s->nr_iothreads + 64);
}

/**
 * nbd_server_accept - let waiting clients in
 * @s: the server; its listener's fd is readable, and may be so afterwards
 */
void nbd_server_accept(struct nbd_server *s)
{
	clients_accept(&s->clients);
}

static void tell_all_to_finish(struct nbd_server *s)
{
	s->closing = true;
	for (struct client *c = s->clients.first; c; c = c->next) {
		struct nbd_conn *conn = to_client(c)->conn;

		if (conn)
			nbd_conn_finish(conn);
		else
			shutdown(c->sock, SHUT_RDWR);
	}
}

/* Drop those that read nothing; false when no connection is left. */
static bool hurry_all(struct nbd_server *s)
{
	bool any = false;

	for (struct client *c = s->clients.first; c; c = c->next) {
		struct nbd_conn *conn = to_client(c)->conn;

		if (!conn)
			continue;
		any = true;
		nbd_conn_hurry(conn);
	}
	return any;
}

/**
 * nbd_server_close - stop listening, answer the requests that have come, end all clients
 * @s: the server
 *
 * Clients that are not served are given a moment to go. The target does not wait for a thread
 * that one of them keeps busy, so the lock stays usable.
 */
void nbd_server_close(struct nbd_server *s)
{
	listener_close(&s->clients.listener);
	pthread_mutex_lock(&s->clients.lock);
	tell_all_to_finish(s);
	while (s->clients.nr) {
		if (!clients_wait(&s->clients, clock_ns() + FINISH_NS) && !hurry_all(s))
			break;
	}
	pthread_mutex_unlock(&s->clients.lock);
}
