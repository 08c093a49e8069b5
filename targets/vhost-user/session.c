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
#include "targets/vhost-user/session.h"

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
 * @sock: the connection; the session's from here on, closed on failure too
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
		close(sock);
		return NULL;
	}
	/* Or its thread could never be told that the target ends. */
	setsockopt(sock, SOL_SOCKET, SO_SNDTIMEO, &tv, sizeof(tv));
	s->server = server;
	s->sock = sock;
	s->id = id;
	s->dev = server->dev;
	for (unsigned int i = 0; i < server->num_queues; i++) {
		s->vring[i].kick_fd = -1;
		s->vring[i].call_fd = -1;
		s->vring[i].err_fd = -1;
	}
	return s;
}

static void stop_vring(struct vu_vring *v, bool at_once)
{
	if (!v->running)
		return;
	queue_stop(&v->queue, at_once);
	v->base = vq_device_base(&v->queue.ring);
	v->kicks_seen = v->queue.kicks_seen;
	vq_inflight_close(&v->inflight);
	v->running = false;
}

/**
 * session_free - part with a front end whose queues have been stopped
 * @s: the session
 */
void session_free(struct session *s)
{
	for (unsigned int i = 0; i < s->server->num_queues; i++) {
		close_fd(&s->vring[i].kick_fd);
		close_fd(&s->vring[i].call_fd);
		close_fd(&s->vring[i].err_fd);
	}
	for (unsigned int i = 0; i < s->mem.nr; i++)
		session_unmap(s, &s->mem.region[i]);
	if (s->inflight.size)
		session_unmap(s, &s->inflight);
	close(s->sock);
	free(s->vring);
	free(s);
}

/* Tell the driver that its ring is broken, unless that would block the iothread. */
static void signal_error(int err_fd)
{
	struct pollfd p = { .fd = err_fd, .events = POLLOUT };
	uint64_t one = 1;

	if (poll(&p, 1, 0) == 1 && p.revents & POLLOUT)
		(void)!write(err_fd, &one, sizeof(one));
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
	struct session *s = owner;
	struct vu_vring *v = (struct vu_vring *)((char *)q - offsetof(struct vu_vring, queue));

	session_give_up(s, err);
	signal_error(v->err_fd);
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

static int start_vring(struct session *s, unsigned int index)
{
	struct vu_vring *v = &s->vring[index];
	struct server *srv = s->server;
	struct queue *q = &v->queue;
	const struct vq_addresses at = {
		.desc = v->addr.desc, .driver = v->addr.avail, .device = v->addr.used,
	};
	int ret;

	if (!s->may_start)
		server_wait_for_older(s);
	s->may_start = true;
	memset(q, 0, sizeof(*q));
	q->dev = &s->dev;
	q->mem = &s->mem;
	q->source.fd = v->kick_fd;
	q->kicks_seen = v->kicks_seen;
	q->call_fd = v->call_fd;
	q->call_blocks = v->call_fd >= 0 && blocks(v->call_fd);
	q->on_broken = on_broken;
	q->number = s->id << 8 | index;
	q->owner = s;
	/* Features may have changed since the message that set the size. */
	if (!vq_size_valid(session_packed(s), v->num))
		return -EINVAL;
	ret = vq_device_init(&q->ring, &s->mem, s->features, v->num, &at);
	if (!ret)
		ret = open_record(s, index);
	if (!ret)
		ret = queue_start(q, &srv->lanes[(s->id + index) % srv->nr_lanes], v->base);
	if (ret) {
		vq_inflight_close(&v->inflight);
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
		stop_vring(v, false);
	return 0;
}

/**
 * session_pause_vring - stop a queue to change it; session_update_vring() goes on
 * @s: the session
 * @index: the queue
 */
void session_pause_vring(struct session *s, unsigned int index)
{
	stop_vring(&s->vring[index], false);
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

/* One line of why, unless the client just left. */
static void say_goodbye(struct session *s, const struct vu_msg *msg, int err)
{
	int why = atomic_load(&s->dropped_for);

	if (why)
		client_line("client %u dropped: %s", s->id, drop_text(why));
	else if (msg)
		client_line("client %u dropped: %s (%u): %s", s->id, vu_request_name(msg->h.request),
			    msg->h.request, strerror(-err));
	else if (err == -EMFILE)
		client_line("client %u dropped: no room for a descriptor that it sends: %s (see ulimit -n)",
			    s->id, strerror(-err));
	else if (err != -ECONNRESET)
		client_line("client %u dropped: bad message: %s", s->id, strerror(-err));
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

/**
 * session_serve - answer a front end's messages until it goes, then stop its queues
 * @s: the session
 */
void session_serve(struct session *s)
{
	struct vu_msg msg;
	bool wanted;
	int ret;

	for (;;) {
		ret = vu_recv(s->sock, &msg, -1);
		if (ret) {
			say_goodbye(s, NULL, ret);
			break;
		}
		ret = session_handle(s, &msg);
		vu_close_fds(&msg);
		if (ret) {
			say_goodbye(s, &msg, ret);
			break;
		}
	}
	/* A driver that closed its end, or broke its ring, wants nothing finished. */
	wanted = atomic_load(&s->finish) && !(session_hangup(s) & POLLHUP);
	for (unsigned int i = 0; i < s->server->num_queues; i++)
		stop_vring(&s->vring[i], !wanted);
}
