/* SPDX-License-Identifier: GPL-2.0-only */
#include <endian.h>
#include <errno.h>
#include <poll.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include "base/clock.h"
#include "targets/nbd/handshake.h"
#include "targets/nbd/rights.h"

/*
 * Longest option data: a name and a few queries of NBD_STRING_MAX each. Drop a client that
 * sends more.
 */
#define OPTION_MAX	(64u << 10)

#define ALLOCATION	"base:allocation"

/* How a step ends, beside a negative errno */
enum outcome {
	GO_ON = 0,
	LEFT = NBD_LEFT,
	TRANSMIT,
};

/**
 * struct handshake - a handshake under way
 * @deadline_ns: when it must be over
 * @fixed: the client knows option replies
 * @no_zeroes: send no zeroes after the answer to EXPORT_NAME
 * @option: the option being handled
 * @len: bytes of @data that came with it
 * @pos: bytes of @data already looked at
 */
struct handshake {
	int sock;
	const struct nbd_disk *disk;
	struct nbd_agreed *agreed;
	char *why;
	uint64_t deadline_ns;
	bool fixed;
	bool no_zeroes;
	uint32_t option;
	uint32_t len;
	uint32_t pos;
	unsigned char data[OPTION_MAX];
};

__attribute__((format(printf, 3, 4)))
static int fail(struct handshake *h, int err, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(h->why, NBD_WHY_MAX, fmt, ap);
	va_end(ap);
	return err;
}

static int wait_for(struct handshake *h, short events)
{
	struct pollfd p = { .fd = h->sock, .events = events };

	for (;;) {
		uint64_t now = clock_ns();
		int ret = now < h->deadline_ns ?
			  poll(&p, 1, (int)((h->deadline_ns - now) / 1000000 + 1)) : 0;

		if (ret > 0)
			return 0;
		if (!ret)
			return fail(h, -ETIMEDOUT, "handshake timed out");
		if (errno != EINTR)
			return fail(h, -errno, "poll: %s", strerror(errno));
	}
}

/* LEFT when the client closed before the first byte */
static int receive(struct handshake *h, void *buf, size_t len)
{
	size_t done = 0;

	while (done < len) {
		struct iovec iov = { .iov_base = (char *)buf + done, .iov_len = len - done };
		struct msghdr mh = { .msg_iov = &iov, .msg_iovlen = 1 };
		ssize_t n;
		int ret = wait_for(h, POLLIN);

		if (ret)
			return ret;
		n = nbd_receive_rights(h->sock, &mh);
		if (n < 0 && (errno == EAGAIN || errno == EINTR))
			continue;
		if (n < 0 && errno != ECONNRESET)
			return fail(h, -errno, "recv: %s", strerror(errno));
		if (n <= 0)
			return done ? fail(h, -EPIPE, "connection closed during the handshake") : LEFT;
		done += n;
	}
	return 0;
}

/* LEFT when the client has closed its end */
static int transmit(struct handshake *h, const void *buf, size_t len)
{
	size_t done = 0;

	while (done < len) {
		ssize_t n;
		int ret = wait_for(h, POLLOUT);

		if (ret)
			return ret;
		n = send(h->sock, (const char *)buf + done, len - done,
			 MSG_DONTWAIT | MSG_NOSIGNAL);
		if (n < 0 && (errno == EAGAIN || errno == EINTR))
			continue;
		if (n < 0 && errno != EPIPE && errno != ECONNRESET)
			return fail(h, -errno, "send: %s", strerror(errno));
		if (n < 0)
			return LEFT;
		done += n;
	}
	return 0;
}

/* An option reply: a header, and data in one or two parts. */
static int reply_parts(struct handshake *h, uint32_t type, const void *first, size_t first_len,
		       const void *second, size_t second_len)
{
	struct nbd_option_reply r = {
		.magic = htobe64(NBD_OPTION_REPLY_MAGIC),
		.option = htobe32(h->option),
		.type = htobe32(type),
		.len = htobe32(first_len + second_len),
	};
	char buf[sizeof(r) + sizeof(uint32_t) + 2 * NBD_STRING_MAX];
	size_t len = sizeof(r);

	memcpy(buf, &r, sizeof(r));
	memcpy(buf + len, first, first_len);
	len += first_len;
	memcpy(buf + len, second, second_len);
	return transmit(h, buf, len + second_len);
}

