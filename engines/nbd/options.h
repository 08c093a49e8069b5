/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef ENGINES_NBD_OPTIONS_H
#define ENGINES_NBD_OPTIONS_H

#include "engines/glue/wait.h"
#include "engines/glue/fio-compat.h"

/* How a connection talks after the handshake; zero is the default. */
enum nbd_datapath_kind {
	NBD_DIRECT,
	NBD_BY_LIBNBD,
};

/* What a fio trim becomes, as fio has no direction for writing zeroes. */
enum nbd_trim_kind {
	NBD_TRIM_AS_TRIM,
	NBD_TRIM_AS_ZEROES,
};

/**
 * struct nbd_options - engine options in a job file
 * @pad: fio's own: an option must not be at offset 0
 * @uri: where the server is
 * @datapath: enum nbd_datapath_kind
 * @connections: how many a job has
 * @structured_replies: ask the server for them
 * @fua: writes are durable once answered
 * @trim_as: enum nbd_trim_kind
 * @wait_mode: enum wait_mode
 * @wait_poll_max_ns: longest polling window of WAIT_ADAPTIVE
 * @stuck_timeout: seconds after which a request counts as lost
 * @dp_stats: prefix of the files with what the engine counted
 * @dp_trace: prefix of the files with what happened to requests
 */
struct nbd_options {
	void *pad;
	char *uri;
	unsigned int datapath;
	unsigned int connections;
	unsigned int structured_replies;
	unsigned int fua;
	unsigned int trim_as;
	unsigned int wait_mode;
	unsigned long long wait_poll_max_ns;
	unsigned int stuck_timeout;
	char *dp_stats;
	char *dp_trace;
};

#endif
