/* SPDX-License-Identifier: GPL-2.0-only */
/* What the targets can be asked to do: the options they share, and those of each */
#ifndef TARGETS_TARGET_OPTIONS_H
#define TARGETS_TARGET_OPTIONS_H

#include <limits.h>
#include <sched.h>
#include <stdbool.h>
#include <stdint.h>

#include "targets/backend/channel.h"
#include "targets/iothread/poll-policy.h"
#include "targets/options.h"

/* struct target_backend - What --backend says */
struct target_backend {
	const struct backend_ops *ops;
	char path[PATH_MAX];		/* of file:PATH, else empty */
};

#define TARGET_SOCKETS_MAX	256

/* struct target_sockets - What all --socket say */
struct target_sockets {
	const char *path[TARGET_SOCKETS_MAX];
	unsigned int nr;
};

/* The longest name of a VDUSE device, and the one of --export vduse */
#define TARGET_EXPORT_NAME_MAX	63
#define TARGET_EXPORT_NAME	"dataplane"

/* struct target_exports - What all --export say */
struct target_exports {
	const char *name[TARGET_SOCKETS_MAX];
	unsigned int nr;
};

#define TARGET_IOTHREADS_MAX	256
#define TARGET_MAP_MAX		256

/* struct target_map - The iothread of each queue of a device; queues beyond the list start it over */
struct target_map {
	uint16_t iothread[TARGET_MAP_MAX];
	unsigned int nr;		/* 0: round robin */
};

/* The last number of a ublk device */
#define TARGET_DEVICE_MAX	1048575

/* struct target_devices - What all --device say */
struct target_devices {
	int number[TARGET_SOCKETS_MAX];
	unsigned int nr;
};

enum target_aio {
	TARGET_AIO_DEFAULT,		/* not given: threads for a file, else inline */
	TARGET_AIO_THREADS,
	TARGET_AIO_NATIVE,
	TARGET_AIO_IO_URING,
	TARGET_AIO_INLINE,
};

/*
 * struct target_options - Values by the option's name; target-rows.h explains those that
 * the programs share, their own tables the others. Strings are NULL if not given.
 */
struct target_options {
	struct target_sockets sockets;
	struct target_exports exports;
	const char *run;

	struct target_backend backend;
	uint64_t size;			/* bytes, a multiple of block_size; 0 for the file's */
	uint64_t block_size;		/* bytes, a power of two */
	bool read_only;
	bool direct;
	enum target_aio aio;
	bool iopoll;
	bool hybrid_iopoll;
	bool sqpoll;
	uint64_t sqpoll_idle_ns;
	struct delay delay;
	struct delay delay_write;
	uint64_t delay_bw;		/* bytes a second, 0 for any number */
	uint64_t delay_write_bw;
	uint64_t request_cost_ns;
	uint64_t wakeup_cost_ns;
	uint32_t device_parallel;	/* requests; 0 for any number, as the next two */
	uint64_t device_iops;
	uint64_t device_bw;		/* bytes a second */
	uint32_t extra_notify;
	double error_rate;
	uint64_t fail_after;		/* requests; 0 if not given */

	uint32_t pool_threads;
	uint32_t pool_min;
	unsigned int wakeup;		/* index into wakeup_list */
	enum pool_queue pool_queue;
	enum pool_completion completion;

	uint32_t iothreads;
	cpu_set_t cpus;			/* empty if not given */

	enum poll_mode poll;
	uint64_t poll_max_ns;
	uint32_t poll_grow;
	uint32_t poll_shrink;
	uint32_t poll_weight;
	uint32_t poll_start_rate;	/* in a millisecond */
	uint64_t poll_stop_idle_ns;

	uint32_t max_clients;		/* of each socket */

	/* vhost-user-blk-target, and but for the last one ublk-target */
	uint32_t num_queues;
	uint32_t queue_size;		/* entries */
	struct target_map iothread_map;
	uint64_t max_client_memory;	/* bytes */
	bool no_packed;

	/* nbd-target */
	uint32_t port;			/* 0 if not given */
	const char *bind;
	const char *export;

	/* ublk-target */
	struct target_devices devices;
	bool remove;
	bool zero_copy;

	const char *stats;
	const char *trace;
	bool help;
	bool version;
	bool describe;
};

/**
 * struct target_program - A target as seen from its command line
 * @text:	For help and man page
 * @table:	Its options
 * @check:	What must hold between options that only it has, as options_error()
 *		reports it; returns 0 or -EINVAL
 */
struct target_program {
	const struct options_program *text;
	const struct option_desc *table;
	int (*check)(const struct target_options *o, const char *argv0);
};

extern const struct target_program vhost_user_blk_program;
extern const struct target_program nbd_program;
extern const struct target_program ublk_program;

/**
 * target_options_parse() - Read the command line of a target
 * @o:		Result; strings point into @argv
 * @program:	The target
 * @argc:	Number of arguments
 * @argv:	Arguments
 *
 * Return: 0 to go on, 1 when the command line only asked for a text (--help),
 * which was printed, or -EINVAL after one line on stderr
 */
int target_options_parse(struct target_options *o, const struct target_program *program,
			 int argc, char **argv);

/**
 * target_options_parse_embedded() - Read the options of a target inside another program
 * @o:		Result
 * @program:	The target whose options they are
 * @text:	Options of vhost-user-blk-target as on a command line, divided by blanks,
 *		without quotes
 * @name:	Names the text in messages
 *
 * What has no meaning there, such as --socket, is refused. The policy is busy
 * unless @text says otherwise.
 *
 * Return: 0, -ENOMEM, or -EINVAL after one line on stderr
 */
int target_options_parse_embedded(struct target_options *o,
				  const struct target_program *program, const char *text,
				  const char *name);

/**
 * target_options_cpu() - The CPU that --cpus gives an iothread
 * @o:		Options
 * @index:	Which iothread; the list is used round robin
 * @set:	Result, one CPU, or none without --cpus
 */
void target_options_cpu(const struct target_options *o, unsigned int index, cpu_set_t *set);

/**
 * target_options_backend() - What the options say about the backend
 * @o:		Options; must live as long as the backend
 * @shared:	Processes forked later are to see the same data
 *
 * Return: for backend_open()
 */
struct backend_config target_options_backend(const struct target_options *o, bool shared);

/**
 * target_options_channel() - What the options say about every iothread's channel
 * @o:		Options
 *
 * Return: for channel_start()
 */
struct channel_config target_options_channel(const struct target_options *o);

/**
 * target_options_policy() - What the options say about polling
 * @o:		Options
 *
 * Return: for iothread_start()
 */
struct poll_policy target_options_policy(const struct target_options *o);

#endif /* TARGETS_TARGET_OPTIONS_H */