static int reply(struct handshake *h, uint32_t type, const void *data, size_t len)
{
	return reply_parts(h, type, data, len, "", 0);
}

static int acknowledge(struct handshake *h)
{
	return reply(h, NBD_REP_ACK, "", 0);
}

static int refuse(struct handshake *h, uint32_t type, const char *text)
{
	return reply(h, type, text, strlen(text));
}

static int refuse_malformed(struct handshake *h)
{
	return refuse(h, NBD_REP_ERR_INVALID, "the option's data is malformed");
}

/* The next @len bytes of the option's data; false where it has fewer. */
static bool take(struct handshake *h, void *to, uint32_t len)
{
	if (len > h->len - h->pos)
		return false;
	memcpy(to, h->data + h->pos, len);
	h->pos += len;
	return true;
}

static bool take_u16(struct handshake *h, uint16_t *v)
{
	if (!take(h, v, sizeof(*v)))
		return false;
	*v = be16toh(*v);
	return true;
}

static bool take_u32(struct handshake *h, uint32_t *v)
{
	if (!take(h, v, sizeof(*v)))
		return false;
	*v = be32toh(*v);
	return true;
}

/* A string with its length before it, left where it is. */
static bool take_string(struct handshake *h, const char **s, uint32_t *len)
{
	if (!take_u32(h, len) || *len > NBD_STRING_MAX || *len > h->len - h->pos)
		return false;
	*s = (const char *)h->data + h->pos;
	h->pos += *len;
	return true;
}

static bool is_ours(const struct nbd_disk *d, const char *name, size_t len)
{
	return !len || (len == strlen(d->name) && !memcmp(name, d->name, len));
}

static struct nbd_export export_of(const struct handshake *h)
{
	const struct nbd_disk *d = h->disk;
	/*
	 * A flush or a write with FUA on one connection is seen by all, as they share one
	 * backend: so CAN_MULTI_CONN.
	 */
	uint16_t flags = NBD_FLAG_HAS_FLAGS | NBD_FLAG_SEND_FLUSH | NBD_FLAG_SEND_FUA |
			 NBD_FLAG_SEND_CACHE | NBD_FLAG_CAN_MULTI_CONN;

	if (d->read_only)
		flags |= NBD_FLAG_READ_ONLY;
	else
		flags |= NBD_FLAG_SEND_TRIM | NBD_FLAG_SEND_WRITE_ZEROES | NBD_FLAG_SEND_FAST_ZERO;
	if (h->agreed->structured)
		flags |= NBD_FLAG_SEND_DF;
	return (struct nbd_export) { .size = htobe64(d->backend->size), .flags = htobe16(flags) };
}

/* EXPORT_NAME cannot be refused but by dropping the client. */
static int do_export_name(struct handshake *h)
{
	char buf[sizeof(struct nbd_export) + NBD_EXPORT_ZEROES] = { 0 };
	struct nbd_export e = export_of(h);
	int ret;

	if (!is_ours(h->disk, (const char *)h->data, h->len))
		return fail(h, -ENOENT, "no export of the requested name");
	memcpy(buf, &e, sizeof(e));
	ret = transmit(h, buf, h->no_zeroes ? sizeof(e) : sizeof(buf));
	return ret ? ret : TRANSMIT;
}

static int do_abort(struct handshake *h)
{
	int ret = acknowledge(h);

	return ret ? ret : LEFT;
}

static int do_list(struct handshake *h)
{
	const struct nbd_disk *d = h->disk;
	uint32_t len = htobe32(strlen(d->name));
	char buf[sizeof(len) + NBD_STRING_MAX];
	int ret;

	if (h->len)
		return refuse(h, NBD_REP_ERR_INVALID, "LIST takes no data");
	memcpy(buf, &len, sizeof(len));
	memcpy(buf + sizeof(len), d->name, strlen(d->name));
	ret = reply_parts(h, NBD_REP_SERVER, buf, sizeof(len) + strlen(d->name), d->description,
			  strlen(d->description));
	return ret ? ret : acknowledge(h);
}

