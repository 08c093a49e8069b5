/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef TARGETS_VHOST_USER_SESSION_H
#define TARGETS_VHOST_USER_SESSION_H

#include <linux/virtio_config.h>
#include "base/container.h"
#include "targets/device/lost-memory.h"
#include "targets/device/queue.h"
#include "targets/vhost-user/server.h"
#include "wire/vhost-user.h"

/**
 * struct vu_vring - a queue as the front end has set it up so far
 * @queue: the running queue, valid while @running
 * @num: its size, 0 before SET_VRING_NUM
 * @addr: its parts in the front end's address space, valid with @have_addr
 * @base: where it begins, see vq_device_resume()
 * @kick_fd: with it the ring is started; -1 without
 * @kicks_seen: its counter when it came, or when the queue was stopped
 * @call_fd: -1 without
 * @err_fd: -1 without
 * @enabled: by SET_VRING_ENABLE
 * @running: an iothread serves it
 * @inflight: its record of requests in flight, while @running
 * @recover: the front end has sent the record, and no queue was started with it yet
 */
struct vu_vring {
	struct queue queue;
	unsigned int num;
	struct vu_vring_addr addr;
	bool have_addr;
	uint32_t base;
	int kick_fd;
	uint64_t kicks_seen;
	int call_fd;
	int err_fd;
	bool enabled;
	bool running;
	struct vq_inflight inflight;
	bool recover;
};

/**
 * struct session - one connected front end: a device of its own on the shared backend
 * @client: its place among those served on the socket
 * @server: who accepted it
 * @dev: the device it sees
 * @features: negotiated features
 * @protocol: negotiated protocol features
 * @mem: its memory
 * @memory_owner: stands for it where memory is lost
 * @mapped: bytes of all that it shares, with @inflight
 * @inflight: the in-flight region, which the front end keeps; its size is 0 without
 * @inflight_queues: queues of which @inflight has records
 * @inflight_size: entries that each record is said to have
 * @inflight_room: bytes that each has
 * @vring: one for each queue of the device
 * @may_start: no earlier session that hung up has requests in flight any more
 * @spoke: its first message has come
 * @running: queues that run, or are about to; under the clients' lock, as the next one
 * @too_late: it had hung up, and a later one did not wait for it: no queue is to be started
 * @dropped_for: why an iothread gave a queue up, or a message was refused, 0 for neither; the
 *	first reason stays
 * @finish: the target is about to end: requests in flight are waited for
 */
struct session {
	struct client client;
	struct server *server;
	struct blk_device dev;
	uint64_t features;
	uint64_t protocol;
	struct guest_memory mem;
	struct memory_owner memory_owner;
	uint64_t mapped;
	struct guest_region inflight;
	unsigned int inflight_queues;
	unsigned int inflight_size;
	size_t inflight_room;
	struct vu_vring *vring;
	bool may_start;
	bool spoke;
	unsigned int running;
	bool too_late;
	atomic_int dropped_for;
	atomic_bool finish;
};

static inline struct session *to_session(struct client *c)
{
	return container_of(c, struct session, client);
}

/* Whether the rings are packed. */
static inline bool session_packed(const struct session *s)
{
	return s->features >> VIRTIO_F_RING_PACKED & 1;
}

/* session.c */
struct session *session_new(struct server *server, int sock);
void session_serve(struct session *s);
void session_free(struct session *s);

/* messages.c */
int session_handle(struct session *s, struct vu_msg *msg);

/* vring.c */
int session_update_vring(struct session *s, unsigned int index);
void session_pause_vring(struct session *s, unsigned int index);
void session_pause(struct session *s);
int session_resume(struct session *s);
void session_stop(struct session *s, bool at_once);

/* memory.c */
int session_map(struct session *s, struct guest_region *r, const struct vu_region *what, int fd);
void session_unmap(struct session *s, struct guest_region *r);

/* drop.c */
short session_hangup(const struct session *s);
void session_give_up(struct session *s, int err);
int session_refuse(struct session *s, int err);
void session_say_goodbye(struct session *s, const struct vu_msg *msg, int err);

#endif
