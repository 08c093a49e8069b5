/* SPDX-License-Identifier: GPL-2.0-only */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include "targets/close-aside.h"
#include "targets/device/kick-count.h"
#include "targets/vhost-user/session.h"

/*
 * One function per message, found through the table at the end. A handler returns 0, a
 * negative errno that drops the client, or REPLY after putting the answer into the
 * message. Sections are those of QEMU's docs/interop/vhost-user.rst.
 */
#define REPLY	1

#define PROTOCOL_FEATURES \
	((1ull << VU_PROTOCOL_F_MQ) | (1ull << VU_PROTOCOL_F_REPLY_ACK) | \
	 (1ull << VU_PROTOCOL_F_CONFIG) | (1ull << VU_PROTOCOL_F_INFLIGHT_SHMFD) | \
	 (1ull << VU_PROTOCOL_F_CONFIGURE_MEM_SLOTS))

static int reply_u64(struct vu_msg *msg, uint64_t value)
{
	msg->u64 = value;
	msg->h.size = sizeof(msg->u64);
	return REPLY;
}

static uint64_t offered(const struct session *s)
{
	return s->dev.features | 1ull << VU_F_PROTOCOL_FEATURES;
}

static int get_features(struct session *s, struct vu_msg *msg)
{
	return reply_u64(msg, offered(s));
}

/*
 * Do not disable running rings. What the message changes about rings takes effect at their next
 * start.
 */
static int set_features(struct session *s, struct vu_msg *msg)
{
	if (msg->u64 & ~offered(s))
		return -EINVAL;
	s->features = msg->u64;
	blk_device_negotiated(&s->dev, s->features);
	return 0;
}

static int nothing(struct session *s, struct vu_msg *msg)
{
	(void)s;
	(void)msg;
	return 0;
}

static int get_protocol_features(struct session *s, struct vu_msg *msg)
{
	(void)s;
	return reply_u64(msg, PROTOCOL_FEATURES);
}

static int set_protocol_features(struct session *s, struct vu_msg *msg)
{
	if (msg->u64 & ~PROTOCOL_FEATURES)
		return -EINVAL;
	s->protocol = msg->u64;
	return 0;
}

static int get_queue_num(struct session *s, struct vu_msg *msg)
{
	return reply_u64(msg, s->server->num_queues);
}

static int get_max_mem_slots(struct session *s, struct vu_msg *msg)
{
	(void)s;
	return reply_u64(msg, GUEST_MEMORY_REGIONS);
}

static int map_region(struct session *s, const struct vu_region *r, int fd)
{
	struct guest_region region;
	int ret = session_map(s, &region, r, fd);

	if (ret)
		return ret;
	ret = guest_memory_add(&s->mem, &region);
	if (ret)
		session_unmap(s, &region);
	return ret;
}

static int set_mem_table(struct session *s, struct vu_msg *msg)
{
	uint32_t nr = msg->table.nr;
	int ret = 0;

	if (nr > VU_MAX_FDS || msg->nr_fds != nr ||
	    msg->h.size < offsetof(struct vu_mem_table, region) + nr * sizeof(struct vu_region))
		return -EINVAL;

	session_pause(s);
	while (s->mem.nr)
		session_unmap(s, &s->mem.region[--s->mem.nr]);
	for (uint32_t i = 0; i < nr && !ret; i++)
		ret = map_region(s, &msg->table.region[i], msg->fd[i]);
	return ret ? ret : session_resume(s);
}

static int add_mem_reg(struct session *s, struct vu_msg *msg)
{
	int ret;

	if (msg->nr_fds != 1)
		return -EBADF;
	session_pause(s);
	ret = map_region(s, &msg->reg.region, msg->fd[0]);
	return ret ? ret : session_resume(s);
}

/* Ignore a descriptor, which front ends may send along. */
static int rem_mem_reg(struct session *s, struct vu_msg *msg)
{
	const struct vu_region *r = &msg->reg.region;

	for (unsigned int i = 0; i < s->mem.nr; i++) {
		struct guest_region *m = &s->mem.region[i];

		if (m->guest != r->guest || m->user != r->user || m->size != r->size)
			continue;
		session_pause(s);
		session_unmap(s, m);
		*m = s->mem.region[--s->mem.nr];
		return session_resume(s);
	}
	return -ENOENT;
}

