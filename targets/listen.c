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

/* How long new clients wait when there is no descriptor for them */
#define STARVED_MS	100

/* Report that a listener cannot start, with the option that asked for it. */
static int refuse(const struct listener *l, int err)
{
	const char *option = l->is_unix ? "socket" : err == -EADDRNOTAVAIL ? "bind" : "port";

	options_error(NULL, option, "cannot listen on %s: %s", l->name, strerror(-err));
	return err;
}

/* Remove a socket file that nobody listens on: a target that was killed left it. */
static int make_room(const struct sockaddr_un *addr)
{
	struct stat st;
	int fd, err;

	if (lstat(addr->sun_path, &st))
		return 0;
	if (!S_ISSOCK(st.st_mode))
		return options_error(NULL, "socket", "%s exists and is not a socket", addr->sun_path);
	fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (fd < 0)
		return 0;
	err = connect(fd, (const struct sockaddr *)addr, sizeof(*addr)) ? errno : 0;
	close(fd);
	if (!err)
		return options_error(NULL, "socket", "%s: another process is listening on it",
				     addr->sun_path);
	/* bind() reports all other errors. */
	if (err == ECONNREFUSED)
		unlink(addr->sun_path);
	return 0;
}

static int bind_and_listen(struct listener *l, const struct sockaddr *addr, socklen_t len)
{
	struct stat st;
	mode_t mask;
	int ret;

	/* Never let the file have a wider mode, not even for a moment: no chmod() afterwards. */
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
 * Have the kernel refuse descriptors that clients send (SCM_RIGHTS): otherwise the thread that
 * receives the bytes they came with closes them, and whoever made them decides how long that
 * takes. Connections inherit it from the listener. Older kernels cannot.
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
		/* Connections of an earlier target keep the port for a minute. */
		setsockopt(l->fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one));
		ret = bind_and_listen(l, found->ai_addr, found->ai_addrlen);
	}
	freeaddrinfo(found);
	return ret;
}

/**
 * listener_accept - accept a waiting client
 * @l: the listener
 *
 * Sleeps for a moment when there is no descriptor for it, and reports that once: the client
 * leaves the socket readable, and the caller must not spin.
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
		client_line("cannot accept a client on %s: %s", l->name, strerror(errno));
	l->starved = true;
	poll(NULL, 0, STARVED_MS);
	return -1;
}

/**
 * listener_say_full - report that a client is refused because all places are taken
 * @l: the listener
 */
void listener_say_full(const struct listener *l)
{
	client_line("client refused on %s: too many clients (see --max-clients)", l->name);
}

/**
 * listener_turn_away - close the connection of a client that is not served, and report it
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
		client_line("client refused on %s: %s", l->name, strerror(-err));
}

/* The inode number is not reused while the socket is open. */
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
	/* Clients that wait in the backlog may have sent descriptors. */
	shutdown(l->fd, SHUT_RDWR);
	close_aside(l->fd);
}

/**
 * listener_raise_fd_limit - allow for the descriptors of as many clients as may come
 * @need: how many, of which as many are set as the hard limit allows
 */
void listener_raise_fd_limit(unsigned long need)
{
	struct rlimit limit;

	if (getrlimit(RLIMIT_NOFILE, &limit) || limit.rlim_cur >= need)
		return;
	limit.rlim_cur = need < limit.rlim_max ? need : limit.rlim_max;
	setrlimit(RLIMIT_NOFILE, &limit);
}
