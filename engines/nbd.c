/* SPDX-License-Identifier: GPL-2.0-only */
#include "engines/glue/glue.h"
#include "engines/nbd/job.h"

/*
 * fio engine for an NBD server, this project's target or anybody else's. Job files of
 * fio's own nbd engine run with it as they are, but for the ioengine line.
 */

#define NBD_OPTION(member)	.off1 = offsetof(struct nbd_options, member)

static struct fio_option options[] = {
	{
		.name	= "uri",
		.lname	= "NBD URI",
		.type	= FIO_OPT_STR_STORE,
		NBD_OPTION(uri),
		.help	= "Where the server is, as in nbd+unix:///?socket=/path or nbd://host/export",
		OPTION_LISTED,
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
		OPTION_LISTED,
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
		OPTION_LISTED,
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
		OPTION_LISTED,
	},
	{
		.name	= "fua",
		.lname	= "Force unit access",
		.type	= FIO_OPT_BOOL,
		NBD_OPTION(fua),
		.help	= "Have every write, trim and write of zeroes durable before it is answered (FUA), as sync=1 does",
		.def	= "0",
		OPTION_LISTED,
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
		OPTION_LISTED,
	},
	JOB_OPTIONS_WAIT,
	JOB_OPTIONS,
	{
		.name	= NULL,
	},
};

__attribute__((visibility("default"))) struct ioengine_ops ioengine = {
	.name		= "dataplane-nbd",
	JOB_HOOKS,
	.setup		= nbd_job_setup,
	.init		= nbd_job_init,
	.cleanup	= nbd_job_cleanup,
	.open_file	= nbd_job_open_file,
	.queue		= nbd_job_queue,
	.commit		= nbd_job_commit,
	.getevents	= nbd_job_getevents,
	.options	= options,
	.option_struct_size = sizeof(struct nbd_options),
};
