/* SPDX-License-Identifier: GPL-2.0-only */
#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>
#include "engines/transport/vhost-user.h"
#include "wire/vhost-user.h"

/* Protocol features this front end has a use for. */
#define PROTOCOL_FEATURES \
	((1ull << VU_PROTOCOL_F_MQ) | (1ull << VU_PROTOCOL_F_REPLY_ACK) | \
	 (1ull << VU_PROTOCOL_F_CONFIG))

static bool has(uint64_t features, unsigned int bit)
{
	return features >> bit & 1;
}

/* Send a request and wait for the answer of the same number, which replaces it, descriptors and all. */
static int ask_fds(struct vu_front *f, struct vu_msg *msg)
{
	uint32_t request = msg->h.request;
	int ret;

	msg->h.flags |= VU_VERSION;
	ret = vu_send(f->sock, msg);
	if (ret)
		return ret;
	msg->nr_fds = 0;
	ret = vu_recv(f->sock, msg, f->timeout_ms);
	if (ret)
		return ret;
	if (msg->h.request == request && msg->h.flags & VU_FLAG_REPLY)
		return 0;
	vu_close_fds(msg);
	return -EPROTO;
}

static int ask(struct vu_front *f, struct vu_msg *msg)
{
	int ret = ask_fds(f, msg);

	if (!ret)
		vu_close_fds(msg);
	return ret;
}

static int ask_u64(struct vu_front *f, uint32_t request, uint64_t *value)
{
	struct vu_msg msg = { .h = { .request = request } };
	int ret = ask(f, &msg);

	if (ret)
		return ret;
	if (msg.h.size != sizeof(msg.u64))
		return -EPROTO;
	*value = msg.u64;
	return 0;
}

/* Send a request that has no answer of its own, and learn whether it was accepted. */
static int tell(struct vu_front *f, struct vu_msg *msg)
{
	int ret;

	if (!has(f->protocol, VU_PROTOCOL_F_REPLY_ACK)) {
		msg->h.flags = VU_VERSION;
		return vu_send(f->sock, msg);
	}
	msg->h.flags = VU_FLAG_NEED_REPLY;
	ret = ask(f, msg);
	if (ret)
		return ret;
	if (msg->h.size != sizeof(msg->u64))
		return -EPROTO;
	return msg->u64 ? -EREMOTEIO : 0;
}

static int tell_u64(struct vu_front *f, uint32_t request, uint64_t value)
{
	struct vu_msg msg = { .h = { .request = request, .size = sizeof(msg.u64) }, .u64 = value };

	return tell(f, &msg);
}

static int tell_state(struct vu_front *f, uint32_t request, unsigned int index, unsigned int num)
{
	struct vu_msg msg = {
		.h = { .request = request, .size = sizeof(msg.state) },
		.state = { .index = index, .num = num },
	};

	return tell(f, &msg);
}

static int tell_fd(struct vu_front *f, uint32_t request, unsigned int index, int fd)
{
	struct vu_msg msg = {
		.h = { .request = request, .size = sizeof(msg.u64) },
		.u64 = index,
		.fd = { fd },
		.nr_fds = 1,
	};

	return tell(f, &msg);
}

/**
 * vu_front_connect - connect to a device and read what it offers
 * @f: filled in
 * @path: its socket
 * @timeout_ms: how long to wait for each answer
 *
 * Return: 0 or a negative errno: -ETIMEDOUT when the device does not answer, -EPROTO or
 * -ECONNRESET when what is there does not speak vhost-user.
 */
int vu_front_connect(struct vu_front *f, const char *path, int timeout_ms)
{
	struct sockaddr_un addr = { .sun_family = AF_UNIX };
	struct timeval tv = { .tv_sec = timeout_ms / 1000, .tv_usec = timeout_ms % 1000 * 1000 };
	int ret;

	*f = (struct vu_front) { .timeout_ms = timeout_ms, .max_queues = 1 };
	if (strlen(path) >= sizeof(addr.sun_path))
		return -ENAMETOOLONG;
	strcpy(addr.sun_path, path);
	f->sock = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (f->sock < 0)
		return -errno;
	/* A full backlog or a stopped peer would otherwise block connect() and send() without end. */
	setsockopt(f->sock, SOL_SOCKET, SO_SNDTIMEO, &tv, sizeof(tv));
	if (connect(f->sock, (struct sockaddr *)&addr, sizeof(addr)))
		ret = errno == EAGAIN ? -ETIMEDOUT : -errno;
	else
		ret = ask_u64(f, VU_GET_FEATURES, &f->offered);
	if (ret)
		vu_front_close(f);
	return ret;
}

