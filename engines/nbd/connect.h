/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef ENGINES_NBD_CONNECT_H
#define ENGINES_NBD_CONNECT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <libnbd.h>
#include "engines/nbd/watch.h"

/**
 * struct nbd_limits - what a server's export can do
 * @capacity: bytes
 * @block_size: smallest unit of I/O in bytes
 * @max_payload: most bytes of one request, a multiple of @block_size
 * @read_only: it refuses writes
 * @flush: it takes flushes
 * @fua: it takes writes that must be durable once answered
 * @trim: it takes trims
 * @zeroes: it takes write zeroes
 * @multi_conn: a flush on one connection covers all
 * @structured: it was agreed that replies are structured
 * @tls: the connection is encrypted
 */
struct nbd_limits {
	uint64_t capacity;
	uint32_t block_size;
	uint32_t max_payload;
	bool read_only;
	bool flush;
	bool fua;
	bool trim;
	bool zeroes;
	bool multi_conn;
	bool structured;
	bool tls;
};

int nbd_server_connect(const char *uri, bool structured, const struct nbd_patience *patience,
		       struct nbd_handle **h, char *why, size_t len);
void nbd_server_limits(struct nbd_handle *h, struct nbd_limits *l);
void nbd_server_leave(struct nbd_handle *h);

#endif
