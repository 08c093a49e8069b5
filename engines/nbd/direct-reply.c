/* SPDX-License-Identifier: GPL-2.0-only */
#include <endian.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include "base/cpu.h"
#include "engines/nbd/direct.h"

/*
 * The datapath that batches: replies, as "Simple reply message" and "Structured reply
 * types" of the specification have them. Nothing the server sends is trusted.
 */

static size_t available(const struct direct *d)
{
	return d->end - d->pos;
}

/* Whether the server can have seen a request: at least its header was sent. */
static bool was_sent(const struct direct *d, const struct nbd_slot *s)
{
	uint32_t serial = s->cookie >> 32;

	return (int32_t)(serial - d->first) < 0 ||
	       (serial == d->first && d->sent >= sizeof(struct nbd_request));
}

/* The request that a reply belongs to, NULL if there is none like that in flight. */
static struct nbd_slot *find(struct nbd_conn *c, uint64_t cookie)
{
	uint32_t i = cookie;
	struct nbd_slot *s;

	if (i >= c->client->nr_slots)
		return NULL;
	s = &c->client->slot[i];
	return s->busy && s->conn == c && s->cookie == cookie && was_sent(c->priv, s) ? s : NULL;
}

static int unknown_cookie(struct nbd_conn *c, uint64_t cookie)
{
	return nbd_fault(c->client, "a reply to no request, its cookie %#" PRIx64, cookie);
}

static int bad_chunk(struct nbd_conn *c, uint16_t type, const char *what)
{
	return nbd_fault(c->client, "%s in a chunk of type %#x", what, type);
}

/* A reply is over; returns 1. */
static int finish(struct nbd_conn *c, struct nbd_slot *s)
{
	struct direct *d = c->priv;

	if (s->type == NBD_CMD_READ && s->len >= DIRECT_LARGE)
		d->large--;
	d->completed++;
	return 1;
}

/* The same for one in chunks, of which a read needs all; returns 1 or -EPROTO. */
static int finish_chunks(struct nbd_conn *c, struct nbd_slot *s)
{
	int ret = nbd_slot_finish(s);

	return ret ? : finish(c, s);
}

static void expect_data(struct direct *d, struct nbd_slot *s, char *to, size_t len, bool last)
{
	d->reading = s;
	d->to = to;
	d->left = len;
	d->last = last;
}

/* Returns 1 with a request complete, 0 with data to come, or -EPROTO. */
static int parse_simple(struct nbd_conn *c, const struct nbd_simple_reply *r, struct nbd_slot **out)
{
	struct direct *d = c->priv;
	struct nbd_slot *s = find(c, be64toh(r->cookie));

	if (!s)
		return unknown_cookie(c, be64toh(r->cookie));
	if (s->type == NBD_CMD_READ && d->structured)
		return nbd_fault(c->client, "a simple reply to a read");
	s->error = -nbd_errno(be32toh(r->error));
	d->pos += sizeof(*r);
	if (s->type == NBD_CMD_READ && !s->error) {
		expect_data(d, s, s->buf, s->len, true);
		return 0;
	}
	*out = s;
	return finish(c, s);
}

/* Where content that begins at @offset of the export belongs, NULL if it is not wanted. */
static char *place(struct nbd_slot *s, uint64_t offset, uint64_t len)
{
	return nbd_slot_add(s, offset, len) ? s->buf + (offset - s->offset) : NULL;
}

/* Returns 0, -EAGAIN, or -EPROTO. */
static int parse_data(struct nbd_conn *c, struct nbd_slot *s, const struct nbd_chunk_data *r,
		      bool last)
{
	struct direct *d = c->priv;
	uint32_t len = be32toh(r->h.len);
	char *to;

	if (len > 8 && available(d) < sizeof(*r))
		return -EAGAIN;
	to = len > 8 ? place(s, be64toh(r->offset), len - 8) : NULL;
	if (!to)
		return bad_chunk(c, NBD_REPLY_TYPE_OFFSET_DATA, "not what was asked for");
	d->pos += sizeof(*r);
	expect_data(d, s, to, len - 8, last);
	return 0;
}

/* Returns 0, -EAGAIN, or -EPROTO. */
static int parse_hole(struct nbd_conn *c, struct nbd_slot *s, const struct nbd_chunk_hole *r)
{
	struct direct *d = c->priv;
	char *to = NULL;

	if (be32toh(r->h.len) == sizeof(*r) - sizeof(r->h)) {
		if (available(d) < sizeof(*r))
			return -EAGAIN;
		to = place(s, be64toh(r->offset), be32toh(r->len));
	}
	if (!to)
		return bad_chunk(c, NBD_REPLY_TYPE_OFFSET_HOLE, "not what was asked for");
	d->pos += sizeof(*r);
	memset(to, 0, be32toh(r->len));
	return 0;
}

/* What the server says of the first error of all is kept: fio knows but numbers. */
static void keep_complaint(struct nbd_client *client, const struct nbd_chunk_error *r,
			   uint16_t message_len, bool has_offset)
{
	const char *message = (const char *)(r + 1);
	uint64_t offset;
	int n = 0;

	if (client->complaint[0] || (!message_len && !has_offset))
		return;
	if (has_offset) {
		memcpy(&offset, message + message_len, sizeof(offset));
		n = snprintf(client->complaint, sizeof(client->complaint), "at offset %" PRIu64 ": ",
			     be64toh(offset));
	}
	snprintf(client->complaint + n, sizeof(client->complaint) - n, "%.*s", message_len, message);
	for (char *p = client->complaint; *p; p++) {
		if ((unsigned char)*p < ' ' || *p == 0x7f)
			*p = '?';
	}
}