static int negotiate_protocol(struct vu_front *f, bool inflight)
{
	uint64_t wanted = PROTOCOL_FEATURES | (uint64_t)inflight << VU_PROTOCOL_F_INFLIGHT_SHMFD;
	uint64_t offered, queues;
	int ret;

	ret = ask_u64(f, VU_GET_PROTOCOL_FEATURES, &offered);
	if (ret)
		return ret;
	ret = tell_u64(f, VU_SET_PROTOCOL_FEATURES, offered & wanted);
	if (ret)
		return ret;
	f->protocol = offered & wanted;
	if (!has(f->protocol, VU_PROTOCOL_F_MQ))
		return 0;
	ret = ask_u64(f, VU_GET_QUEUE_NUM, &queues);
	if (ret)
		return ret;
	if (!queues)
		return -EPROTO;
	/* Messages with a queue's descriptors have eight bits for its number. */
	f->max_queues = queues < VU_MAX_QUEUES ? queues : VU_MAX_QUEUES;
	return 0;
}

/**
 * vu_front_negotiate - agree on features
 * @f: the connection
 * @wanted: features the driver has a use for
 * @inflight: the device has to keep a record of requests in flight
 *
 * Return: 0, -EPROTONOSUPPORT when the device cannot tell its configuration, -EOPNOTSUPP
 * when it keeps no record, or a negative errno.
 */
int vu_front_negotiate(struct vu_front *f, uint64_t wanted, bool inflight)
{
	struct vu_msg owner = { .h = { .request = VU_SET_OWNER } };
	int ret;

	if (!has(f->offered, VU_F_PROTOCOL_FEATURES))
		return -EPROTONOSUPPORT;
	ret = negotiate_protocol(f, inflight);
	if (ret)
		return ret;
	if (!has(f->protocol, VU_PROTOCOL_F_CONFIG))
		return -EPROTONOSUPPORT;
	if (inflight && !has(f->protocol, VU_PROTOCOL_F_INFLIGHT_SHMFD))
		return -EOPNOTSUPP;
	ret = tell(f, &owner);
	if (ret)
		return ret;
	f->features = f->offered & (wanted | 1ull << VU_F_PROTOCOL_FEATURES);
	return tell_u64(f, VU_SET_FEATURES, f->features);
}

/**
 * vu_front_get_config - read the device's configuration space from its start
 * @f: the connection, after vu_front_negotiate()
 * @config: filled in
 * @len: bytes, at most VU_CONFIG_MAX
 *
 * Return: 0 or a negative errno.
 */
int vu_front_get_config(struct vu_front *f, void *config, size_t len)
{
	struct vu_msg msg = {
		.h = { .request = VU_GET_CONFIG, .size = offsetof(struct vu_config, data) + len },
		.config = { .size = len },
	};
	int ret = ask(f, &msg);

	if (ret)
		return ret;
	/* A device that refuses answers with an empty payload. */
	if (msg.h.size != offsetof(struct vu_config, data) + len || msg.config.size != len)
		return -EPROTO;
	memcpy(config, msg.config.data, len);
	return 0;
}

/**
 * vu_front_get_inflight - have the device make memory for its record of requests in flight
 * @f: the connection, after vu_front_negotiate() that asked for it
 * @queues: queues it is for
 * @queue_size: entries of each
 * @kept: filled in; its descriptor is the caller's
 *
 * Return: 0 or a negative errno.
 */
