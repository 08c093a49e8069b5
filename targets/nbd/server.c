/* SPDX-License-Identifier: GPL-2.0-only */
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>
#include "targets/client-lines.h"
#include "targets/close-aside.h"
#include "targets/nbd/handshake.h"
#include "targets/nbd/server.h"
#include "targets/nbd/transmission.h"

/* How long a handshake may take. */
#define HANDSHAKE_MS	10000

/* And how long a client may take to hear that there is no place for it. */
#define REFUSAL_MS	1000

/* At the end of the target, who takes no replies for so long is dropped. */
#define FINISH_S	2

/* A handshake's data lies on the stack. */
#define STACK_SIZE	(256u << 10)

/**
 * struct nbd_client - a client, with a thread of its own that shakes hands and cleans up
 * @server: who accepted it
 * @next: in the server's list
 * @sock: the connection
 * @id: its number
 * @conn: its transmission, NULL before and after; covered by the server's lock
 * @finish: the target ends; covered by the server's lock, as the next two
 * @shakes_hands: it may still have to give way
 * @gave_way: it had to
 * @refused: it came when all places were taken, and is only told so
 */
struct nbd_client {
	struct nbd_server *server;
	struct nbd_client *next;
	int sock;
	unsigned int id;
	struct nbd_conn *conn;
	bool finish;
	bool shakes_hands;
	bool gave_way;
	bool refused;
};

#define GAVE_WAY	"its handshake is the oldest, and gives way to newer clients"

static void say_why(const struct nbd_client *client, const char *why)
{
	if (*why)
		client_line("client %u dropped: %s", client->id, why);
}

/* Show the connection to who ends the target, or take it away again; false if that is now. */
static bool publish(struct nbd_client *client, struct nbd_conn *conn)
{
	struct nbd_server *s = client->server;
	bool finish;

	pthread_mutex_lock(&s->lock);
	client->conn = conn;
	finish = client->finish;
	pthread_mutex_unlock(&s->lock);
	return !finish;
}

static struct iothread *choose_iothread(struct nbd_server *s)
{
	unsigned int n;

	pthread_mutex_lock(&s->lock);
	n = s->next_iothread++ % s->nr_iothreads;
	pthread_mutex_unlock(&s->lock);
	return &s->iothreads[n];
}

static void transmission(struct nbd_client *client, const struct nbd_agreed *agreed)
{
	struct nbd_server *s = client->server;
	struct nbd_conn *conn = nbd_conn_new(client->sock, &s->disk, agreed);
	int ret = -ENOMEM;

	if (conn) {
		conn->number = client->id;
		conn->rights = s->listener.is_unix && !s->listener.no_rights;
		ret = nbd_transmission_start(conn, choose_iothread(s));
	}

	if (ret) {
		say_why(client, strerror(-ret));
	} else {
		if (!publish(client, conn))
			nbd_conn_finish(conn);
		nbd_conn_wait(conn);
		publish(client, NULL);
		say_why(client, conn->why);
	}
	if (conn)
		nbd_conn_free(conn);
}

/* Returns whether the client is to be served: it has not had to give way, nor does the target end. */
static bool end_handshake(struct nbd_client *client)
{
	struct nbd_server *s = client->server;
	bool stays;

	pthread_mutex_lock(&s->lock);
	stays = !client->gave_way && !client->finish;
	client->shakes_hands = false;
	pthread_mutex_unlock(&s->lock);
	return stays;
}

/* No place, but a word why: a client that asks for the export shows it to its user. */
static void turn_away(struct nbd_client *client)
{
	struct nbd_disk disk = client->server->disk;
	char why[NBD_WHY_MAX];
	struct nbd_agreed agreed;

	disk.refusal = "the server has as many clients as it may (--max-clients)";
	nbd_handshake(client->sock, &disk, REFUSAL_MS, &agreed, why);
}

static void serve(struct nbd_client *client)
{
	struct nbd_server *s = client->server;
	char why[NBD_WHY_MAX] = "";
	struct nbd_agreed agreed;
	int ret = nbd_handshake(client->sock, &s->disk, HANDSHAKE_MS, &agreed, why);

	if (!end_handshake(client))
		say_why(client, client->gave_way ? GAVE_WAY : "");
	else if (!ret)
		transmission(client, &agreed);
	else if (ret < 0)
		say_why(client, why);
}

static void remove_client(struct nbd_client *client)
{
	struct nbd_server *s = client->server;
	struct nbd_client **p;

	pthread_mutex_lock(&s->lock);
	for (p = &s->clients; *p != client; p = &(*p)->next)
		;
	*p = client->next;
	s->nr_clients--;
	s->nr_leaving -= client->gave_way;
	pthread_cond_signal(&s->changed);
	pthread_mutex_unlock(&s->lock);
}

static void *client_main(void *arg)
{
	struct nbd_client *client = arg;

	pthread_setname_np(pthread_self(), "client");
	if (client->refused)
		turn_away(client);
	else
		serve(client);
	/* Off the list first: nbd_server_close() must not touch a socket that is closed. */
	remove_client(client);
	close_aside(client->sock);
	free(client);
	return NULL;
}

