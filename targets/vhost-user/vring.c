/* SPDX-License-Identifier: GPL-2.0-only */
/* A session's virtqueues: started, stopped and given to iothreads */

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include "targets/vhost-user/session.h"

/*
 * Whether an earlier session has hung up and still has queues: its own thread may not have
 * noticed yet. Do not wait for one without queues, as its thread may be blocked by a descriptor
 * that the front end sent: keep it from starting any instead.
 */
static bool older_is_leaving(const struct session *s)
{
	bool found = false;

	for (struct client *c = s->client.next; c; c = c->next) {
		struct session *o = to_session(c);

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
 * session_may_run - wait until a queue may be started
 * @s: the session; called in its own thread
 *
 * Wait until earlier sessions that hung up have stopped their queues. One of them may be of the
 * same front end, which is back at once with the same memory and the same in-flight region: two
 * devices on one ring would complete requests twice, and requests in flight in the earlier one
 * could overwrite what the later one writes. QEMU's util/vhost-user-server.c lets no other client
 * in before it is idle; here others go on.
 *
 * No session waits for one that came later, so that two cannot wait for each other.
 *
 * Return: whether it may; then call session_stopped() when that queue has stopped. It may not
 * when the target ends, or when the front end has hung up and another one did not wait.
 */
static bool session_may_run(struct session *s)
{
	struct clients *all = s->client.all;
	bool may;

	pthread_mutex_lock(&all->lock);
	while (!s->may_start && !s->server->closing && older_is_leaving(s))
		pthread_cond_wait(&all->changed, &all->lock);
	s->may_start = true;
	may = !s->server->closing && !s->too_late;
	s->running += may;
	pthread_mutex_unlock(&all->lock);
	return may;
}

/**
 * session_stopped - note that a queue has stopped, or was not started after all
 * @s: the session; called in its own thread
 */
static void session_stopped(struct session *s)
{
	struct clients *all = s->client.all;

	pthread_mutex_lock(&all->lock);
	s->running--;
	pthread_cond_broadcast(&all->changed);
	pthread_mutex_unlock(&all->lock);
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
	session_stopped(s);
}

/* In an iothread; the session's own thread does the rest. */
static void on_broken(void *owner, struct queue *q, int err)
{
	(void)q;
	session_give_up(owner, err);
}

/*
 * Signal the driver that its ring is broken, without waiting whatever it does to the descriptor.
 * Without one, the line on stderr has to do.
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

/* Do not change the flags, which the driver shares: it may want to sleep in read(), as fio's libblkio engine does. */
static bool blocks(int fd)
{
	return !(fcntl(fd, F_GETFL) & O_NONBLOCK);
}

/* A queue without a record runs too, but its requests in flight would be lost if the target were killed. */
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
	return &srv->iothreads[(s->client.id + index) % srv->nr_iothreads];
}

static int start_vring(struct session *s, unsigned int index)
{
	struct vu_vring *v = &s->vring[index];
	struct queue *q = &v->queue;
	const struct vq_addresses at = {
		.desc = v->addr.desc, .driver = v->addr.avail, .device = v->addr.used,
	};
	int ret;

	if (!session_may_run(s))
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
	q->number = s->client.id << 8 | index;
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
		session_stopped(s);
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

/**
 * session_stop - stop all queues for good, and tell drivers whose ring is broken
 * @s: the session
 * @at_once: drop what is in flight
 */
void session_stop(struct session *s, bool at_once)
{
	for (unsigned int i = 0; i < s->server->num_queues; i++) {
		struct vu_vring *v = &s->vring[i];
		bool ran = v->running;

		stop_vring(s, v, at_once);
		if (ran && v->queue.broken)
			signal_error(v->err_fd);
	}
}
