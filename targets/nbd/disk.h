/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef TARGETS_NBD_DISK_H
#define TARGETS_NBD_DISK_H

#include "targets/backend/backend.h"
#include "wire/nbd.h"

/**
 * struct nbd_disk - what is exported
 * @backend: where the data is
 * @name: its name; the default export, with an empty name, is the same disk
 * @description: for people
 * @block_size: every offset and length is a multiple of it, in bytes
 * @read_only: refuse whatever changes data
 * @refusal: why this client is refused, NULL if it is not
 */
struct nbd_disk {
	struct backend *backend;
	const char *name;
	const char *description;
	uint32_t block_size;
	bool read_only;
	const char *refusal;
};

/**
 * struct nbd_agreed - what a handshake has settled
 * @structured: structured replies
 * @allocation: the metadata context base:allocation, under the number NBD_ALLOCATION_ID
 */
struct nbd_agreed {
	bool structured;
	bool allocation;
};

#define NBD_ALLOCATION_ID	1

/* Longest reason for which a client is dropped, with its end */
#define NBD_WHY_MAX	128

#endif
