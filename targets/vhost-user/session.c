/* SPDX-License-Identifier: GPL-2.0-only */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>
#include "targets/client-lines.h"
#include "targets/close-aside.h"
#include "targets/vhost-user/session.h"

/* How long a message may take; the first one, from the connection on. */
#define MESSAGE_MS	10000

/* A front end that takes no answers for so long is dropped. */
#define SEND_TIMEOUT_S	2

static void close_fd(int *fd)
{
	if (*fd >= 0)
		close(*fd);
	*fd = -1;
}

/**
 * session_new - welcome a front end
 * @server: who accepted it
 * @sock: the connection; the session's from here on, but not on failure
 * @id: its number
 *
 * Return: the session, or NULL without memory.
 */
struct session *session_new(struct server *server, int sock, unsigned int id)
{
	struct timeval tv = { .tv_sec = SEND_TIMEOUT_S };
	struct session *s = calloc(1, sizeof(*s));

	if (s)
		s->vring = alloc_apart(server->num_queues, sizeof(*s->vring));
	if (!s || !s->vring) {
		free(s);
		return NULL;
	}
	/* Or its thread could never be told that the target ends. */
	setsockopt(sock, SOL_SOCKET, SO_SNDTIMEO, &tv, sizeof(tv));
	s->server = server;
	s->sock = sock;
	s->silent = true;
	s->id = id;
	s->dev = server->dev;
	for (unsigned int i = 0; i < server->num_queues; i++) {
		s->vring[i].kick_fd = -1;
		s->vring[i].call_fd = -1;
		s->vring[i].err_fd = -1;
	}
	return s;
}

static void stop_vring(struct session *s, struct vu_vring *v, bool at_once)
{
	if (!v->running)
		return;
	queue_stop(&v->queue, at_once);
	v->base = vq_device_base(&v->queue.ring);
	v->kicks_seen = v->queue.kicks_seen;
	vq_inflight_close(&v->inflight);
	v->running = false;
	server_stopped(s);
}

/**
 * session_free - part with a front end that has been served
 * @s: the session; nobody else knows of it any more
 */
void session_free(struct session *s)
{
	for (unsigned int i = 0; i < s->server->num_queues; i++) {
		close_fd(&s->vring[i].kick_fd);
		close_fd(&s->vring[i].call_fd);
		close_fd(&s->vring[i].err_fd);
	}
	if (s->sock >= 0)
		close_aside(s->sock);
	free(s->vring);
	free(s);
}

/**
 * session_refuse - say more of why a message is refused than its errno does
 * @s: the session; called in its own thread
 * @err: why, a negative errno that drop_text() knows; a reason given before stays
 *
 * Return: @err, for which the front end is to be dropped.
 */
int session_refuse(struct session *s, int err)
{
	int none = 0;

	atomic_compare_exchange_strong(&s->dropped_for, &none, err);
	return err;
}

/**
 * session_give_up - have the session's own thread drop the front end
 * @s: the session
 * @err: why, a negative errno that drop_text() knows; a reason given before stays
 *
 * From any thread, and from a signal handler.
 */
void session_give_up(struct session *s, int err)
{
	session_refuse(s, err);
	shutdown(s->sock, SHUT_RD);
}

/* In an iothread: the rest is left to the session's own thread. */
static void on_broken(void *owner, struct queue *q, int err)
{
	(void)q;
	session_give_up(owner, err);
}

/*
 * Tell the driver that its ring is broken, in a way that does not wait whatever it does to the
 * descriptor. Where there is none, the line on stderr has to do.
 */
static void signal_error(int err_fd)
{
	struct signaller s;

	if (err_fd < 0)
		return;
	signaller_init(&s);
	if (signaller_open(&s))
		signaller_signal(&s, err_fd);
	signaller_destroy(&s);
}

static bool should_run(const struct session *s, const struct vu_vring *v)
{
	bool needs_enable = s->features & (1ull << VU_F_PROTOCOL_FEATURES);

	return v->kick_fd >= 0 && v->have_addr && v->num && (v->enabled || !needs_enable);
}