int vu_front_get_inflight(struct vu_front *f, unsigned int queues, unsigned int queue_size,
			  struct vu_kept *kept)
{
	struct vu_msg msg = {
		.h = { .request = VU_GET_INFLIGHT_FD, .size = sizeof(msg.inflight) },
		.inflight = { .num_queues = queues, .queue_size = queue_size },
	};
	int ret = ask_fds(f, &msg);

	if (ret)
		return ret;
	if (msg.nr_fds != 1 || !msg.inflight.mmap_size) {
		vu_close_fds(&msg);
		return -EPROTO;
	}
	*kept = (struct vu_kept) {
		.fd = msg.fd[0],
		.size = msg.inflight.mmap_size,
		.offset = msg.inflight.mmap_offset,
		.queues = queues,
		.queue_size = queue_size,
	};
	return 0;
}

/**
 * vu_front_set_inflight - give a device the record, its own or an earlier device's
 * @f: the connection
 * @kept: the record
 *
 * Return: 0 or a negative errno.
 */
int vu_front_set_inflight(struct vu_front *f, const struct vu_kept *kept)
{
	struct vu_msg msg = {
		.h = { .request = VU_SET_INFLIGHT_FD, .size = sizeof(msg.inflight) },
		.inflight = {
			.mmap_size = kept->size,
			.mmap_offset = kept->offset,
			.num_queues = kept->queues,
			.queue_size = kept->queue_size,
		},
		.fd = { kept->fd },
		.nr_fds = 1,
	};

	return tell(f, &msg);
}

/**
 * vu_front_share_memory - give the device the memory that rings and data lie in
 * @f: the connection
 * @fd: the memory, from its first byte
 * @base: where it is mapped here; also its guest physical address
 * @size: bytes
 *
 * Return: 0 or a negative errno.
 */
int vu_front_share_memory(struct vu_front *f, int fd, void *base, size_t size)
{
	struct vu_msg msg = {
		.h = {
			.request = VU_SET_MEM_TABLE,
			.size = offsetof(struct vu_mem_table, region) + sizeof(struct vu_region),
		},
		.table = {
			.nr = 1,
			.region = { {
				.guest = (uintptr_t)base,
				.user = (uintptr_t)base,
				.size = size,
			} },
		},
		.fd = { fd },
		.nr_fds = 1,
	};

	return tell(f, &msg);
}

/**
 * vu_front_start_queue - describe a virtqueue to the device and let it run
 * @f: the connection
 * @index: which
 * @num: queue size
 * @ring: the queue, in shared memory, as its last driver left it
 * @kick_fd: eventfd on which the device is notified
 * @call_fd: eventfd on which it notifies
 *
 * The kick descriptor starts the ring, so it comes last.
 *
 * Return: 0 or a negative errno.
 */
int vu_front_start_queue(struct vu_front *f, unsigned int index, unsigned int num,
			 const struct vq_driver *ring, int kick_fd, int call_fd)
{
	struct vq_parts parts = vq_driver_parts(ring);
	struct vu_msg addr = {
		.h = { .request = VU_SET_VRING_ADDR, .size = sizeof(addr.addr) },
		.addr = {
			.index = index,
			.desc = (uintptr_t)parts.desc,
			.avail = (uintptr_t)parts.driver,
			.used = (uintptr_t)parts.device,
		},
	};
	int ret;

	ret = tell_state(f, VU_SET_VRING_NUM, index, num);
	if (ret == -EREMOTEIO)
		ret = -ERANGE;
	if (!ret)
		ret = tell_state(f, VU_SET_VRING_BASE, index, vq_driver_base(ring));
	if (!ret)
		ret = tell(f, &addr);
	if (!ret)
		ret = tell_fd(f, VU_SET_VRING_CALL, index, call_fd);
	if (!ret)
		ret = tell_fd(f, VU_SET_VRING_KICK, index, kick_fd);
	if (!ret)
		ret = tell_state(f, VU_SET_VRING_ENABLE, index, 1);
	return ret;
}

/**
 * vu_front_close - leave the device
 * @f: the connection
 */
void vu_front_close(struct vu_front *f)
{
	close(f->sock);
	f->sock = -1;
}
