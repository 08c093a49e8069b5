/* SPDX-License-Identifier: GPL-2.0-only */
#include "engines/glue/glue.h"
#include "engines/nbd/job.h"

/*
 * fio engine for an NBD server, this project's target or anybody else's. Job files of
 * fio's own nbd engine run with it as they are, but for the ioengine line.
 */

#define NBD_OPTION(member)	.off1 = offsetof(struct nbd_options, member)
#define NBD_LISTED		.category = FIO_OPT_C_ENGINE, .group = FIO_OPT_G_NBD

static struct fio_option options[] = {
	{
		.name	= "uri",
		.lname	= "NBD URI",
		.type	= FIO_OPT_STR_STORE,
		NBD_OPTION(uri),
		.help	= "Where the server is, as in nbd+unix:///?socket=/path or nbd://host/export",
		NBD_LISTED,
	},
	{
		.name	= "datapath",
		.lname	= "Datapath",
		.type	= FIO_OPT_STR,
		NBD_OPTION(datapath),
		.help	= "Who talks to the server after the handshake",
		.def	= "direct",
		.posval	= {
			{ .ival = "direct", .oval = NBD_DIRECT,
			  .help = "This engine, in batches; libnbd all the same where TLS is used" },
			{ .ival = "libnbd", .oval = NBD_BY_LIBNBD, .help = "libnbd" },
		},
		NBD_LISTED,
	},
	{
		.name	= "connections",
		.lname	= "Connections",
		.type	= FIO_OPT_INT,
		NBD_OPTION(connections),
		.help	= "Connections of a job; more than one only to a server that advertises multi-conn",
		.def	= "1",
		.minval	= 1,
		.maxval	= NBD_CONNECTIONS_MAX,
		NBD_LISTED,
	},
	/*
	 * Off, as in Linux' own client: nbdkit sends a structured reply to a read with one more
	 * system call than a simple one, and qemu-nbd looks for holes in the file first.
	 */
	{
		.name	= "structured_replies",
		.lname	= "Structured replies",
		.type	= FIO_OPT_BOOL,
		NBD_OPTION(structured_replies),
		.help	= "Ask the server for structured replies, which explain errors and leave holes out, and cost it more",
		.def	= "0",
		NBD_LISTED,
	},
	{
		.name	= "fua",
		.lname	= "Force unit access",
		.type	= FIO_OPT_BOOL,
		NBD_OPTION(fua),
		.help	= "Have every write, trim and write of zeroes durable before it is answered (FUA), as sync=1 does",
		.def	= "0",
		NBD_LISTED,
	},
	{
		.name	= "trim_as",
		.lname	= "What a trim is",
		.type	= FIO_OPT_STR,
		NBD_OPTION(trim_as),
		.help	= "What rw=trim and its kin send",
		.def	= "trim",
		.posval	= {
			{ .ival = "trim", .oval = NBD_TRIM_AS_TRIM, .help = "Trims" },
			{ .ival = "write_zeroes", .oval = NBD_TRIM_AS_ZEROES,
			  .help = "Requests to write zeroes, which may leave holes" },
		},
		NBD_LISTED,
	},
	{
		.name	= "wait_mode",
		.lname	= "How to wait",
		.type	= FIO_OPT_STR,
		NBD_OPTION(wait_mode),
		.help	= "How to wait for replies",
		.def	= "block",
		.posval	= {
			{ .ival = "block", .oval = WAIT_BLOCK, .help = "Sleep until the socket has something" },
			{ .ival = "poll", .oval = WAIT_POLL, .help = "Receive without waiting, over and over; with many others on its CPU, sleep" },
			{ .ival = "adaptive", .oval = WAIT_ADAPTIVE,
			  .help = "Poll for a while, then sleep; the while adapts as QEMU's does" },
		},
		NBD_LISTED,
	},
	{
		.name	= "wait_poll_max_ns",
		.lname	= "Longest polling window",
		.type	= FIO_OPT_ULL,
		NBD_OPTION(wait_poll_max_ns),
		.help	= "wait_mode=adaptive: the longest it may poll before it sleeps, in ns",
		.def	= "32768",
		NBD_LISTED,
	},
	{
		.name	= "stuck_timeout",
		.lname	= "Timeout of a request",
		.type	= FIO_OPT_INT,
		NBD_OPTION(stuck_timeout),
		.help	= "Seconds after which an unanswered request, or a handshake while no other job is connected, ends the job with ETIMEDOUT",
		.def	= "30",
		.minval	= 1,
		.maxval	= 86400,
		NBD_LISTED,
	},
	{
		.name	= "dp_stats",
		.lname	= "Statistics files",
		.type	= FIO_OPT_STR_STORE,
		NBD_OPTION(dp_stats),
		.help	= "Write what each job's client counted to PREFIX.JOBNAME.N.json",
		NBD_LISTED,
	},
	{
		.name	= "dp_trace",
		.lname	= "Trace files",
		.type	= FIO_OPT_STR_STORE,
		NBD_OPTION(dp_trace),
		.help	= "Write down what happens to every request, and when, in PREFIX.JOBNAME.N.trace, for 'dataplane trace'; PREFIX is best in memory, such as in /dev/shm",
		NBD_LISTED,
	},
	{
		.name	= NULL,
	},
};

__attribute__((visibility("default"))) struct ioengine_ops ioengine = {
	.name		= "dataplane-nbd",
	.version	= FIO_IOOPS_VERSION,
	.flags		= FIO_DISKLESSIO | FIO_NOEXTEND | FIO_NO_OFFLOAD |
			  FIO_ASYNCIO_SETS_ISSUE_TIME,
	.setup		= nbd_job_setup,
	.init		= nbd_job_init,
	.cleanup	= nbd_job_cleanup,
	.open_file	= nbd_job_open_file,
	.close_file	= nbd_job_close_file,
	.invalidate	= nbd_job_invalidate,
	.io_u_init	= nbd_job_io_u_init,
	.queue		= nbd_job_queue,
	.commit		= nbd_job_commit,
	.getevents	= nbd_job_getevents,
	.event		= nbd_job_event,
	.options	= options,
	.option_struct_size = sizeof(struct nbd_options),
};