/* It stays as the driver made it, who shares its flags and may want to sleep in read(), as fio's libblkio engine does. */
static bool blocks(int fd)
{
	return !(fcntl(fd, F_GETFL) & O_NONBLOCK);
}

/* A queue without a record runs too, but requests in flight would die with the target. */
static int open_record(struct session *s, unsigned int index)
{
	struct vu_vring *v = &s->vring[index];
	size_t bytes = vq_inflight_bytes(session_packed(s), s->inflight_size);
	unsigned int entries = s->inflight_size;

	if (index >= s->inflight_queues)
		return 0;
	/* Features may have changed since the front end gave it. */
	if (bytes > s->inflight_room)
		return -EINVAL;
	if (bytes < s->inflight_room)
		entries = vq_inflight_entries(session_packed(s), s->inflight_room);
	if (v->num > entries)
		return -EINVAL;
	v->queue.inflight = &v->inflight;
	v->queue.recover = v->recover;
	return vq_inflight_open(&v->inflight, session_packed(s), entries,
				s->inflight.host + index * s->inflight_room);
}

static struct iothread *iothread_of(const struct session *s, unsigned int index)
{
	const struct server *srv = s->server;

	if (srv->nr_map)
		return &srv->iothreads[srv->map[index % srv->nr_map]];
	return &srv->iothreads[(s->id + index) % srv->nr_iothreads];
}

static int start_vring(struct session *s, unsigned int index)
{
	struct vu_vring *v = &s->vring[index];
	struct queue *q = &v->queue;
	const struct vq_addresses at = {
		.desc = v->addr.desc, .driver = v->addr.avail, .device = v->addr.used,
	};
	int ret;

	if (!server_may_run(s))
		return -ESHUTDOWN;
	memset(q, 0, sizeof(*q));
	q->dev = &s->dev;
	q->mem = &s->mem;
	q->source.fd = v->kick_fd;
	q->kicks_seen = v->kicks_seen;
	q->call_fd = v->call_fd;
	q->guarded = v->call_fd >= 0;
	q->call_blocks = v->call_fd >= 0 && blocks(v->call_fd);
	q->on_broken = on_broken;
	q->number = s->id << 8 | index;
	q->owner = s;
	/* Features may have changed since the message that set the size. */
	ret = vq_size_valid(session_packed(s), v->num) ? 0 : -EINVAL;
	if (!ret)
		ret = vq_device_init(&q->ring, &s->mem, s->features, v->num, &at);
	if (!ret)
		ret = open_record(s, index);
	if (!ret)
		ret = queue_start(q, iothread_of(s, index), v->base);
	if (ret) {
		vq_inflight_close(&v->inflight);
		server_stopped(s);
		return ret;
	}
	v->running = true;
	v->recover = false;
	return 0;
}

/**
 * session_update_vring - start or stop a queue, as its settings now ask for
 * @s: the session
 * @index: the queue
 *
 * Messages may come in any order (SPDK enables a ring before it describes it), so each
 * one that matters ends here.
 *
 * Return: 0, or a negative errno when the queue cannot be started.
 */
int session_update_vring(struct session *s, unsigned int index)
{
	struct vu_vring *v = &s->vring[index];
	bool run = should_run(s, v);

	if (run && !v->running)
		return start_vring(s, index);
	if (!run)
		stop_vring(s, v, false);
	return 0;
}

/**
 * session_pause_vring - stop a queue to change it; session_update_vring() goes on
 * @s: the session
 * @index: the queue
 */
void session_pause_vring(struct session *s, unsigned int index)
{
	stop_vring(s, &s->vring[index], false);
}

/**
 * session_pause - stop all queues, as their memory is about to change
 * @s: the session
 */
void session_pause(struct session *s)
{
	for (unsigned int i = 0; i < s->server->num_queues; i++)
		session_pause_vring(s, i);
}

/**
 * session_resume - go on after session_pause()
 * @s: the session
 *
 * Return: 0, or a negative errno when a ring does not lie in the memory any more.
 */
int session_resume(struct session *s)
{
	for (unsigned int i = 0; i < s->server->num_queues; i++) {
		int ret = session_update_vring(s, i);

		if (ret)
			return ret;
	}
	return 0;
}

