/* SPDX-License-Identifier: GPL-2.0-only */
#include <sys/socket.h>
#include "base/clock.h"
#include "targets/vhost-user/session.h"

/* How long the end of the target waits for sessions without running queues */
#define LEAVE_NS	UINT64_C(3000000000)

static struct client *new_session(struct clients *all, int sock)
{
	struct session *s = session_new(container_of(all, struct server, clients), sock);

	return s ? &s->client : NULL;
}

static void serve_session(struct client *c)
{
	session_serve(to_session(c));
}

static void free_session(struct client *c)
{
	session_free(to_session(c));
}

static const struct client_ops session_ops = {
	.thread_name = "session",
	.new = new_session,
	.serve = serve_session,
	.free = free_session,
};

/**
 * server_listen - make the socket, mode 0600
 * @s: the server, its device and threads filled in
 * @path: where
 *
 * Return: 0 or a negative errno, reported.
 */
int server_listen(struct server *s, const char *path)
{
	s->clients.ops = &session_ops;
	/* kick, call and error of each queue, and the connection */
	clients_start(&s->clients, 3 * s->num_queues + 1, 16 * s->nr_iothreads + 64);
	return listener_open_unix(&s->clients.listener, path, true);
}

/**
 * server_accept - let waiting front ends in, a thread each for their messages
 * @s: the server; its fd is readable, and may be so afterwards
 */
void server_accept(struct server *s)
{
	clients_accept(&s->clients);
}

static bool any_runs(const struct server *srv)
{
	for (struct client *c = srv->clients.first; c; c = c->next) {
		if (to_session(c)->running)
			return true;
	}
	return false;
}

/**
 * server_close - stop listening, finish what is in flight, remove the socket
 * @srv: the server
 *
 * Sessions without queues get a moment to go. One whose thread is blocked, for instance by a
 * descriptor that its front end sent, is left behind, so the lock stays usable.
 */
void server_close(struct server *srv)
{
	struct clients *all = &srv->clients;
	uint64_t until;

	listener_close(&all->listener);

	pthread_mutex_lock(&all->lock);
	srv->closing = true;
	for (struct client *c = all->first; c; c = c->next) {
		atomic_store(&to_session(c)->finish, true);
		shutdown(c->sock, SHUT_RD);
	}
	pthread_cond_broadcast(&all->changed);
	while (any_runs(srv))
		pthread_cond_wait(&all->changed, &all->lock);
	until = clock_ns() + LEAVE_NS;
	while (all->nr && clients_wait(all, until))
		;
	pthread_mutex_unlock(&all->lock);
}
