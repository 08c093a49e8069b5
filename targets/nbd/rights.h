/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef TARGETS_NBD_RIGHTS_H
#define TARGETS_NBD_RIGHTS_H

#include <sys/socket.h>
#include "targets/iothread/guard.h"

ssize_t nbd_receive_rights(int sock, struct msghdr *mh);
ssize_t nbd_receive_guarded(struct guard *g, int sock, struct msghdr *mh);

#endif