static int send_info_string(struct handshake *h, uint16_t type, const char *s)
{
	type = htobe16(type);
	return reply_parts(h, NBD_REP_INFO, &type, sizeof(type), s, strlen(s));
}

static int send_info(struct handshake *h, uint16_t type)
{
	uint32_t min = h->disk->block_size;
	struct nbd_info_block_size sizes = {
		.type = htobe16(NBD_INFO_BLOCK_SIZE),
		.min = htobe32(min),
		.preferred = htobe32(min > 4096 ? min : 4096),
		.max_payload = htobe32(NBD_PAYLOAD_MAX),
	};

	switch (type) {
	case NBD_INFO_NAME:
		return send_info_string(h, type, h->disk->name);
	case NBD_INFO_DESCRIPTION:
		return send_info_string(h, type, h->disk->description);
	case NBD_INFO_BLOCK_SIZE:
		return reply(h, NBD_REP_INFO, &sizes, sizeof(sizes));
	default:
		/* EXPORT is sent anyway; ignore unknown ones. */
		return 0;
	}
}

static int do_info(struct handshake *h)
{
	struct nbd_info_export info = { .type = htobe16(NBD_INFO_EXPORT), .e = export_of(h) };
	const char *name;
	uint32_t name_len;
	uint16_t nr;
	int ret;

	if (!take_string(h, &name, &name_len) || !take_u16(h, &nr) || h->len - h->pos != 2u * nr)
		return refuse_malformed(h);
	if (!is_ours(h->disk, name, name_len))
		return refuse(h, NBD_REP_ERR_UNKNOWN, "there is no export of this name");

	ret = reply(h, NBD_REP_INFO, &info, sizeof(info));
	for (uint16_t type; !ret && take_u16(h, &type); )
		ret = send_info(h, type);
	if (!ret)
		ret = acknowledge(h);
	return ret ? ret : h->option == NBD_OPT_GO ? TRANSMIT : GO_ON;
}

static int do_structured_reply(struct handshake *h)
{
	if (h->len)
		return refuse(h, NBD_REP_ERR_INVALID, "STRUCTURED_REPLY takes no data");
	h->agreed->structured = true;
	return acknowledge(h);
}

/* Only a list may be asked for with the leaf of the name left out. */
static bool query_matches(const struct handshake *h, const char *query, uint32_t len)
{
	if (h->option == NBD_OPT_LIST_META_CONTEXT && len == 5 && !memcmp(query, "base:", 5))
		return true;
	return len == strlen(ALLOCATION) && !memcmp(query, ALLOCATION, len);
}

static int do_meta_context(struct handshake *h)
{
	bool set = h->option == NBD_OPT_SET_META_CONTEXT, found;
	uint32_t name_len, nr, id = htobe32(set ? NBD_ALLOCATION_ID : 0);
	const char *name;
	int ret = 0;

	if (set)
		h->agreed->allocation = false;
	if (!h->agreed->structured)
		return refuse(h, NBD_REP_ERR_INVALID, "structured replies come first");
	if (!take_string(h, &name, &name_len) || !take_u32(h, &nr))
		return refuse_malformed(h);
	found = !nr && !set;
	while (nr--) {
		const char *query;
		uint32_t len;

		if (!take_string(h, &query, &len))
			return refuse_malformed(h);
		found = found || query_matches(h, query, len);
	}
	if (h->pos != h->len)
		return refuse_malformed(h);
	if (!is_ours(h->disk, name, name_len))
		return refuse(h, NBD_REP_ERR_UNKNOWN, "there is no export of this name");

	if (found)
		ret = reply_parts(h, NBD_REP_META_CONTEXT, &id, sizeof(id), ALLOCATION,
				  strlen(ALLOCATION));
	if (set)
		h->agreed->allocation = found;
	return ret ? ret : acknowledge(h);
}

