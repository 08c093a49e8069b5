/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef ENGINES_NBD_DIRECT_H
#define ENGINES_NBD_DIRECT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "engines/nbd/client.h"

/* What one look at the socket takes at most; 16 replies to reads of 4 KiB. */
#define DIRECT_BUFFER	(64u << 10)

/*
 * Reads of this many bytes and more are received where they belong. Then a look takes no
 * more than DIRECT_SIP at once, because whatever lands in the buffer must be copied.
 */
#define DIRECT_LARGE	(16u << 10)
#define DIRECT_SIP	512u

/**
 * struct direct_out - a request that is being sent
 * @data: data of a write, which follows the header
 * @len: bytes of it
 *
 * Not the slot: a server may answer with an error before it has read everything.
 */
struct direct_out {
	const char *data;
	size_t len;
};

/**
 * struct direct - a connection on which we talk ourselves
 * @structured: structured replies were negotiated
 * @hdr: ring of headers, next to each other, so that those without data leave as one piece
 * @out: ring with what belongs to each
 * @mask: size of both rings minus 1
 * @first: counts requests that are sent completely: the place of the oldest that is not
 * @nr_out: how many are not
 * @sent: bytes of the oldest that are
 * @buf: DIRECT_BUFFER bytes of what was received
 * @pos: where the next byte to look at is
 * @end: where the last is
 * @reading: read whose data comes next, NULL for none
 * @to: where it belongs
 * @left: bytes that are still to come
 * @last: the reply ends with it
 * @skip: bytes to ignore
 * @large: reads in flight of DIRECT_LARGE bytes or more
 * @completed: requests since the last look
 */
struct direct {
	bool structured;
	struct nbd_request *hdr;
	struct direct_out *out;
	unsigned int mask;
	unsigned int first;
	unsigned int nr_out;
	size_t sent;
	char *buf;
	size_t pos;
	size_t end;
	struct nbd_slot *reading;
	char *to;
	size_t left;
	bool last;
	size_t skip;
	unsigned int large;
	unsigned int completed;
};

int direct_next(struct nbd_conn *c, struct nbd_slot **s);

#endif
