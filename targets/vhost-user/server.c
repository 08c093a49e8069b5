/* SPDX-License-Identifier: GPL-2.0-only */
#include <errno.h>
#include <poll.h>
#include <sys/socket.h>
#include "targets/vhost-user/server.h"
#include "targets/vhost-user/session.h"

/**
 * server_listen - make the socket, mode 0600
 * @s: the server, its device and threads filled in
 * @path: where
 *
 * Return: 0 or a negative errno, reported.
 */
int server_listen(struct server *s, const char *path)
{
	int ret;

	/* kick, call and error of each queue, the connection, and what the target has itself */
	listener_raise_fd_limit(SESSIONS_MAX * (3 * s->num_queues + 1) + 16 * s->nr_lanes + 64);
	ret = listener_open_unix(&s->listener, path);
	if (ret)
		return ret;
	pthread_mutex_init(&s->lock, NULL);
	pthread_cond_init(&s->changed, NULL);
	return 0;
}

static void remove_session(struct server *srv, struct session *s)
{
	struct session **p;

	pthread_mutex_lock(&srv->lock);
	for (p = &srv->sessions; *p != s; p = &(*p)->next)
		;
	*p = s->next;
	pthread_cond_broadcast(&srv->changed);
	pthread_mutex_unlock(&srv->lock);
}

static bool older_is_leaving(const struct session *s)
{
	for (const struct session *o = s->next; o; o = o->next) {
		/* Its own thread may not have noticed yet. */
		if (session_hangup(o))
			return true;
	}
	return false;
}

/**
 * server_wait_for_older - let front ends that have hung up before go first
 * @s: the session, about to start its first queue
 *
 * One of them may be the same as this, back at once with the same memory and the same record
 * of requests in flight: two devices on one ring would answer requests twice. And what the
 * next one writes must not be overwritten by what the one before had in flight. QEMU's
 * util/vhost-user-server.c lets nobody in before it is idle; here others go on.
 *
 * No session waits for one that came later, so that two cannot wait for each other.
 */
void server_wait_for_older(const struct session *s)
{
	struct server *srv = s->server;

	pthread_mutex_lock(&srv->lock);
	while (older_is_leaving(s))
		pthread_cond_wait(&srv->changed, &srv->lock);
	pthread_mutex_unlock(&srv->lock);
}

static void *session_main(void *arg)
{
	struct session *s = arg;
	struct server *srv = s->server;

	pthread_setname_np(pthread_self(), "session");
	session_serve(s);
	/* Off the list first: server_close() must not touch a socket that is closed. */
	remove_session(srv, s);
	session_free(s);

	pthread_mutex_lock(&srv->lock);
	srv->nr_sessions--;
	pthread_cond_broadcast(&srv->changed);
	pthread_mutex_unlock(&srv->lock);
	return NULL;
}

static int start_session(struct server *srv, int sock)
{
	struct session *s = session_new(srv, sock, srv->next_id++);
	pthread_attr_t attr;
	pthread_t thread;
	int ret;

	if (!s)
		return -ENOMEM;
	pthread_attr_init(&attr);
	pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_DETACHED);
	/* The session's thread comes for the lock before it needs its place in the list. */
	pthread_mutex_lock(&srv->lock);
	ret = srv->nr_sessions < SESSIONS_MAX ? -pthread_create(&thread, &attr, session_main, s) : -EUSERS;
	if (!ret) {
		s->next = srv->sessions;
		srv->sessions = s;
		srv->nr_sessions++;
	}
	pthread_mutex_unlock(&srv->lock);
	pthread_attr_destroy(&attr);
	if (ret)
		session_free(s);
	return ret;
}

/**
 * server_accept - let waiting front ends in, a thread each for their messages
 * @s: the server; its fd is readable
 */
void server_accept(struct server *s)
{
	int sock;

	while ((sock = listener_accept(&s->listener)) >= 0) {
		int ret = start_session(s, sock);

		if (ret)
			listener_turn_away(&s->listener, ret);
	}
}

/**
 * server_close - stop listening, finish what is in flight, remove the socket
 * @s: the server
 */
void server_close(struct server *s)
{
	listener_close(&s->listener);

	pthread_mutex_lock(&s->lock);
	for (struct session *session = s->sessions; session; session = session->next) {
		atomic_store(&session->finish, true);
		shutdown(session->sock, SHUT_RD);
	}
	while (s->nr_sessions)
		pthread_cond_wait(&s->changed, &s->lock);
	pthread_mutex_unlock(&s->lock);
	pthread_cond_destroy(&s->changed);
	pthread_mutex_destroy(&s->lock);
}
