/* SPDX-License-Identifier: GPL-2.0-only */
#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>
#include "targets/close-aside.h"
#include "targets/vhost-user/session.h"

/* How long a message may take; the first one, from the connection on. */
#define MESSAGE_MS	10000

/* Drop a front end that reads no answers for so long. */
#define SEND_TIMEOUT_S	2

static void close_fd(int *fd)
{
	if (*fd >= 0)
		close(*fd);
	*fd = -1;
}

/* In a signal handler */
static void memory_lost(struct memory_owner *o)
{
	session_give_up(container_of(o, struct session, memory_owner), -ESTALE);
}

/**
 * session_new - make a session for a front end
 * @server: who accepted it
 * @sock: the connection
 *
 * Return: the session, or NULL without memory.
 */
struct session *session_new(struct server *server, int sock)
{
	struct timeval tv = { .tv_sec = SEND_TIMEOUT_S };
	struct session *s = calloc(1, sizeof(*s));

	if (s)
		s->vring = alloc_apart(server->num_queues, sizeof(*s->vring));
	if (!s || !s->vring) {
		free(s);
		return NULL;
	}
	/* Otherwise its thread could block in send() for ever, even when the target ends. */
	setsockopt(sock, SOL_SOCKET, SO_SNDTIMEO, &tv, sizeof(tv));
	s->server = server;
	s->memory_owner.give_up = memory_lost;
	s->dev = server->dev;
	for (unsigned int i = 0; i < server->num_queues; i++) {
		s->vring[i].kick_fd = -1;
		s->vring[i].call_fd = -1;
		s->vring[i].err_fd = -1;
	}
	return s;
}

/**
 * session_free - free the session of a front end that has been served
 * @s: the session; no other thread knows it any more
 */
void session_free(struct session *s)
{
	for (unsigned int i = 0; i < s->server->num_queues; i++) {
		close_fd(&s->vring[i].kick_fd);
		close_fd(&s->vring[i].call_fd);
		close_fd(&s->vring[i].err_fd);
	}
	free(s->vring);
	free(s);
}

/* Returns 0 with a message, or a negative errno. */
static int next_message(struct session *s, struct vu_msg *msg)
{
	struct pollfd p = { .fd = s->client.sock, .events = POLLIN };
	int ret;

	/* No limit between two messages; one that has begun, and the first one, have MESSAGE_MS. */
	if (s->spoke) {
		while (poll(&p, 1, -1) < 0 && errno == EINTR)
			;
	}
	ret = vu_recv_from(s->client.sock, msg, MESSAGE_MS, close_aside);
	if (s->spoke)
		return ret;
	if (!client_keeps_place(&s->client)) {
		if (!ret)
			vu_discard_fds(msg, close_aside);
		return -EUSERS;
	}
	s->spoke = !ret;
	return ret;
}

static void answer_messages(struct session *s)
{
	struct vu_msg msg;
	int ret;

	for (;;) {
		ret = next_message(s, &msg);
		if (ret) {
			session_say_goodbye(s, NULL, ret);
			return;
		}
		ret = session_handle(s, &msg);
		vu_discard_fds(&msg, close_aside);
		if (ret) {
			session_say_goodbye(s, &msg, ret);
			return;
		}
	}
}

static void unmap_all(struct session *s)
{
	while (s->mem.nr)
		session_unmap(s, &s->mem.region[--s->mem.nr]);
	if (s->inflight.size)
		session_unmap(s, &s->inflight);
}

/**
 * session_serve - answer a front end's messages until it goes, then stop its queues
 * @s: the session
 */
void session_serve(struct session *s)
{
	bool wanted;

	answer_messages(s);
	/* Finish requests only for a driver that is still there and whose ring is intact. */
	wanted = atomic_load(&s->finish) && !(session_hangup(s) & POLLHUP);
	session_stop(s, !wanted);
	unmap_all(s);
}
