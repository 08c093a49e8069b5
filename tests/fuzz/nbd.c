/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Anything an NBD client may send, to a server with an iothread behind it: it ends the
 * connection when the client has closed its own end. The input is a list of options and
 * requests, most of them nearly right.
 *
 * For libFuzzer, see fuzz.sh; tests/unit/fuzz-nbd.c runs it on numbers drawn.
 */
#include <endian.h>
#include <errno.h>
#include <poll.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>
#include "targets/backend/channel.h"
#include "targets/nbd/server.h"
#include "tests/fuzz/input.h"

#define DISK	(1u << 20)
#define STEPS	60
#define STREAM	(4u << 20)

/* Pieces that a stream is cut into: 4 MiB byte by byte would take a minute. */
#define PIECES	4096u

static struct nbd_server server;
static struct backend backend;
static struct iothread iothread;

/* struct stream - what the client sends */
struct stream {
	size_t len;
	unsigned char data[STREAM];
};

static void remove_socket(void)
{
	unlink(server.clients.listener.name);
}

static void set_up_once(void)
{
	struct backend_config ram = { .ops = &ram_backend, .size = DISK, .block_size = 512 };
	struct channel_config channel = { .aio = NULL };
	struct poll_policy policy;
	char path[64];
	cpu_set_t any;

	if (server.iothreads)
		return;
	CPU_ZERO(&any);
	poll_policy_init(&policy, &(struct poll_config) { .mode = POLL_OFF });
	snprintf(path, sizeof(path), "/tmp/fuzz-nbd.%d", (int)getpid());
	if (backend_open(&backend, &ram) || iothread_start(&iothread, 0, &any, &policy) ||
	    channel_start(&iothread, &channel) ||
	    listener_open_unix(&server.clients.listener, path, false))
		abort();
	atexit(remove_socket);
	server.disk = (struct nbd_disk) {
		.backend = &backend, .name = "name", .description = "", .block_size = 512,
	};
	server.iothreads = &iothread;
	server.nr_iothreads = 1;
	server.clients.max = 256;
	nbd_server_start(&server);
	/* It says why it drops a client, which here is no news. */
	stderr = fopen("/dev/null", "we");
}

static void put(struct stream *s, const void *data, size_t len)
{
	if (len > STREAM - s->len)
		len = STREAM - s->len;
	memcpy(s->data + s->len, data, len);
	s->len += len;
}

static void put_u32(struct stream *s, uint32_t v)
{
	v = htobe32(v);
	put(s, &v, sizeof(v));
}

static void put_u16(struct stream *s, uint16_t v)
{
	v = htobe16(v);
	put(s, &v, sizeof(v));
}

static void put_string(struct stream *s, struct input *in, const char *text)
{
	uint32_t v = take_bytes(in, 1), len = strlen(text);

	put_u32(s, v % 16 ? len : v % 32 ? UINT32_MAX - v : v);
	put(s, text, len);
}

static const char *take_name(struct input *in)
{
	static const char *const names[] = { "", "name", "", "other" };

	return names[take_bytes(in, 1) % 4];
}

static void fill_context(struct stream *s, struct input *in)
{
	static const char *const queries[] = { "base:allocation", "base:", "x-y:z", "" };
	uint32_t v = take_bytes(in, 1);

	put_string(s, in, take_name(in));
	put_u32(s, v % 4 + (v > 240));
	for (unsigned int i = 0; i < v % 4; i++)
		put_string(s, in, queries[take_bytes(in, 1) % 4]);
}

static void fill_info(struct stream *s, struct input *in)
{
	uint32_t v = take_bytes(in, 1);

	put_string(s, in, take_name(in));
	put_u16(s, v % 8 + (v > 240));
	for (unsigned int i = 0; i < v % 8; i++)
		put_u16(s, take_bytes(in, 1) % 6);
}

static void add_option(struct stream *s, struct input *in)
{
	static const uint8_t common[] = {
		NBD_OPT_STRUCTURED_REPLY, NBD_OPT_SET_META_CONTEXT, NBD_OPT_LIST_META_CONTEXT,
		NBD_OPT_INFO, NBD_OPT_LIST,
	};
	uint32_t v = take_bytes(in, 1), option = v & 7 ? common[(v >> 3) % 5] : v >> 3;
	static struct stream body;
	struct nbd_option_header h = { .magic = htobe64(NBD_OPTION_MAGIC) };

	body.len = 0;
	if (option == NBD_OPT_SET_META_CONTEXT || option == NBD_OPT_LIST_META_CONTEXT)
		fill_context(&body, in);
	else if (option == NBD_OPT_INFO || option == NBD_OPT_GO)
		fill_info(&body, in);
	else if (option == NBD_OPT_EXPORT_NAME)
		put(&body, "name", take_bytes(in, 1) % 8 ? 4 : 3);
	h.option = htobe32(option);
	h.len = htobe32(take_bytes(in, 1) % 32 ? body.len : take_bytes(in, 4));
	put(s, &h, sizeof(h));
	put(s, body.data, body.len);
}