static struct vu_vring *find_vring(struct session *s, uint32_t index)
{
	return index < s->server->num_queues ? &s->vring[index] : NULL;
}

static int set_vring_num(struct session *s, struct vu_msg *msg)
{
	struct vu_vring *v = find_vring(s, msg->state.index);
	uint32_t num = msg->state.num;

	if (!v || num > s->server->queue_size || !vq_size_valid(session_packed(s), num))
		return -EINVAL;
	session_pause_vring(s, msg->state.index);
	v->num = num;
	return session_update_vring(s, msg->state.index);
}

static int set_vring_addr(struct session *s, struct vu_msg *msg)
{
	struct vu_vring *v = find_vring(s, msg->addr.index);

	if (!v)
		return -EINVAL;
	session_pause_vring(s, msg->addr.index);
	v->addr = msg->addr;
	v->have_addr = true;
	return session_update_vring(s, msg->addr.index);
}

static int set_vring_base(struct session *s, struct vu_msg *msg)
{
	struct vu_vring *v = find_vring(s, msg->state.index);

	if (!v || (msg->state.num > UINT16_MAX && !session_packed(s)))
		return -EINVAL;
	session_pause_vring(s, msg->state.index);
	v->base = msg->state.num;
	return session_update_vring(s, msg->state.index);
}

static void take_fd(struct vu_msg *msg, int *fd)
{
	if (*fd >= 0)
		close(*fd);
	*fd = msg->nr_fds ? msg->fd[0] : -1;
	msg->nr_fds = 0;
}

/* "Ring states": this stops the ring, and it stays stopped until it gets a new kick fd. */
static int get_vring_base(struct session *s, struct vu_msg *msg)
{
	struct vu_vring *v = find_vring(s, msg->state.index);

	if (!v)
		return -EINVAL;
	session_pause_vring(s, msg->state.index);
	take_fd(msg, &v->kick_fd);
	msg->state.num = v->base;
	msg->h.size = sizeof(msg->state);
	return REPLY;
}

/*
 * Find the queue of a KICK, CALL or ERR message, and pause it. The descriptor must be an eventfd,
 * as the kernel's vhost requires, too: writing, polling or closing a pipe, a socket, a terminal or
 * a file on FUSE may block for as long as another process wishes.
 */
static int vring_for_fd(struct session *s, const struct vu_msg *msg, struct vu_vring **v)
{
	uint32_t index = msg->u64 & VU_VRING_INDEX_MASK;
	unsigned int want = msg->u64 & VU_VRING_NOFD ? 0 : 1;

	*v = find_vring(s, index);
	if (msg->nr_fds != want || !*v)
		return -EINVAL;
	if (want && !is_eventfd(msg->fd[0]))
		return session_refuse(s, -EBADFD);
	session_pause_vring(s, index);
	return 0;
}

static int set_vring_kick(struct session *s, struct vu_msg *msg)
{
	struct vu_vring *v;
	int ret = vring_for_fd(s, msg, &v);

	if (ret)
		return ret;
	/* No fd asks the device to poll for ever, which only --poll busy decides. */
	if (!msg->nr_fds)
		return -EOPNOTSUPP;
	take_fd(msg, &v->kick_fd);
	v->kicks_seen = 0;
	kick_count(v->kick_fd, &v->kicks_seen);
	return session_update_vring(s, msg->u64 & VU_VRING_INDEX_MASK);
}

static int set_vring_call(struct session *s, struct vu_msg *msg)
{
	struct vu_vring *v;
	int ret = vring_for_fd(s, msg, &v);

	if (ret)
		return ret;
	take_fd(msg, &v->call_fd);
	return session_update_vring(s, msg->u64 & VU_VRING_INDEX_MASK);
}

static int set_vring_err(struct session *s, struct vu_msg *msg)
{
	struct vu_vring *v;
	int ret = vring_for_fd(s, msg, &v);

	if (ret)
		return ret;
	take_fd(msg, &v->err_fd);
	return session_update_vring(s, msg->u64 & VU_VRING_INDEX_MASK);
}