/* Returns 0, -EAGAIN, or -EPROTO. */
static int parse_error(struct nbd_conn *c, struct nbd_slot *s, const struct nbd_chunk_error *r)
{
	struct direct *d = c->priv;
	const size_t fixed = sizeof(*r) - sizeof(r->h);
	uint16_t type = be16toh(r->h.type), message_len;
	bool has_offset = type == NBD_REPLY_TYPE_ERROR_OFFSET;
	size_t len = be32toh(r->h.len), tail = has_offset ? sizeof(uint64_t) : 0;

	if (len < fixed + tail)
		return bad_chunk(c, type, "too few bytes");
	if (available(d) < sizeof(*r))
		return -EAGAIN;
	message_len = be16toh(r->message_len);
	if (message_len > NBD_STRING_MAX || message_len > len - fixed - tail || !r->error)
		return bad_chunk(c, type, "no proper error");
	if (available(d) < sizeof(*r) + message_len + tail)
		return -EAGAIN;

	if (!s->error)
		s->error = -nbd_errno(be32toh(r->error));
	keep_complaint(c->client, r, message_len, has_offset);
	d->pos += sizeof(*r) + message_len + tail;
	/* An error of a kind that is not known here may say more. */
	d->skip = len - fixed - message_len - tail;
	return 0;
}

/* Returns 1 with a request complete, 0 with a chunk taken, -EAGAIN without, or -EPROTO. */
static int parse_chunk(struct nbd_conn *c, struct nbd_slot **out)
{
	struct direct *d = c->priv;
	const struct nbd_chunk *r = (const void *)(d->buf + d->pos);
	uint16_t type;
	struct nbd_slot *s;
	bool last;
	int ret = 0;

	if (available(d) < sizeof(*r))
		return -EAGAIN;
	if (!d->structured)
		return nbd_fault(c->client, "a structured reply, which was not agreed on");
	s = find(c, be64toh(r->cookie));
	if (!s)
		return unknown_cookie(c, be64toh(r->cookie));
	type = be16toh(r->type);
	last = be16toh(r->flags) & NBD_REPLY_FLAG_DONE;

	switch (type) {
	case NBD_REPLY_TYPE_NONE:
		if (r->len || !last)
			return bad_chunk(c, type, "no end of a reply");
		d->pos += sizeof(*r);
		break;
	case NBD_REPLY_TYPE_OFFSET_DATA:
		return parse_data(c, s, (const void *)r, last);
	case NBD_REPLY_TYPE_OFFSET_HOLE:
		ret = parse_hole(c, s, (const void *)r);
		break;
	default:
		/* Types without bit 15 are no errors, and must be known. */
		if (!(type & NBD_REPLY_ERR(0)))
			return bad_chunk(c, type, "what nobody asked for");
		ret = parse_error(c, s, (const void *)r);
		break;
	}
	if (ret)
		return ret;
	if (!last)
		return 0;
	*out = s;
	return finish_chunks(c, s);
}

/* Data of a read that landed in the buffer. Returns whether that was all of it. */
static bool take_data(struct direct *d)
{
	size_t n = available(d) < d->left ? available(d) : d->left;

	if (n) {
		memcpy(d->to, d->buf + d->pos, n);
		d->pos += n;
		d->to += n;
		d->left -= n;
	}
	return !d->left;
}

/* Returns whether there is nothing to skip any more. */
static bool skip(struct direct *d)
{
	size_t n = available(d) < d->skip ? available(d) : d->skip;

	d->pos += n;
	d->skip -= n;
	return !d->skip;
}

/* Returns as parse_chunk(). */
static int parse_reply(struct nbd_conn *c, struct nbd_slot **out)
{
	struct direct *d = c->priv;
	const struct nbd_simple_reply *r = (const void *)(d->buf + d->pos);
	uint32_t magic;

	if (available(d) < sizeof(*r))
		return -EAGAIN;
	magic = be32toh(r->magic);
	if (magic == NBD_STRUCTURED_REPLY_MAGIC)
		return parse_chunk(c, out);
	if (magic == NBD_SIMPLE_REPLY_MAGIC)
		return parse_simple(c, r, out);
	return nbd_fault(c->client, "a reply that begins with %#x", magic);
}

/**
 * direct_next - take replies out of the buffer until a request is complete
 * @c: the connection
 * @s: set to the request
 *
 * Return: 1, 0 when receive() has to bring more, or -EPROTO.
 */
int direct_next(struct nbd_conn *c, struct nbd_slot **s)
{
	struct direct *d = c->priv;

	for (;;) {
		int ret;

		if (d->reading) {
			if (!take_data(d))
				return 0;
			*s = d->reading;
			d->reading = NULL;
			if (d->last)
				return d->structured ? finish_chunks(c, *s) : finish(c, *s);
			continue;
		}
		if (d->skip && !skip(d))
			return 0;
		ret = parse_reply(c, s);
		if (ret == -EAGAIN)
			return 0;
		if (ret)
			return ret;
	}
}