static void add_go(struct stream *s)
{
	struct nbd_option_header h = {
		.magic = htobe64(NBD_OPTION_MAGIC), .option = htobe32(NBD_OPT_GO), .len = htobe32(6),
	};

	put(s, &h, sizeof(h));
	put(s, "\0\0\0\0\0\0", 6);
}

static uint32_t take_len(struct input *in)
{
	static const uint32_t lens[] = {
		512, 4096, 65536, 66048, 131072, DISK, 0, 1, 511, DISK + 512, NBD_PAYLOAD_MAX,
	};
	uint32_t v = take_bytes(in, 1) % 16;

	return v < 11 ? lens[v] : v < 14 ? take_bytes(in, 1) * 512 : take_bytes(in, 4);
}

static void add_request(struct stream *s, struct input *in)
{
	uint32_t v = take_bytes(in, 1), len = take_len(in);
	struct nbd_request r = {
		.magic = htobe32(v < 253 ? NBD_REQUEST_MAGIC : v),
		.flags = htobe16(v & 16 ? take_bytes(in, 1) % 64 : 0),
		.type = htobe16(v & 8 ? v % 2 : take_bytes(in, 1) % 10),
		.cookie = v,
		.offset = htobe64(v & 32 ? 0 : (uint64_t)take_bytes(in, 2) * 512),
		.len = htobe32(len),
	};

	put(s, &r, sizeof(r));
	/* Mostly a write brings its data: whatever was sent so far. */
	if (r.type == htobe16(NBD_CMD_WRITE) && len <= s->len && take_bytes(in, 1) % 16)
		put(s, s->data, len);
	else if (r.type == htobe16(NBD_CMD_WRITE) && len < STREAM / 2)
		s->len = s->len + len < STREAM ? s->len + len : STREAM;
}

static void take_stream(struct stream *s, struct input *in)
{
	uint32_t shape = take_bytes(in, 1);
	unsigned int options = shape >> 2 & 7;

	put_u32(s, shape & 128 && take_bytes(in, 1) % 8 == 0 ? take_bytes(in, 4) : shape & 3);
	for (unsigned int i = 0; i < options; i++)
		add_option(s, in);
	add_go(s);
	for (unsigned int i = 0; i < STEPS && in->left; i++)
		add_request(s, in);
}

/* Signals come at any time: libFuzzer looks at the clock in one. */
static bool retry(void)
{
	return errno == EAGAIN || errno == EINTR;
}

static int connect_client(void)
{
	struct sockaddr_un addr = { .sun_family = AF_UNIX };
	int sock = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	int ret = -1;

	strcpy(addr.sun_path, server.clients.listener.name);
	do {
		if (sock >= 0)
			ret = connect(sock, (struct sockaddr *)&addr, sizeof(addr));
	} while (ret && sock >= 0 && retry());
	if (ret)
		abort();
	nbd_server_accept(&server);
	return sock;
}

/* Send a piece of what is left; returns how much has gone, all of it if the server has left. */
static size_t send_piece(int sock, const struct stream *s, size_t done, size_t piece)
{
	size_t left = s->len - done;
	ssize_t n = send(sock, s->data + done, left < piece ? left : piece,
			 MSG_DONTWAIT | MSG_NOSIGNAL);

	if (n < 0)
		return retry() ? done : s->len;
	return done + n;
}

/* Take replies; returns whether there are more to come. */
static bool take_replies(int sock)
{
	static char replies[1 << 16];
	ssize_t n = recv(sock, replies, sizeof(replies), MSG_DONTWAIT);

	return n > 0 || (n < 0 && retry());
}

/*
 * Send all of it, cut anywhere, and read until the server has closed its end too. Returns how
 * many pieces it was cut into.
 */
static unsigned int talk(int sock, const struct stream *s, size_t piece)
{
	unsigned int pieces = 0;
	size_t done = 0;

	for (;;) {
		struct pollfd p = { .fd = sock, .events = POLLIN | (done < s->len ? POLLOUT : 0) };

		if (poll(&p, 1, -1) < 0) {
			if (!retry())
				abort();
			continue;
		}
		if (p.revents & POLLOUT) {
			done = send_piece(sock, s, done, ++pieces < PIECES ? piece : STREAM);
			if (done == s->len)
				shutdown(sock, SHUT_WR);
		}
		if (p.revents & (POLLIN | POLLHUP | POLLERR) && !take_replies(sock))
			return pieces;
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct stream s;
	struct input in = { data, size };
	size_t piece = 1 + (take_bytes(&in, 1) % 4 ? STREAM : take_bytes(&in, 2));
	int sock;

	set_up_once();
	s.len = 0;
	take_stream(&s, &in);
	sock = connect_client();
	talk(sock, &s, piece);
	close(sock);
	return 0;
}