/* Any number but 0 enables: SPDK sends others than 1. */
static int set_vring_enable(struct session *s, struct vu_msg *msg)
{
	struct vu_vring *v = find_vring(s, msg->state.index);

	if (!v)
		return -EINVAL;
	v->enabled = msg->state.num;
	return session_update_vring(s, msg->state.index);
}

static bool config_fits(const struct vu_msg *msg)
{
	const struct vu_config *c = &msg->config;

	return c->size <= VU_CONFIG_MAX && c->offset <= VU_CONFIG_MAX - c->size &&
	       msg->h.size == offsetof(struct vu_config, data) + c->size;
}

/* Answer in the size that is asked for, with zeroes behind the fields. */
static int get_config(struct session *s, struct vu_msg *msg)
{
	uint8_t config[VU_CONFIG_MAX] = { 0 };

	if (!config_fits(msg))
		return -EINVAL;
	memcpy(config, &s->dev.config, sizeof(s->dev.config));
	/* VIRTIO 1.2, 5.2.5.2: a driver without flushes finds the cache off. */
	if (s->dev.write_through)
		config[offsetof(struct virtio_blk_config, wce)] = 0;
	memcpy(msg->config.data, config + msg->config.offset, msg->config.size);
	return REPLY;
}

static int set_config(struct session *s, struct vu_msg *msg)
{
	if (!config_fits(msg))
		return -EINVAL;
	return blk_device_write_config(&s->dev, msg->config.offset, msg->config.size,
				       msg->config.data);
}

static bool inflight_fits(const struct session *s, const struct vu_inflight *i)
{
	return i->num_queues && i->num_queues <= s->server->num_queues && i->queue_size &&
	       i->queue_size <= s->server->queue_size;
}

/*
 * "Inflight I/O tracking": the device makes the memory and the front end keeps it. Make room for
 * the largest ring whatever the front end names: QEMU 10 names the queue-size= of its device,
 * 128, and then lets the driver have rings of 1024. The size of the whole region tells how large
 * a record is, since a target that takes it over may have been started with another largest ring.
 */
static int get_inflight_fd(struct session *s, struct vu_msg *msg)
{
	uint64_t size = msg->inflight.num_queues *
			(uint64_t)vq_inflight_bytes(session_packed(s), s->server->queue_size);
	int fd;

	if (!inflight_fits(s, &msg->inflight))
		return -EINVAL;
	fd = memfd_create("fio-dataplane in flight", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	if (fd < 0)
		return -errno;
	msg->fd[msg->nr_fds++] = fd;
	/* No other holder can shorten it then. */
	if (ftruncate(fd, size) || fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL))
		return -errno;
	msg->inflight.mmap_size = size;
	msg->inflight.mmap_offset = 0;
	msg->h.size = sizeof(msg->inflight);
	return REPLY;
}

static int set_inflight_fd(struct session *s, struct vu_msg *msg)
{
	const struct vu_inflight *i = &msg->inflight;
	const struct vu_region what = { .size = i->mmap_size, .offset = i->mmap_offset };
	struct guest_region region;
	size_t room;
	int ret;

	if (msg->nr_fds != 1 || !inflight_fits(s, i) || i->mmap_offset % 8)
		return -EINVAL;
	room = i->mmap_size / i->num_queues / CACHE_LINE * CACHE_LINE;
	if (room < vq_inflight_bytes(session_packed(s), i->queue_size))
		return -EINVAL;
	session_pause(s);
	if (s->inflight.size)
		session_unmap(s, &s->inflight);
	ret = session_map(s, &region, &what, msg->fd[0]);
	if (ret)
		return ret;
	s->inflight = region;
	s->inflight_queues = i->num_queues;
	s->inflight_size = i->queue_size;
	s->inflight_room = room;
	for (unsigned int q = 0; q < i->num_queues; q++)
		s->vring[q].recover = true;
	return session_resume(s);
}

/**
 * struct handler - what to do with a message
 * @fn: does it
 * @size: bytes its payload must have at least
 * @max_fds: descriptors that may come with it
 */
struct handler {
	int (*fn)(struct session *s, struct vu_msg *msg);
	uint32_t size;
	unsigned int max_fds;
};

