/* SPDX-License-Identifier: GPL-2.0-only */
/* The options of vhost-user-blk-target */
#ifndef TARGETS_TARGET_OPTIONS_H
#define TARGETS_TARGET_OPTIONS_H

#include <sched.h>
#include <stdbool.h>
#include <stdint.h>

#include "targets/backend/backend.h"
#include "targets/delay.h"
#include "targets/iothread/poll-policy.h"
#include "targets/options.h"

enum target_backend {
	TARGET_BACKEND_NULL,
	TARGET_BACKEND_RAM,
};

/* struct target_options - Values by the option's name; target-options.c explains them */
struct target_options {
	const char *socket;		/* NULL if --run is given */
	const char *run;		/* NULL if --socket is given */

	enum target_backend backend;
	uint64_t size;			/* bytes, a multiple of block_size */
	uint64_t block_size;		/* bytes, a power of two */
	bool read_only;
	struct delay delay;
	uint64_t request_cost_ns;

	uint32_t num_queues;
	uint32_t queue_size;		/* entries, a power of two */
	uint32_t iothreads;
	cpu_set_t cpus;			/* empty if not given */

	enum poll_mode poll;
	uint64_t poll_max_ns;
	uint32_t poll_grow;
	uint32_t poll_shrink;

	const char *stats;		/* NULL if not given */

	bool help;
	bool version;
	bool man;
};

/* What each --backend is */
extern const struct backend_ops *const target_backend_ops[];

/* The table, for options_json() */
extern const struct option_desc target_option_table[];

/**
 * target_options_parse() - Read the command line of vhost-user-blk-target
 * @o:		Result; strings point into @argv
 * @argc:	Number of arguments
 * @argv:	Arguments
 *
 * Return: 0 to go on, 1 when the command line only asked for a text (--help),
 * which was printed, or -EINVAL after one line on stderr
 */
int target_options_parse(struct target_options *o, int argc, char **argv);

/**
 * target_options_cpu() - The CPU that --cpus gives an iothread
 * @o:		Options
 * @index:	Which iothread; the list is used round robin
 * @set:	Result, one CPU, or none without --cpus
 */
void target_options_cpu(const struct target_options *o, unsigned int index, cpu_set_t *set);

/**
 * target_options_parse_embedded() - Read the options of a target inside another program
 * @o:		Result
 * @text:	Options as on a command line, divided by blanks, without quotes
 * @name:	Names the text in messages
 *
 * What has no meaning there, such as --socket, is refused. The policy is busy
 * unless @text says otherwise.
 *
 * Return: 0, -ENOMEM, or -EINVAL after one line on stderr
 */
int target_options_parse_embedded(struct target_options *o, const char *text,
				  const char *name);

#endif /* TARGETS_TARGET_OPTIONS_H */
