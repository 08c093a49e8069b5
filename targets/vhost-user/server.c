/* SPDX-License-Identifier: GPL-2.0-only */
#include <errno.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <time.h>
#include "targets/vhost-user/server.h"
#include "targets/vhost-user/session.h"

/* At the end of the target: how long sessions may take that have no queue running */
#define LEAVE_S		3

/**
 * server_listen - make the socket, mode 0600
 * @s: the server, its device and threads filled in
 * @path: where
 *
 * Return: 0 or a negative errno, reported.
 */
int server_listen(struct server *s, const char *path)
{
	pthread_condattr_t attr;
	int ret;

	/* kick, call and error of each queue, the connection, and what the target has itself */
	listener_raise_fd_limit(s->max_sessions * (3 * s->num_queues + 1) + 16 * s->nr_iothreads + 64);
	ret = listener_open_unix(&s->listener, path, true);
	if (ret)
		return ret;
	pthread_mutex_init(&s->lock, NULL);
	pthread_condattr_init(&attr);
	pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
	pthread_cond_init(&s->changed, &attr);
	pthread_condattr_destroy(&attr);
	return 0;
}

static void remove_session(struct server *srv, struct session *s)
{
	struct session **p;

	pthread_mutex_lock(&srv->lock);
	for (p = &srv->sessions; *p != s; p = &(*p)->next)
		;
	*p = s->next;
	srv->nr_sessions--;
	srv->nr_leaving -= s->gave_way;
	pthread_cond_broadcast(&srv->changed);
	pthread_mutex_unlock(&srv->lock);
}

/*
 * Whether one that came before has hung up and still has queues: its own thread may not have
 * noticed yet. One without queues is not waited for, as its thread may be kept by whatever the
 * front end has sent: instead it will start none any more.
 */
static bool older_is_leaving(const struct session *s)
{
	bool found = false;

	for (struct session *o = s->next; o; o = o->next) {
		if (!session_hangup(o))
			continue;
		if (o->running)
			found = true;
		else
			o->too_late = true;
	}
	return found;
}

/**
 * server_may_run - ask for leave to start a queue
 * @s: the session; called in its own thread
 *
 * First those must have gone that hung up before. One of them may be the same front end as
 * this, back at once with the same memory and the same record of requests in flight: two
 * devices on one ring would answer requests twice. And what the next one writes must not be
 * overwritten by what the one before had in flight. QEMU's util/vhost-user-server.c lets nobody
 * in before it is idle; here others go on.
 *
 * No session waits for one that came later, so that two cannot wait for each other.
 *
 * Return: whether it may; then server_stopped() is to be called when that queue has stopped. It
 * may not when the target ends, or when the front end has hung up and another one did not wait.
 */
bool server_may_run(struct session *s)
{
	struct server *srv = s->server;
	bool may;

	pthread_mutex_lock(&srv->lock);
	while (!s->may_start && !srv->closing && older_is_leaving(s))
		pthread_cond_wait(&srv->changed, &srv->lock);
	s->may_start = true;
	may = !srv->closing && !s->too_late;
	s->running += may;
	pthread_mutex_unlock(&srv->lock);
	return may;
}

/**
 * server_stopped - a queue has stopped, or was not started in the end
 * @s: the session; called in its own thread
 */
void server_stopped(struct session *s)
{
	struct server *srv = s->server;

	pthread_mutex_lock(&srv->lock);
	s->running--;
	pthread_cond_broadcast(&srv->changed);
	pthread_mutex_unlock(&srv->lock);
}

/**
 * server_heard - a front end has said its first word, and keeps its place
 * @s: the session; called in its own thread
 *
 * Return: false when it has had to give way already.
 */
bool server_heard(struct session *s)
{
	struct server *srv = s->server;
	bool stays;

	pthread_mutex_lock(&srv->lock);
	stays = !s->gave_way;
	s->silent = false;
	pthread_mutex_unlock(&srv->lock);
	return stays;
}

static void *session_main(void *arg)
{
	struct session *s = arg;

	pthread_setname_np(pthread_self(), "session");
	session_serve(s);
	/* Off the list first: others must not touch a socket that is closed, nor wait for that. */
	remove_session(s->server, s);
	session_free(s);
	return NULL;
}