static const struct handler handlers[VU_REQUEST_MAX] = {
	[VU_GET_FEATURES] = { get_features, 0, 0 },
	[VU_SET_FEATURES] = { set_features, sizeof(uint64_t), 0 },
	[VU_SET_OWNER] = { nothing, 0, 0 },
	[VU_RESET_OWNER] = { nothing, 0, 0 },
	[VU_SET_MEM_TABLE] = { set_mem_table, offsetof(struct vu_mem_table, region), VU_MAX_FDS },
	[VU_SET_VRING_NUM] = { set_vring_num, sizeof(struct vu_vring_state), 0 },
	[VU_SET_VRING_ADDR] = { set_vring_addr, sizeof(struct vu_vring_addr), 0 },
	[VU_SET_VRING_BASE] = { set_vring_base, sizeof(struct vu_vring_state), 0 },
	[VU_GET_VRING_BASE] = { get_vring_base, sizeof(struct vu_vring_state), 0 },
	[VU_SET_VRING_KICK] = { set_vring_kick, sizeof(uint64_t), 1 },
	[VU_SET_VRING_CALL] = { set_vring_call, sizeof(uint64_t), 1 },
	[VU_SET_VRING_ERR] = { set_vring_err, sizeof(uint64_t), 1 },
	[VU_GET_PROTOCOL_FEATURES] = { get_protocol_features, 0, 0 },
	[VU_SET_PROTOCOL_FEATURES] = { set_protocol_features, sizeof(uint64_t), 0 },
	[VU_GET_QUEUE_NUM] = { get_queue_num, 0, 0 },
	[VU_SET_VRING_ENABLE] = { set_vring_enable, sizeof(struct vu_vring_state), 0 },
	[VU_GET_CONFIG] = { get_config, offsetof(struct vu_config, data), 0 },
	[VU_SET_CONFIG] = { set_config, offsetof(struct vu_config, data), 0 },
	[VU_GET_INFLIGHT_FD] = { get_inflight_fd, offsetof(struct vu_inflight, padding), 0 },
	[VU_SET_INFLIGHT_FD] = { set_inflight_fd, offsetof(struct vu_inflight, padding), 1 },
	[VU_GET_MAX_MEM_SLOTS] = { get_max_mem_slots, 0, 0 },
	[VU_ADD_MEM_REG] = { add_mem_reg, sizeof(struct vu_mem_reg), 1 },
	[VU_REM_MEM_REG] = { rem_mem_reg, sizeof(struct vu_mem_reg), 1 },
};

static int send_reply(struct session *s, struct vu_msg *msg)
{
	int ret;

	msg->h.flags = VU_VERSION | VU_FLAG_REPLY;
	ret = vu_send(s->client.sock, msg);
	vu_close_fds(msg);
	return ret;
}

/**
 * session_handle - act on one message and answer it where it wants an answer
 * @s: the session
 * @msg: the message; descriptors it leaves in place are the caller's to close
 *
 * Return: 0, or a negative errno for which the client is to be dropped: -ENOSYS for an
 * unknown request, -EMSGSIZE for one that is too short, -EMFILE for surplus descriptors,
 * or what its handler said.
 */
int session_handle(struct session *s, struct vu_msg *msg)
{
	const struct handler *h = msg->h.request < VU_REQUEST_MAX ? &handlers[msg->h.request] : NULL;
	bool wants_ack = msg->h.flags & VU_FLAG_NEED_REPLY &&
			 s->protocol & (1ull << VU_PROTOCOL_F_REPLY_ACK);
	int ret;

	if (!h || !h->fn)
		ret = -ENOSYS;
	else if (msg->h.size < h->size)
		ret = -EMSGSIZE;
	else if (msg->nr_fds > h->max_fds)
		ret = -EMFILE;
	else
		ret = h->fn(s, msg);

	if (ret == REPLY)
		return send_reply(s, msg);
	if (wants_ack) {
		int sent;

		vu_discard_fds(msg, close_aside);
		reply_u64(msg, ret ? 1 : 0);
		sent = send_reply(s, msg);
		if (!ret)
			ret = sent;
	}
	return ret;
}