static int haggle(struct handshake *h)
{
	if (h->disk->refusal && h->option == NBD_OPT_EXPORT_NAME)
		return fail(h, -EUSERS, "%s", h->disk->refusal);
	if (h->disk->refusal && h->option != NBD_OPT_ABORT)
		return refuse(h, NBD_REP_ERR_POLICY, h->disk->refusal);
	switch (h->option) {
	case NBD_OPT_EXPORT_NAME:
		return do_export_name(h);
	case NBD_OPT_ABORT:
		return do_abort(h);
	case NBD_OPT_LIST:
		return do_list(h);
	case NBD_OPT_INFO:
	case NBD_OPT_GO:
		return do_info(h);
	case NBD_OPT_STRUCTURED_REPLY:
		return do_structured_reply(h);
	case NBD_OPT_LIST_META_CONTEXT:
	case NBD_OPT_SET_META_CONTEXT:
		return do_meta_context(h);
	default:
		return refuse(h, NBD_REP_ERR_UNSUP, "");
	}
}

/* Receive an option and answer it. */
static int one_option(struct handshake *h)
{
	struct nbd_option_header header;
	int ret = receive(h, &header, sizeof(header));

	if (ret)
		return ret;
	if (be64toh(header.magic) != NBD_OPTION_MAGIC)
		return fail(h, -EPROTO, "option does not begin with IHAVEOPT");
	h->option = be32toh(header.option);
	h->len = be32toh(header.len);
	h->pos = 0;
	if (h->len > OPTION_MAX)
		return fail(h, -EMSGSIZE, "option %u has %u bytes of data", h->option, h->len);
	if (!h->fixed && h->option != NBD_OPT_EXPORT_NAME)
		return fail(h, -EPROTO, "option %u needs fixed newstyle", h->option);
	ret = receive(h, h->data, h->len);
	if (ret == LEFT)
		return fail(h, -EPIPE, "connection closed during the handshake");
	return ret ? ret : haggle(h);
}

/* Greetings and flags. */
static int begin(struct handshake *h)
{
	const uint32_t known = NBD_FLAG_FIXED_NEWSTYLE | NBD_FLAG_NO_ZEROES;
	struct nbd_greeting greeting = {
		.magic = htobe64(NBD_MAGIC),
		.option_magic = htobe64(NBD_OPTION_MAGIC),
		.flags = htobe16(known),
	};
	uint32_t flags;
	int ret = transmit(h, &greeting, sizeof(greeting));

	if (!ret)
		ret = receive(h, &flags, sizeof(flags));
	if (ret)
		return ret;
	flags = be32toh(flags);
	if (flags & ~known)
		return fail(h, -EPROTO, "unknown handshake flags 0x%x", flags);
	h->fixed = flags & NBD_FLAG_FIXED_NEWSTYLE;
	h->no_zeroes = flags & NBD_FLAG_NO_ZEROES;
	return 0;
}

/**
 * nbd_handshake - negotiate with a client
 * @sock: the connection
 * @disk: what is exported
 * @timeout_ms: how long it may take
 * @agreed: filled in
 * @why: what a negative return means, in words
 *
 * Fixed newstyle, "Newstyle negotiation" and "Option types" of the specification.
 *
 * Return: 0 for transmission, NBD_LEFT when the client ended the connection itself, or a
 * negative errno.
 */
int nbd_handshake(int sock, const struct nbd_disk *disk, unsigned int timeout_ms,
		  struct nbd_agreed *agreed, char why[NBD_WHY_MAX])
{
	struct handshake h = {
		.sock = sock,
		.disk = disk,
		.agreed = agreed,
		.why = why,
		.deadline_ns = clock_ns() + timeout_ms * 1000000ull,
	};
	int ret = begin(&h);

	*agreed = (struct nbd_agreed) { .structured = false };
	while (ret == GO_ON)
		ret = one_option(&h);
	return ret == TRANSMIT ? 0 : ret;
}
