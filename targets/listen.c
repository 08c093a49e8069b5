/* SPDX-License-Identifier: GPL-2.0-only */
#include <errno.h>
#include <netdb.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>
#include "targets/client-lines.h"
#include "targets/close-aside.h"
#include "targets/listen.h"
#include "targets/options.h"

/* Linux 6.16; the C library may be older. Alpha, MIPS, PA-RISC and SPARC have other numbers, no targets. */
#ifndef SO_PASSRIGHTS
#define SO_PASSRIGHTS	83
#endif

/* How long to leave new clients waiting when there is no descriptor for them. */
#define STARVED_MS	100

/* Where a listener that cannot start was asked for */
static int refuse(const struct listener *l, int err)
{
	const char *option = l->is_unix ? "socket" : err == -EADDRNOTAVAIL ? "bind" : "port";

	options_error(NULL, option, "cannot listen on %s: %s", l->name, strerror(-err));
	return err;
}

/* A socket file that nobody listens on was left by a target that was killed. */
static int make_room(const struct sockaddr_un *addr)
{
	struct stat st;
	int fd, err;

	if (lstat(addr->sun_path, &st))
		return 0;
	if (!S_ISSOCK(st.st_mode))
		return options_error(NULL, "socket", "%s exists and is no socket", addr->sun_path);
	fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (fd < 0)
		return 0;
	err = connect(fd, (const struct sockaddr *)addr, sizeof(*addr)) ? errno : 0;
	close(fd);
	if (!err)
		return options_error(NULL, "socket", "%s: somebody listens there already",
				     addr->sun_path);
	/* What else there is to say about others, bind() says. */
	if (err == ECONNREFUSED)
		unlink(addr->sun_path);
	return 0;
}

static int bind_and_listen(struct listener *l, const struct sockaddr *addr, socklen_t len)
{
	struct stat st;
	mode_t mask;
	int ret;

	/* No other moment exists at which a socket's file could have a wider mode. */
	mask = umask(0177);
	ret = bind(l->fd, addr, len) ? -errno : 0;
	umask(mask);
	if (!ret && l->is_unix && !lstat(l->name, &st)) {
		l->dev = st.st_dev;
		l->ino = st.st_ino;
	}
	if (!ret && listen(l->fd, SOMAXCONN))
		ret = -errno;
	if (ret) {
		close(l->fd);
		return refuse(l, ret);
	}
	return 0;
}

/*
 * Have the kernel refuse descriptors that clients send (SCM_RIGHTS): those that are not received
 * are closed by the thread that takes the bytes they came with, and that takes as long as
 * whoever made them wishes. Connections inherit it from the listener. Older kernels cannot.
 */
static bool refuse_rights(int fd)
{
	int off = 0;

	return !setsockopt(fd, SOL_SOCKET, SO_PASSRIGHTS, &off, sizeof(off));
}

/**
 * listener_open_unix - listen on a unix socket, mode 0600
 * @l: filled in
 * @path: where; a file there that nobody listens on is replaced
 * @takes_rights: the protocol has clients send descriptors
 *
 * Return: 0 or a negative errno, reported.
 */
int listener_open_unix(struct listener *l, const char *path, bool takes_rights)
{
	struct sockaddr_un addr = { .sun_family = AF_UNIX };
	int ret;

	*l = (struct listener) { .is_unix = true };
	snprintf(l->name, sizeof(l->name), "%s", path);
	if (strlen(path) >= sizeof(addr.sun_path))
		return refuse(l, -ENAMETOOLONG);
	strcpy(addr.sun_path, path);
	ret = make_room(&addr);
	if (ret)
		return ret;
	l->fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (l->fd < 0)
		return refuse(l, -errno);
	l->no_rights = !takes_rights && refuse_rights(l->fd);
	return bind_and_listen(l, (struct sockaddr *)&addr, sizeof(addr));
}

/**
 * listener_open_tcp - listen on a TCP port
 * @l: filled in
 * @address: a host's name or address
 * @port: the port
 *
 * Return: 0 or a negative errno, reported.
 */
int listener_open_tcp(struct listener *l, const char *address, uint16_t port)
{
	struct addrinfo hints = { .ai_socktype = SOCK_STREAM, .ai_flags = AI_PASSIVE }, *found;
	int one = 1, ret;
	char service[8];

	*l = (struct listener) { .is_unix = false };
	snprintf(l->name, sizeof(l->name), "%s port %u", address, port);
	snprintf(service, sizeof(service), "%u", port);
	ret = getaddrinfo(address, service, &hints, &found);
	if (ret) {
		options_error(NULL, "bind", "cannot listen on %s: %s", l->name, gai_strerror(ret));
		return -EADDRNOTAVAIL;
	}
	l->fd = socket(found->ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (l->fd < 0) {
		ret = refuse(l, -errno);
	} else {
		/* Connections of a target that has ended keep the port for a minute. */
		setsockopt(l->fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one));
		ret = bind_and_listen(l, found->ai_addr, found->ai_addrlen);
	}
	freeaddrinfo(found);
	return ret;
}

/**
 * listener_accept - let a waiting client in
 * @l: the listener
 *
 * Where there is no descriptor for it, that is reported once, and the caller is kept for
 * a moment: the client leaves the socket readable, and must not make anybody spin.
 *
 * Return: the connection, or -1 when there is none now.
 */
int listener_accept(struct listener *l)
{
	int sock = accept4(l->fd, NULL, NULL, SOCK_CLOEXEC);

	if (sock >= 0) {
		l->starved = false;
		return sock;
	}
	if (errno == EAGAIN || errno == EINTR || errno == ECONNABORTED)
		return -1;
	if (!l->starved)
		client_line("clients have to wait at %s: %s", l->name, strerror(errno));
	l->starved = true;
	poll(NULL, 0, STARVED_MS);
	return -1;
}

/**
 * listener_say_full - say that a client finds no place
 * @l: the listener
 */
void listener_say_full(const struct listener *l)
{
	client_line("a client is turned away from %s: all places are taken (see --max-clients)", l->name);
}

/**
 * listener_turn_away - part with a client that is not served, and say so
 * @l: the listener
 * @sock: the connection, closed here
 * @err: why, a negative errno
 */
void listener_turn_away(struct listener *l, int sock, int err)
{
	close_aside(sock);
	if (err == -EUSERS)
		listener_say_full(l);
	else
		client_line("a client is turned away from %s: %s", l->name, strerror(-err));
}

/* Its number is not given to another file as long as the socket is open. */
static bool is_still_ours(const struct listener *l)
{
	struct stat st;

	return !lstat(l->name, &st) && st.st_dev == l->dev && st.st_ino == l->ino;
}

/**
 * listener_close - stop listening, and remove the socket's file unless another took its place
 * @l: the listener
 */
void listener_close(struct listener *l)
{
	if (l->is_unix && is_still_ours(l))
		unlink(l->name);
	/* Clients that wait there may have sent descriptors. */
	shutdown(l->fd, SHUT_RDWR);
	close_aside(l->fd);
}

/**
 * listener_raise_fd_limit - a full house brings more descriptors than the usual limit of 1024
 * @need: how many; as many as are allowed will do
 */
void listener_raise_fd_limit(unsigned long need)
{
	struct rlimit limit;

	if (getrlimit(RLIMIT_NOFILE, &limit) || limit.rlim_cur >= need)
		return;
	limit.rlim_cur = need < limit.rlim_max ? need : limit.rlim_max;
	setrlimit(RLIMIT_NOFILE, &limit);
}
