/* SPDX-License-Identifier: GPL-2.0-only */
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>
#include "targets/vhost-user/server.h"
#include "targets/vhost-user/session.h"

/* How long to leave new clients waiting when there is no descriptor for them. */
#define STARVED_MS	100

static int report(const char *what, const char *path, int err)
{
	fprintf(stderr, "%s %s: %s\n", what, path, strerror(-err));
	return err;
}

/* A socket file that nobody listens on was left by a target that was killed. */
static bool is_stale(const struct sockaddr_un *addr)
{
	struct stat st;
	bool stale;
	int fd;

	if (lstat(addr->sun_path, &st) || !S_ISSOCK(st.st_mode))
		return false;
	fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (fd < 0)
		return false;
	stale = connect(fd, (const struct sockaddr *)addr, sizeof(*addr)) && errno == ECONNREFUSED;
	close(fd);
	return stale;
}

/* A full house brings more descriptors than the usual limit of 1024. */
static void raise_fd_limit(const struct server *s)
{
	/* kick, call and error of each queue, the connection, and what the target has itself */
	rlim_t need = SESSIONS_MAX * (3 * s->num_queues + 1) + 16 * s->nr_lanes + 64;
	struct rlimit limit;

	if (getrlimit(RLIMIT_NOFILE, &limit) || limit.rlim_cur >= need)
		return;
	limit.rlim_cur = need < limit.rlim_max ? need : limit.rlim_max;
	setrlimit(RLIMIT_NOFILE, &limit);
}

/**
 * server_listen - make the socket, mode 0600
 * @s: the server, its device and threads filled in
 * @path: where
 *
 * Return: 0 or a negative errno, reported.
 */
int server_listen(struct server *s, const char *path)
{
	struct sockaddr_un addr = { .sun_family = AF_UNIX };
	mode_t mask;
	int ret;

	if (strlen(path) >= sizeof(addr.sun_path))
		return report("socket", path, -ENAMETOOLONG);
	strcpy(addr.sun_path, path);
	if (is_stale(&addr))
		unlink(path);

	raise_fd_limit(s);
	s->path = path;
	s->fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (s->fd < 0)
		return report("socket", path, -errno);
	/* No other moment exists at which the file could have a wider mode. */
	mask = umask(0177);
	ret = bind(s->fd, (struct sockaddr *)&addr, sizeof(addr)) ? -errno : 0;
	umask(mask);
	if (!ret && listen(s->fd, SOMAXCONN))
		ret = -errno;
	if (ret) {
		close(s->fd);
		return report("cannot listen on", path, ret);
	}
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
	pthread_cond_signal(&srv->changed);
	pthread_mutex_unlock(&srv->lock);
	return NULL;
}

static int start_session(struct server *srv, int sock)
{
	struct session *s;
	pthread_attr_t attr;
	pthread_t thread;
	int ret;

	s = session_new(srv, sock, srv->next_id++);
	if (!s)
		return -ENOMEM;

	pthread_mutex_lock(&srv->lock);
	s->next = srv->sessions;
	srv->sessions = s;
	srv->nr_sessions++;
	pthread_mutex_unlock(&srv->lock);

	pthread_attr_init(&attr);
	pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_DETACHED);
	ret = -pthread_create(&thread, &attr, session_main, s);
	pthread_attr_destroy(&attr);
	if (ret) {
		remove_session(srv, s);
		pthread_mutex_lock(&srv->lock);
		srv->nr_sessions--;
		pthread_mutex_unlock(&srv->lock);
		session_free(s);
	}
	return ret;
}

/* The client that could not be accepted keeps the socket readable: do not spin on it. */
static void accept_failed(struct server *s, int err)
{
	if (err == EAGAIN || err == EINTR || err == ECONNABORTED)
		return;
	if (!s->starved)
		report("clients have to wait at", s->path, -err);
	s->starved = true;
	poll(NULL, 0, STARVED_MS);
}

/**
 * server_accept - let waiting front ends in, a thread each for their messages
 * @s: the server; its fd is readable
 */
void server_accept(struct server *s)
{
	for (;;) {
		int sock = accept4(s->fd, NULL, NULL, SOCK_CLOEXEC);
		int ret;

		if (sock < 0) {
			accept_failed(s, errno);
			return;
		}
		s->starved = false;
		pthread_mutex_lock(&s->lock);
		ret = s->nr_sessions < SESSIONS_MAX ? 0 : -EUSERS;
		pthread_mutex_unlock(&s->lock);
		if (!ret)
			ret = start_session(s, sock);
		if (ret) {
			report("a client is turned away from", s->path, ret);
			if (ret == -EUSERS)
				close(sock);
		}
	}
}

/**
 * server_close - stop listening, finish what is in flight, remove the socket
 * @s: the server
 */
void server_close(struct server *s)
{
	unlink(s->path);
	close(s->fd);

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
