/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Any messages a front end may send, to a session with running queues behind it. The
 * input is a list of messages, most of them nearly right.
 *
 * For libFuzzer, see fuzz.sh; tests/unit/fuzz-messages.c runs it on numbers drawn.
 */
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>
#include "targets/client-lines.h"
#include "targets/vhost-user/session.h"
#include "tests/fuzz/input.h"

#define MEMORY	65536u
#define QUEUES	2
#define MESSAGES	40

static struct server server;
static struct backend backend;
static struct iothread iothread;
static int memory_fd, event_fd;

static void set_up_once(void)
{
	const struct backend_config disk = { .ops = &ram_backend, .size = 1 << 20 };
	const struct channel_config through = { 0 };
	struct poll_policy policy;
	cpu_set_t any;

	if (server.iothreads)
		return;
	CPU_ZERO(&any);
	poll_policy_init(&policy, &(struct poll_config) { .mode = POLL_OFF });
	memory_fd = memfd_create("guest", MFD_CLOEXEC);
	event_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (memory_fd < 0 || event_fd < 0 || ftruncate(memory_fd, MEMORY) ||
	    backend_open(&backend, &disk) ||
	    iothread_start(&iothread, 0, &any, &policy) || channel_start(&iothread, &through))
		abort();
	blk_device_init(&server.dev, &backend, 512, false, QUEUES);
	server.num_queues = QUEUES;
	server.queue_size = 64;
	server.max_memory = 16 * MEMORY;
	server.iothreads = &iothread;
	server.nr_iothreads = 1;
	server.max_memory = 1 << 30;
	/* It is no news here why a client is dropped. */
	client_lines_silent = true;
}

static uint64_t take_number(struct input *in)
{
	static const uint64_t numbers[] = {
		0, 1, QUEUES, 4096, 8192, 16384, 32768, MEMORY, MEMORY - 16, UINT32_MAX, UINT64_MAX
	};
	uint32_t v = take_bytes(in, 1) % 16;

	return v < 11 ? numbers[v] : (uint64_t)take_bytes(in, 4) << 32 | take_bytes(in, 4);
}

static void add_fds(struct vu_msg *msg, struct input *in, unsigned int n)
{
	for (unsigned int i = 0; i < n; i++) {
		bool memory = msg->h.request == VU_SET_MEM_TABLE ||
			      msg->h.request == VU_ADD_MEM_REG || msg->h.request == VU_SET_INFLIGHT_FD;

		/* now and then the wrong one */
		if (take_bytes(in, 1) % 16 == 0)
			memory = !memory;
		msg->fd[msg->nr_fds++] = memory ? memory_fd : event_fd;
	}
}

static struct vu_region take_region(struct input *in)
{
	struct vu_region r = { .guest = take_number(in), .user = take_number(in) };

	r.size = take_number(in);
	r.offset = take_bytes(in, 1) % 4 ? 0 : take_number(in);
	return r;
}

static void set_size(struct vu_msg *msg, struct input *in, size_t size)
{
	uint32_t v = take_bytes(in, 1);

	msg->h.size = v % 16 ? size : v * 2 % VU_PAYLOAD_MAX;
}