static bool is_full(const struct server *srv)
{
	return srv->nr_sessions - srv->nr_leaving == srv->max_sessions;
}

/* Something has come that its thread may not have had the time to read. */
static bool has_spoken(const struct session *s)
{
	int bytes;

	return !ioctl(s->sock, FIONREAD, &bytes) && bytes > 0;
}

static struct session *oldest_silent(const struct server *srv)
{
	struct session *oldest = NULL, *oldest_of_all = NULL;

	for (struct session *s = srv->sessions; s; s = s->next) {
		if (!s->silent)
			continue;
		oldest_of_all = s;
		if (!has_spoken(s))
			oldest = s;
	}
	return oldest ? oldest : oldest_of_all;
}

/*
 * With the lock: where all places are taken, the oldest front end that has said nothing loses its
 * own. An honest one says something at once, and is never the oldest of many.
 */
static void make_room(struct server *srv)
{
	struct session *oldest;

	if (!is_full(srv))
		return;
	oldest = oldest_silent(srv);
	/* Those that leave have threads for a moment longer. */
	if (!oldest || srv->nr_leaving == srv->max_sessions)
		return;
	oldest->silent = false;
	oldest->gave_way = true;
	srv->nr_leaving++;
	shutdown(oldest->sock, SHUT_RDWR);
}

static int start_thread(struct session *s)
{
	pthread_attr_t attr;
	pthread_t thread;
	int ret;

	pthread_attr_init(&attr);
	pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_DETACHED);
	ret = -pthread_create(&thread, &attr, session_main, s);
	pthread_attr_destroy(&attr);
	return ret;
}

static int start_session(struct server *srv, int sock)
{
	struct session *s = session_new(srv, sock, srv->next_id++);
	int ret;

	if (!s)
		return -ENOMEM;
	/* The session's thread comes for the lock before it needs its place in the list. */
	pthread_mutex_lock(&srv->lock);
	make_room(srv);
	ret = is_full(srv) ? -EUSERS : start_thread(s);
	if (!ret) {
		s->next = srv->sessions;
		srv->sessions = s;
		srv->nr_sessions++;
	}
	pthread_mutex_unlock(&srv->lock);
	if (ret) {
		s->sock = -1;
		session_free(s);
	}
	return ret;
}

/**
 * server_accept - let waiting front ends in, a thread each for their messages
 * @s: the server; its fd is readable, and may be so afterwards
 */
void server_accept(struct server *s)
{
	int sock;

	for (int i = 0; i < LISTENER_BATCH && (sock = listener_accept(&s->listener)) >= 0; i++) {
		int ret = start_session(s, sock);

		if (ret)
			listener_turn_away(&s->listener, sock, ret);
	}
}

static bool any_runs(const struct server *srv)
{
	for (const struct session *s = srv->sessions; s; s = s->next) {
		if (s->running)
			return true;
	}
	return false;
}

/* Returns whether something has changed before @until. */
static bool wait_until(struct server *srv, const struct timespec *until)
{
	return pthread_cond_timedwait(&srv->changed, &srv->lock, until) != ETIMEDOUT;
}

/**
 * server_close - stop listening, finish what is in flight, remove the socket
 * @srv: the server
 *
 * Sessions without queues are given a moment to go; what one of them is held up by, whatever the
 * front end has sent, the target does not wait for. So the lock stays usable.
 */
void server_close(struct server *srv)
{
	struct timespec until;

	listener_close(&srv->listener);

	pthread_mutex_lock(&srv->lock);
	srv->closing = true;
	for (struct session *s = srv->sessions; s; s = s->next) {
		atomic_store(&s->finish, true);
		shutdown(s->sock, SHUT_RD);
	}
	pthread_cond_broadcast(&srv->changed);
	while (any_runs(srv))
		pthread_cond_wait(&srv->changed, &srv->lock);
	clock_gettime(CLOCK_MONOTONIC, &until);
	until.tv_sec += LEAVE_S;
	while (srv->nr_sessions && wait_until(srv, &until))
		;
	pthread_mutex_unlock(&srv->lock);
}
