/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef ENGINES_GLUE_OPTIONS_H
#define ENGINES_GLUE_OPTIONS_H

#include "engines/glue/fio-compat.h"
#include "engines/glue/wait.h"

/**
 * struct job_options - options that every engine with a peer has, at the head of its own
 * @pad: fio's own: an option must not be at offset 0
 * @wait_mode: enum wait_mode
 * @wait_poll_max_ns: longest polling window of WAIT_ADAPTIVE and WAIT_HYBRID
 * @stuck_timeout: seconds after which a request counts as lost
 * @dp_stats: prefix of the files with what the engine counted
 * @dp_trace: prefix of the files with what happened to requests
 */
struct job_options {
	void *pad;
	unsigned int wait_mode;
	unsigned long long wait_poll_max_ns;
	unsigned int stuck_timeout;
	char *dp_stats;
	char *dp_trace;
};

/* Entries of the engines' tables of options. */
#define JOB_OPTION(member)	.off1 = offsetof(struct job_options, member)
#define OPTION_LISTED		.category = FIO_OPT_C_ENGINE, .group = FIO_OPT_G_INVALID

/* @standard: the mode of a job that names none; after it what else posval lists, first */
#define JOB_OPTIONS_WAIT_BY(standard, ...) { \
	.name	= "wait_mode", \
	.lname	= "How to wait", \
	.type	= FIO_OPT_STR, \
	JOB_OPTION(wait_mode), \
	.help	= "How to wait for completions", \
	.def	= standard, \
	.posval	= { \
		__VA_ARGS__ \
		{ .ival = "block", .oval = WAIT_BLOCK, \
		  .help = "Sleep until the device calls or the server sends" }, \
		{ .ival = "poll", .oval = WAIT_POLL, \
		  .help = "Look over and over; sleep only if many others want the CPU" }, \
		{ .ival = "adaptive", .oval = WAIT_ADAPTIVE, \
		  .help = "Poll for a while, then sleep; the while adapts as QEMU's does" }, \
		{ .ival = "hybrid", .oval = WAIT_HYBRID, \
		  .help = "Sleep for most of the usual wait, then poll, then sleep" }, \
	}, \
	OPTION_LISTED, \
}, { \
	.name	= "wait_poll_max_ns", \
	.lname	= "Longest polling window", \
	.type	= FIO_OPT_ULL, \
	JOB_OPTION(wait_poll_max_ns), \
	.help	= "wait_mode=adaptive, hybrid: the longest it may poll before it sleeps, in ns", \
	.def	= "32768", \
	OPTION_LISTED, \
}

#define JOB_OPTIONS_WAIT	JOB_OPTIONS_WAIT_BY("block",)

#define JOB_OPTIONS { \
	.name	= "stuck_timeout", \
	.lname	= "Timeout of a request", \
	.type	= FIO_OPT_INT, \
	JOB_OPTION(stuck_timeout), \
	.help	= "Seconds after which an unanswered request, message at set-up or handshake (while no other job is connected) ends the job with ETIMEDOUT", \
	.def	= "30", \
	.minval	= 1, \
	.maxval	= 86400, \
	OPTION_LISTED, \
}, { \
	.name	= "dp_stats", \
	.lname	= "Statistics files", \
	.type	= FIO_OPT_STR_STORE, \
	JOB_OPTION(dp_stats), \
	.help	= "Write what each job's side counted to PREFIX.JOBNAME.N.json", \
	OPTION_LISTED, \
}, { \
	.name	= "dp_trace", \
	.lname	= "Trace files", \
	.type	= FIO_OPT_STR_STORE, \
	JOB_OPTION(dp_trace), \
	.help	= "Write down what happens to every request, and when, in PREFIX.JOBNAME.N.trace, for 'dataplane trace'; PREFIX is best in memory, such as in /dev/shm", \
	OPTION_LISTED, \
}

#endif