static const char *drop_text(int err)
{
	switch (err) {
	case -ERANGE:
		return "a descriptor or ring index is out of range";
	case -ELOOP:
		return "a descriptor chain loops";
	case -EFAULT:
		return "an address lies outside the shared memory";
	case -E2BIG:
		return "a request has too many segments";
	case -EPROTO:
		return "a request has no room for its status";
	case -EBADF:
		return "its call descriptor cannot be written";
	case -EDEADLK:
		return "its call descriptor was made to block, and full";
	case -EBADFD:
		return "it sends a kick, call or error descriptor that is no eventfd";
	case -EOVERFLOW:
		return "more requests are in flight than the ring holds";
	case -ESTALE:
		return "its shared memory has shrunk, or the file system under it is full";
	case -EDQUOT:
		return "it shares more memory than --max-client-memory allows";
	case -EREMOTEIO:
		return "its memory lies on a file system that others answer for (FUSE, overlay, network): share a memfd, tmpfs, hugetlbfs or a local file";
	default:
		return "a descriptor is malformed";
	}
}

/* Of a front end that could not even be heard out */
static void say_unheard(const struct session *s, int err)
{
	const char *why = err == -EUSERS ? "it has said nothing, and gives way to newer clients" :
			  err == -E2BIG ? "it sends more descriptors than any message has" :
			  err == -EMFILE ? "no room for a descriptor that it sends: Too many open files (see ulimit -n)" :
			  err != -ETIMEDOUT ? NULL : s->spoke ? "it stops in the middle of a message" :
			  "it says nothing";

	if (why)
		client_line("client %u dropped: %s", s->id, why);
	else
		client_line("client %u dropped: bad message: %s", s->id, strerror(-err));
}

/* One line of why, unless the client just left, or the target ends. */
static void say_goodbye(struct session *s, const struct vu_msg *msg, int err)
{
	int why = atomic_load(&s->dropped_for);

	if (err == -ESHUTDOWN)
		return;
	if (why)
		client_line("client %u dropped: %s", s->id, drop_text(why));
	else if (err == -ECONNRESET || (msg && err == -EPIPE))
		return; /* it hung up, perhaps before it was answered */
	else if (msg)
		client_line("client %u dropped: %s (%u): %s", s->id, vu_request_name(msg->h.request),
			    msg->h.request, strerror(-err));
	else
		say_unheard(s, err);
}

/**
 * session_hangup - whether a session is about to end
 * @s: the session
 *
 * Return: 0 if it is not; POLLHUP with others when the front end is gone, without when it will
 * be heard no more.
 */
short session_hangup(const struct session *s)
{
	struct pollfd p = { .fd = s->sock, .events = POLLRDHUP };

	return poll(&p, 1, 0) == 1 ? p.revents : 0;
}

/* Returns 0 with a message, or a negative errno. */
static int next_message(struct session *s, struct vu_msg *msg)
{
	struct pollfd p = { .fd = s->sock, .events = POLLIN };
	int ret;

	/* Between two messages it may take its time; who begins one, or has yet to begin, may not. */
	if (s->spoke) {
		while (poll(&p, 1, -1) < 0 && errno == EINTR)
			;
	}
	ret = vu_recv_from(s->sock, msg, MESSAGE_MS, close_aside);
	if (s->spoke)
		return ret;
	if (!server_heard(s)) {
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
			say_goodbye(s, NULL, ret);
			return;
		}
		ret = session_handle(s, &msg);
		vu_discard_fds(&msg, close_aside);
		if (ret) {
			say_goodbye(s, &msg, ret);
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
	/* A driver that closed its end, or broke its ring, wants nothing finished. */
	wanted = atomic_load(&s->finish) && !(session_hangup(s) & POLLHUP);
	for (unsigned int i = 0; i < s->server->num_queues; i++) {
		struct vu_vring *v = &s->vring[i];
		bool ran = v->running;

		stop_vring(s, v, !wanted);
		if (ran && v->queue.broken)
			signal_error(v->err_fd);
	}
	unmap_all(s);
}
