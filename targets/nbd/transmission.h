/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef TARGETS_NBD_TRANSMISSION_H
#define TARGETS_NBD_TRANSMISSION_H

#include "targets/nbd/connection.h"

int nbd_transmission_start(struct nbd_conn *c, struct iothread *it);

#endif
