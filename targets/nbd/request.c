/* SPDX-License-Identifier: GPL-2.0-only */
/* Requests as the wire has them: what may be asked for, and what a reply looks like */

#include <endian.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include "targets/nbd/request.h"

/**
 * struct command - what a command may and must bring
 * @known: there is such a command
 * @kind: what it is for the backend
 * @flags: NBD_CMD_FLAG_* it takes; FUA is fine with each
 * @writes: it changes data
 * @ranged: it has an offset and a length; else both must be 0
 * @past_end: the error for a range that ends behind the export
 */
struct command {
	bool known;
	enum request_kind kind;
	uint16_t flags;
	bool writes;
	bool ranged;
	int past_end;
};

static const struct command commands[NBD_CMD_MAX] = {
	[NBD_CMD_READ] = {
		.known = true, .kind = REQ_READ, .flags = NBD_CMD_FLAG_DF,
		.ranged = true, .past_end = -EINVAL,
	},
	[NBD_CMD_WRITE] = {
		.known = true, .kind = REQ_WRITE,
		.writes = true, .ranged = true, .past_end = -ENOSPC,
	},
	[NBD_CMD_FLUSH] = {
		.known = true, .kind = REQ_FLUSH,
	},
	[NBD_CMD_TRIM] = {
		.known = true, .kind = REQ_DISCARD,
		.writes = true, .ranged = true, .past_end = -EINVAL,
	},
	[NBD_CMD_CACHE] = {
		.known = true, .kind = REQ_CACHE,
		.ranged = true, .past_end = -EINVAL,
	},
	[NBD_CMD_WRITE_ZEROES] = {
		.known = true, .kind = REQ_WRITE_ZEROES,
		.flags = NBD_CMD_FLAG_NO_HOLE | NBD_CMD_FLAG_FAST_ZERO,
		.writes = true, .ranged = true, .past_end = -ENOSPC,
	},
	[NBD_CMD_BLOCK_STATUS] = {
		.known = true, .kind = REQ_BLOCK_STATUS, .flags = NBD_CMD_FLAG_REQ_ONE,
		.ranged = true, .past_end = -EINVAL,
	},
};

/**
 * nbd_say_malformed - say what is wrong with a malformed request
 * @req: the request
 * @why: filled in
 */
void nbd_say_malformed(const struct nbd_request *req, char why[NBD_WHY_MAX])
{
	if (be32toh(req->magic) != NBD_REQUEST_MAGIC)
		snprintf(why, NBD_WHY_MAX, "bad request magic 0x%08x",
			 be32toh(req->magic));
	else
		snprintf(why, NBD_WHY_MAX, "write of %u bytes, at most %u are accepted",
			 be32toh(req->len), NBD_PAYLOAD_MAX);
}

static int refuse(struct nbd_slot *s, int err, const char *why)
{
	s->why = why;
	return err;
}

static int check_range(const struct nbd_disk *d, const struct nbd_agreed *agreed,
		       const struct command *cmd, struct nbd_slot *s)
{
	uint64_t offset = s->r.offset, len = s->r.len, size = d->backend->size;

	if (!cmd->ranged)
		return offset || len ? refuse(s, -EINVAL, "offset and length must be 0") : 0;
	if (!len)
		return refuse(s, -EINVAL, "length is 0");
	if ((offset | len) & (d->block_size - 1))
		return refuse(s, -EINVAL, "not a multiple of the minimum block size");
	if (offset > size || len > size - offset)
		return refuse(s, cmd->past_end, "beyond the end of the export");
	/* Clients that know DF know EOVERFLOW. */
	if (s->type == NBD_CMD_READ && len > NBD_PAYLOAD_MAX)
		return refuse(s, agreed->structured ? -EOVERFLOW : -EINVAL,
			      "more than the maximum block size");
	return 0;
}

static unsigned int backend_flags(const struct command *cmd, uint16_t flags)
{
	unsigned int f = 0;

	if (cmd->writes && flags & NBD_CMD_FLAG_FUA)
		f |= BLK_FUA;
	if (cmd->kind == REQ_WRITE_ZEROES && !(flags & NBD_CMD_FLAG_NO_HOLE))
		f |= BLK_UNMAP;
	if (flags & NBD_CMD_FLAG_FAST_ZERO)
		f |= BLK_FAST;
	return f;
}

/**
 * nbd_check_request - whether a request may be carried out
 * @disk: what is exported
 * @agreed: by the handshake
 * @s: the request, with type, offset and length; its kind and flags are filled in, and
 *	@s->why where it may not
 * @flags: NBD_CMD_FLAG_* that it brings
 *
 * "Request types" and "Error values" of the specification.
 *
 * Return: 0 or a negative errno that nbd_error() knows.
 */
int nbd_check_request(const struct nbd_disk *disk, const struct nbd_agreed *agreed,
		      struct nbd_slot *s, uint16_t flags)
{
	const struct command *cmd = s->type < NBD_CMD_MAX ? &commands[s->type] : NULL;
	uint16_t allowed;

	s->why = NULL;
	if (!cmd || !cmd->known) {
		s->r.kind = REQ_UNSUPPORTED;
		return refuse(s, -EINVAL, "unknown command");
	}
	s->r.kind = cmd->kind;
	s->r.flags = backend_flags(cmd, flags);
	allowed = cmd->flags | NBD_CMD_FLAG_FUA;
	if (!agreed->structured)
		allowed &= ~NBD_CMD_FLAG_DF;
	if (flags & ~allowed)
		return refuse(s, -EINVAL, "a flag that the command does not take");
	if (s->type == NBD_CMD_BLOCK_STATUS && !agreed->allocation)
		return refuse(s, -EINVAL, "no metadata context was agreed on");
	if (cmd->writes && disk->read_only)
		return refuse(s, -EPERM, "the export is read-only");
	return check_range(disk, agreed, cmd, s);
}