/* One message, filled the way its request wants it */
static void take_message(struct vu_msg *msg, struct input *in)
{
	static const uint8_t common[] = {
		VU_SET_FEATURES, VU_SET_MEM_TABLE, VU_SET_VRING_NUM, VU_SET_VRING_ADDR,
		VU_SET_VRING_BASE, VU_SET_VRING_KICK, VU_SET_VRING_CALL, VU_SET_VRING_ENABLE,
		VU_SET_INFLIGHT_FD,
	};
	uint32_t v = take_bytes(in, 1);
	unsigned int index = take_bytes(in, 1) % (QUEUES + 1);

	memset(msg, 0, sizeof(*msg));
	msg->h.request = v & 1 ? common[(v >> 1) % sizeof(common)] : (v >> 1) % (VU_REQUEST_MAX + 1);
	msg->h.flags = VU_VERSION | (v & 128 ? VU_FLAG_NEED_REPLY : 0);
	switch (msg->h.request) {
	case VU_SET_FEATURES:
	case VU_SET_PROTOCOL_FEATURES:
		msg->u64 = take_number(in) & (v & 64 ? UINT64_MAX : server.dev.features);
		set_size(msg, in, sizeof(msg->u64));
		break;
	case VU_SET_MEM_TABLE:
		msg->table.nr = take_bytes(in, 1) % 3;
		for (unsigned int i = 0; i < msg->table.nr; i++)
			msg->table.region[i] = take_region(in);
		set_size(msg, in, offsetof(struct vu_mem_table, region) +
			 msg->table.nr * sizeof(struct vu_region));
		add_fds(msg, in, msg->table.nr);
		break;
	case VU_ADD_MEM_REG:
	case VU_REM_MEM_REG:
		msg->reg.region = take_region(in);
		set_size(msg, in, sizeof(msg->reg));
		add_fds(msg, in, msg->h.request == VU_ADD_MEM_REG);
		break;
	case VU_SET_VRING_ADDR:
		msg->addr.index = index;
		msg->addr.desc = take_number(in);
		msg->addr.avail = take_number(in);
		msg->addr.used = take_number(in);
		set_size(msg, in, sizeof(msg->addr));
		break;
	case VU_SET_VRING_KICK:
	case VU_SET_VRING_CALL:
	case VU_SET_VRING_ERR:
		msg->u64 = index | (v & 64 ? VU_VRING_NOFD : 0);
		set_size(msg, in, sizeof(msg->u64));
		add_fds(msg, in, !(v & 64));
		break;
	case VU_GET_INFLIGHT_FD:
	case VU_SET_INFLIGHT_FD:
		msg->inflight.mmap_size = take_number(in);
		msg->inflight.mmap_offset = take_bytes(in, 1) % 4 ? 0 : take_number(in);
		msg->inflight.num_queues = take_bytes(in, 1) % (QUEUES + 2);
		msg->inflight.queue_size = take_bytes(in, 1) % 4 ? 16 : (uint16_t)take_number(in);
		set_size(msg, in, sizeof(msg->inflight));
		add_fds(msg, in, msg->h.request == VU_SET_INFLIGHT_FD);
		break;
	case VU_GET_CONFIG:
	case VU_SET_CONFIG:
		msg->config.offset = take_bytes(in, 1);
		msg->config.size = take_number(in);
		set_size(msg, in, offsetof(struct vu_config, data) + msg->config.size % VU_CONFIG_MAX);
		break;
	default:
		msg->state.index = index;
		msg->state.num = take_bytes(in, 1) % 4 ? 1u << take_bytes(in, 1) % 8 :
				 (uint32_t)take_number(in);
		set_size(msg, in, sizeof(msg->state));
		break;
	}
}

struct small_ring {
	struct vring_desc desc[16];
	struct virtio_blk_outhdr hdr;
	uint16_t avail[20] __attribute__((aligned(64)));
};

/* A ring with one request, a flush */
static void fill_memory(void)
{
	struct small_ring ring = {
		.desc = {
			{ htole64(offsetof(struct small_ring, hdr)), htole32(16),
			  htole16(VRING_DESC_F_NEXT), htole16(1) },
			{ htole64(4096), htole32(1), htole16(VRING_DESC_F_WRITE), 0 },
		},
		.hdr.type = htole32(VIRTIO_BLK_T_FLUSH),
		.avail = { 0, htole16(1) },
	};

	/* a hole reads as zero */
	if (ftruncate(memory_fd, 0) || ftruncate(memory_fd, MEMORY) ||
	    pwrite(memory_fd, &ring, sizeof(ring), 0) != sizeof(ring))
		abort();
}

static void send_message(int sock, uint32_t request, size_t size, struct vu_msg msg, int fd)
{
	msg.h = (struct vu_header) { request, VU_VERSION, size };
	msg.fd[0] = fd;
	msg.nr_fds = fd >= 0;
	if (vu_send(sock, &msg))
		abort();
}

/* What starts queue 0, so that the messages behind it meet a running one */
static void send_good_start(int sock)
{
	struct vu_region all = { .size = MEMORY };
	struct vu_msg m = { .table = { .nr = 1, .region = { all } } };

	send_message(sock, VU_SET_MEM_TABLE, 8 + sizeof(all), m, memory_fd);
	m = (struct vu_msg) { .state = { 0, 16 } };
	send_message(sock, VU_SET_VRING_NUM, sizeof(m.state), m, -1);
	m = (struct vu_msg) { .addr = { .avail = offsetof(struct small_ring, avail), .used = 8192 } };
	send_message(sock, VU_SET_VRING_ADDR, sizeof(m.addr), m, -1);
	m = (struct vu_msg) { .u64 = 0 };
	send_message(sock, VU_SET_VRING_CALL, sizeof(m.u64), m, event_fd);
	send_message(sock, VU_SET_VRING_KICK, sizeof(m.u64), m, event_fd);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct input in = { data, size };
	bool good_start = take_bytes(&in, 1) & 1;
	struct session *s;
	int sock[2];

	set_up_once();
	fill_memory();
	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, sock))
		abort();
	if (good_start)
		send_good_start(sock[0]);
	for (unsigned int i = 0; i < MESSAGES && in.left; i++) {
		struct vu_msg msg;

		take_message(&msg, &in);
		if (vu_send(sock[0], &msg))
			abort();
	}
	shutdown(sock[0], SHUT_WR);
	s = session_new(&server, sock[1]);
	if (!s)
		abort();
	s->client.all = &server.clients;
	s->client.sock = sock[1];
	session_serve(s);
	session_free(s);
	close(sock[1]);
	close(sock[0]);
	return 0;
}
