/* SPDX-License-Identifier: GPL-2.0-only */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include "base/clock.h"
#include "targets/client-lines.h"
#include "targets/clients.h"
#include "targets/close-aside.h"

/* Longest reason for which a client is dropped */
#define WHY_MAX		200

/**
 * client_dropped - say in a line that a client is dropped, and why
 * @c: the client
 * @fmt: why, printf() style
 */
void client_dropped(const struct client *c, const char *fmt, ...)
{
	char why[WHY_MAX];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(why, sizeof(why), fmt, ap);
	va_end(ap);
	client_line("client %u dropped: %s", c->id, why);
}

/**
 * client_keeps_place - a client has done what earns it its place: it need not give way any more
 * @c: the client; called in its own thread
 *
 * Return: false when it has had to give way already.
 */
bool client_keeps_place(struct client *c)
{
	bool keeps;

	pthread_mutex_lock(&c->all->lock);
	keeps = !c->gave_way;
	c->unproven = false;
	pthread_mutex_unlock(&c->all->lock);
	return keeps;
}

static bool is_full(const struct clients *all)
{
	return all->nr - all->nr_leaving == all->max;
}

/* Something has come that its thread may not have had the time to read. */
static bool has_unread(const struct client *c)
{
	int bytes;

	return !ioctl(c->sock, FIONREAD, &bytes) && bytes > 0;
}

static struct client *oldest_unproven(const struct clients *all)
{
	struct client *oldest = NULL, *oldest_silent = NULL;

	for (struct client *c = all->first; c; c = c->next) {
		if (!c->unproven)
			continue;
		oldest = c;
		if (!has_unread(c))
			oldest_silent = c;
	}
	return oldest_silent ? oldest_silent : oldest;
}

/* With the lock: @c is one of those that leave. Their threads live for a moment longer. */
static void leaves(struct clients *all, struct client *c)
{
	c->unproven = false;
	c->gave_way = true;
	all->nr_leaving++;
}

/*
 * With the lock: take the place of the oldest client that has yet to earn its own if all are
 * taken. An honest client earns its place in a moment, so it is never the oldest of many.
 */
static void make_room(struct clients *all)
{
	struct client *oldest;

	if (!is_full(all) || all->nr_leaving >= all->max)
		return;
	oldest = oldest_unproven(all);
	if (!oldest)
		return;
	leaves(all, oldest);
	shutdown(oldest->sock, SHUT_RDWR);
}

/* Put a client on the list; false when there is no place for it, not even to be told so. */
static bool add(struct clients *all, struct client *c)
{
	bool fits;

	pthread_mutex_lock(&all->lock);
	make_room(all);
	fits = !is_full(all);
	if (!fits && all->ops->refuse && all->nr_leaving < CLIENTS_REFUSED_MAX) {
		c->refused = true;
		leaves(all, c);
		fits = true;
	}
	if (fits) {
		c->next = all->first;
		all->first = c;
		all->nr++;
	}
	pthread_mutex_unlock(&all->lock);
	return fits;
}

static void take_off(struct client *c)
{
	struct clients *all = c->all;
	struct client **p;

	pthread_mutex_lock(&all->lock);
	for (p = &all->first; *p != c; p = &(*p)->next)
		;
	*p = c->next;
	all->nr--;
	all->nr_leaving -= c->gave_way;
	pthread_cond_broadcast(&all->changed);
	pthread_mutex_unlock(&all->lock);
}

static void *client_main(void *arg)
{
	struct client *c = arg;
	const struct client_ops *ops = c->all->ops;
	int sock = c->sock;

	pthread_setname_np(pthread_self(), ops->thread_name);
	if (c->refused)
		ops->refuse(c);
	else
		ops->serve(c);
	/* Off the list first: others must not touch a socket that is closed, nor wait for that. */
	take_off(c);
	ops->free(c);
	close_aside(sock);
	return NULL;
}

static int start_thread(struct client *c)
{
	size_t stack_size = c->all->ops->stack_size;
	pthread_attr_t attr;
	pthread_t thread;
	int ret;

	pthread_attr_init(&attr);
	pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_DETACHED);
	if (stack_size)
		pthread_attr_setstacksize(&attr, stack_size);
	ret = -pthread_create(&thread, &attr, client_main, c);
	pthread_attr_destroy(&attr);
	return ret;
}

static int let_in(struct clients *all, int sock)
{
	struct client *c = all->ops->new(all, sock);
	int ret = -EUSERS;

	if (!c)
		return -ENOMEM;
	c->all = all;
	c->sock = sock;
	c->id = all->next_id++;
	c->unproven = true;
	if (add(all, c)) {
		if (c->refused)
			listener_say_full(&all->listener);
		ret = start_thread(c);
		if (ret)
			take_off(c);
	}
	if (ret)
		all->ops->free(c);
	return ret;
}

/**
 * clients_accept - let waiting clients in
 * @all: the clients; the listener's fd is readable, and may be so afterwards
 */
void clients_accept(struct clients *all)
{
	int sock;

	for (int i = 0; i < LISTENER_BATCH && (sock = listener_accept(&all->listener)) >= 0; i++) {
		int ret = let_in(all, sock);

		if (ret)
			listener_turn_away(&all->listener, sock, ret);
	}
}

/**
 * clients_start - get ready for clients
 * @all: the clients, with @all->ops and @all->max; its listener may be opened later
 * @fds_each: descriptors that a client takes
 * @fds_besides: descriptors that the target takes itself
 */
void clients_start(struct clients *all, unsigned int fds_each, unsigned int fds_besides)
{
	unsigned int refused = all->ops->refuse ? CLIENTS_REFUSED_MAX : 0;
	pthread_condattr_t attr;

	listener_raise_fd_limit((unsigned long)all->max * fds_each + refused + fds_besides);
	pthread_mutex_init(&all->lock, NULL);
	pthread_condattr_init(&attr);
	pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
	pthread_cond_init(&all->changed, &attr);
	pthread_condattr_destroy(&attr);
}

/**
 * clients_wait - wait until a client has gone, or @all->changed has been signalled
 * @all: the clients, locked
 * @until_ns: when to wait no longer, by clock_ns()
 *
 * Return: false when it was time.
 */
bool clients_wait(struct clients *all, uint64_t until_ns)
{
	const struct timespec until = ns_timespec(until_ns);

	return pthread_cond_timedwait(&all->changed, &all->lock, &until) != ETIMEDOUT;
}
