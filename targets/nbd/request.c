/* SPDX-License-Identifier: GPL-2.0-only */
#include <errno.h>
#include "targets/nbd/connection.h"

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

static int refuse(struct nbd_slot *s, int err, const char *why)
{
	s->why = why;
	return err;
}

static int check_range(const struct nbd_conn *c, const struct command *cmd, struct nbd_slot *s)
{
	const struct nbd_disk *d = c->disk;
	uint64_t offset = s->r.offset, len = s->r.len, size = d->backend->size;

	if (!cmd->ranged)
		return offset || len ? refuse(s, -EINVAL, "offset and length must be 0") : 0;
	if (!len)
		return refuse(s, -EINVAL, "nothing is asked for");
	if ((offset | len) & (d->block_size - 1))
		return refuse(s, -EINVAL, "not a multiple of the minimum block size");
	if (offset > size || len > size - offset)
		return refuse(s, cmd->past_end, "beyond the end of the export");
	/* EOVERFLOW is for clients that know DF. */
	if (s->type == NBD_CMD_READ && len > NBD_PAYLOAD_MAX)
		return refuse(s, c->agreed.structured ? -EOVERFLOW : -EINVAL,
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
 * @c: the connection
 * @s: the request, with type, offset and length; its kind and flags are filled in, and
 *	@s->why where it may not
 * @flags: NBD_CMD_FLAG_* that it brings
 *
 * "Request types" and "Error values" of the specification.
 *
 * Return: 0 or a negative errno that nbd_error() knows.
 */
int nbd_check_request(const struct nbd_conn *c, struct nbd_slot *s, uint16_t flags)
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
	if (!c->agreed.structured)
		allowed &= ~NBD_CMD_FLAG_DF;
	if (flags & ~allowed)
		return refuse(s, -EINVAL, "a flag that the command does not take");
	if (s->type == NBD_CMD_BLOCK_STATUS && !c->agreed.allocation)
		return refuse(s, -EINVAL, "no metadata context was agreed on");
	if (cmd->writes && c->disk->read_only)
		return refuse(s, -EPERM, "the export is read-only");
	return check_range(c, cmd, s);
}