/**
 * nbd_room_needed - how much memory the data of a request takes
 * @s: the request, checked
 *
 * Return: bytes that it brings to the backend or back from it.
 */
size_t nbd_room_needed(const struct nbd_slot *s)
{
	switch (s->type) {
	case NBD_CMD_READ:
	case NBD_CMD_WRITE:
		return s->r.len;
	case NBD_CMD_BLOCK_STATUS:
		return NBD_SMALL;
	default:
		return 0;
	}
}

static struct nbd_chunk chunk(const struct nbd_slot *s, uint16_t type, uint32_t len)
{
	return (struct nbd_chunk) {
		.magic = htobe32(NBD_STRUCTURED_REPLY_MAGIC),
		.flags = htobe16(NBD_REPLY_FLAG_DONE),
		.type = htobe16(type),
		.cookie = s->cookie,
		.len = htobe32(len),
	};
}

static size_t put_simple(void *to, const struct nbd_slot *s)
{
	struct nbd_simple_reply r = {
		.magic = htobe32(NBD_SIMPLE_REPLY_MAGIC),
		.error = htobe32(nbd_error(s->r.result)),
		.cookie = s->cookie,
	};

	memcpy(to, &r, sizeof(r));
	return sizeof(r);
}

/* Send a sentence for a request that was wrong, and the offset for one that failed. */
static size_t put_error(char *to, const struct nbd_slot *s)
{
	size_t why_len = s->why ? strlen(s->why) : 0;
	bool place = !s->why && s->r.len;
	uint64_t offset = htobe64(s->r.offset);
	struct nbd_chunk_error e = {
		.error = htobe32(nbd_error(s->r.result)),
		.message_len = htobe16(why_len),
	};
	size_t len = sizeof(e) + why_len;

	e.h = chunk(s, place ? NBD_REPLY_TYPE_ERROR_OFFSET : NBD_REPLY_TYPE_ERROR,
		    len - sizeof(e.h) + (place ? sizeof(offset) : 0));
	memcpy(to, &e, sizeof(e));
	if (why_len)
		memcpy(to + sizeof(e), s->why, why_len);
	if (!place)
		return len;
	memcpy(to + len, &offset, sizeof(offset));
	return len + sizeof(offset);
}

/*
 * Send the header and the data in one piece. Holes are sent as data, too: finding them takes an
 * lseek(2) per read, half of what reading 4 KiB from the page cache costs, and programs that copy
 * disks ask for block status first.
 */
static struct iovec form_read(struct nbd_slot *s, bool structured)
{
	size_t front;

	if (structured) {
		struct nbd_chunk_data d = { .offset = htobe64(s->r.offset) };

		front = sizeof(d);
		d.h = chunk(s, NBD_REPLY_TYPE_OFFSET_DATA, sizeof(d.offset) + s->r.len);
		memcpy(s->buf - front, &d, front);
	} else {
		front = sizeof(struct nbd_simple_reply);
		put_simple(s->buf - front, s);
	}
	return (struct iovec) { s->buf - front, front + s->r.len };
}

/*
 * Convert the backend's extents to the wire's, which are shorter, in the same memory, and end
 * the last one where the request ends.
 */
static unsigned int convert_extents(struct nbd_slot *s)
{
	uint64_t left = s->r.len;
	unsigned int n = 0;

	for (unsigned int i = 0; i < s->r.nr_extent && left; i++) {
		struct blk_extent from = s->r.extent[i];
		struct nbd_extent to;

		if (from.len > left)
			from.len = left;
		left -= from.len;
		to = (struct nbd_extent) { htobe32(from.len), htobe32(from.flags) };
		memcpy(s->buf + n++ * sizeof(to), &to, sizeof(to));
	}
	return n;
}

static struct iovec form_status(struct nbd_slot *s)
{
	struct nbd_chunk_status h = { .context = htobe32(NBD_ALLOCATION_ID) };
	size_t len = convert_extents(s) * sizeof(struct nbd_extent);

	h.h = chunk(s, NBD_REPLY_TYPE_BLOCK_STATUS, sizeof(h.context) + len);
	memcpy(s->buf - sizeof(h), &h, sizeof(h));
	return (struct iovec) { s->buf - sizeof(h), sizeof(h) + len };
}

/**
 * nbd_form_reply - bring the reply to a request into the form it is sent in
 * @s: the request, done
 * @structured: structured replies were agreed on
 * @to: NBD_REPLY_MAX bytes for a reply without data
 *
 * Only READ must, and BLOCK_STATUS can only, be answered by a structured reply.
 *
 * Return: the reply; unless it begins at @to it lies in the slot's memory, which must then stay
 * as it is until the reply is sent.
 */
struct iovec nbd_form_reply(struct nbd_slot *s, bool structured, char *to)
{
	if (s->type == NBD_CMD_READ && !s->r.result)
		return form_read(s, structured);
	if (s->type == NBD_CMD_BLOCK_STATUS && !s->r.result)
		return form_status(s);
	return (struct iovec) {
		to, s->r.result && structured ? put_error(to, s) : put_simple(to, s)
	};
}