static int start_client_thread(struct nbd_client *client)
{
	pthread_attr_t attr;
	pthread_t thread;
	int ret;

	pthread_attr_init(&attr);
	pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_DETACHED);
	pthread_attr_setstacksize(&attr, STACK_SIZE);
	ret = -pthread_create(&thread, &attr, client_main, client);
	pthread_attr_destroy(&attr);
	return ret;
}

static bool is_full(const struct nbd_server *s)
{
	return s->nr_clients - s->nr_leaving == s->max_clients;
}

/*
 * With the lock: where all places are taken, the oldest client that still shakes hands loses its
 * own. For an honest one that takes a moment, and it is never the oldest of many.
 */
static void make_room(struct nbd_server *s)
{
	struct nbd_client *oldest = NULL;

	if (!is_full(s))
		return;
	for (struct nbd_client *c = s->clients; c; c = c->next) {
		if (c->shakes_hands)
			oldest = c;
	}
	/* Those that leave have threads for a moment longer. */
	if (!oldest || s->nr_leaving >= s->max_clients)
		return;
	oldest->shakes_hands = false;
	oldest->gave_way = true;
	s->nr_leaving++;
	shutdown(oldest->sock, SHUT_RDWR);
}

/* Returns false when there is no place for it, not even to be told so. */
static bool add_client(struct nbd_server *s, struct nbd_client *client)
{
	bool full;

	pthread_mutex_lock(&s->lock);
	make_room(s);
	full = is_full(s);
	if (full && s->nr_leaving < NBD_REFUSED_MAX) {
		client->refused = true;
		client->gave_way = true;
		client->shakes_hands = false;
		s->nr_leaving++;
		full = false;
	}
	if (!full) {
		client->next = s->clients;
		s->clients = client;
		s->nr_clients++;
	}
	pthread_mutex_unlock(&s->lock);
	return !full;
}

static int start_client(struct nbd_server *s, int sock)
{
	struct nbd_client *client = calloc(1, sizeof(*client));
	int ret = -EUSERS;

	if (!client)
		return -ENOMEM;
	client->server = s;
	client->sock = sock;
	client->id = s->next_id++;
	client->shakes_hands = true;
	if (add_client(s, client)) {
		if (client->refused)
			listener_say_full(&s->listener);
		ret = start_client_thread(client);
		if (ret)
			remove_client(client);
	}
	if (ret)
		free(client);
	return ret;
}

/**
 * nbd_server_start - get ready for clients
 * @s: the server, its listener, disk and iothreads filled in
 */
void nbd_server_start(struct nbd_server *s)
{
	pthread_condattr_t attr;

	/* the connections, and what the target has itself */
	listener_raise_fd_limit(s->max_clients + NBD_REFUSED_MAX + 16 * s->nr_iothreads + 64);
	pthread_mutex_init(&s->lock, NULL);
	pthread_condattr_init(&attr);
	pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
	pthread_cond_init(&s->changed, &attr);
	pthread_condattr_destroy(&attr);
}

/**
 * nbd_server_accept - let waiting clients in
 * @s: the server; its listener's fd is readable, and may be so afterwards
 */
void nbd_server_accept(struct nbd_server *s)
{
	int sock, one = 1;

	for (int i = 0; i < LISTENER_BATCH && (sock = listener_accept(&s->listener)) >= 0; i++) {
		int ret;

		/* Small replies must not wait for the client's acknowledgement of earlier ones. */
		if (!s->listener.is_unix)
			setsockopt(sock, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
		ret = start_client(s, sock);
		if (ret)
			listener_turn_away(&s->listener, sock, ret);
	}
}

static void tell_all_to_finish(struct nbd_server *s)
{
	for (struct nbd_client *c = s->clients; c; c = c->next) {
		c->finish = true;
		if (c->conn)
			nbd_conn_finish(c->conn);
		else
			shutdown(c->sock, SHUT_RDWR);
	}
}

/* Returns whether a client has gone meanwhile. */
static bool wait_for_change(struct nbd_server *s)
{
	struct timespec until;

	clock_gettime(CLOCK_MONOTONIC, &until);
	until.tv_sec += FINISH_S;
	return !pthread_cond_timedwait(&s->changed, &s->lock, &until);
}

static bool any_connection(const struct nbd_server *s)
{
	for (const struct nbd_client *c = s->clients; c; c = c->next) {
		if (c->conn)
			return true;
	}
	return false;
}

/**
 * nbd_server_close - stop listening, answer the requests that have come, end all clients
 * @s: the server
 *
 * Those that are not served are given a moment to go. What the thread of one of them is held up
 * by the target does not wait for, so the lock stays usable.
 */
void nbd_server_close(struct nbd_server *s)
{
	listener_close(&s->listener);
	pthread_mutex_lock(&s->lock);
	tell_all_to_finish(s);
	while (s->nr_clients) {
		if (wait_for_change(s))
			continue;
		if (!any_connection(s))
			break;
		for (struct nbd_client *c = s->clients; c; c = c->next) {
			if (c->conn)
				nbd_conn_hurry(c->conn);
		}
	}
	pthread_mutex_unlock(&s->lock);
}
