/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef TARGETS_NBD_HANDSHAKE_H
#define TARGETS_NBD_HANDSHAKE_H

#include "targets/nbd/disk.h"

/* What nbd_handshake() returns when the client left before transmission */
#define NBD_LEFT	1

int nbd_handshake(int sock, const struct nbd_disk *disk, unsigned int timeout_ms,
		  struct nbd_agreed *agreed, char why[NBD_WHY_MAX]);

#endif
