/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef TARGETS_NBD_REQUEST_H
#define TARGETS_NBD_REQUEST_H

#include <endian.h>
#include "targets/nbd/disk.h"
#include "targets/nbd/slot.h"

/* Longest reply without data */
#define NBD_REPLY_MAX	96u

void nbd_say_malformed(const struct nbd_request *req, char why[NBD_WHY_MAX]);
int nbd_check_request(const struct nbd_disk *disk, const struct nbd_agreed *agreed,
		      struct nbd_slot *s, uint16_t flags);
size_t nbd_room_needed(const struct nbd_slot *s);
struct iovec nbd_form_reply(struct nbd_slot *s, bool structured, char *to);

/**
 * nbd_is_malformed - whether a request is one after which the client cannot be heard any more
 * @req: the request
 *
 * Receiving the data of a write that is refused for its length would take too long.
 */
static inline bool nbd_is_malformed(const struct nbd_request *req)
{
	return be32toh(req->magic) != NBD_REQUEST_MAGIC ||
	       (be16toh(req->type) == NBD_CMD_WRITE && be32toh(req->len) > NBD_PAYLOAD_MAX);
}

#endif
