/* SPDX-License-Identifier: GPL-2.0-only */
/* The command line of nbd-target */

#include <string.h>
#include "base/version.h"
#include "targets/target-rows.h"
#include "wire/nbd.h"

static const struct option_desc table[] = {
	{ OPT_TOPIC, .help = "Where it is found" },
	ROW_SOCKET("listen on this unix socket; each of several is a disk of its own"),
	{ OPT_U32, "port", "N", .min = 1, .max = 65535, AT(port),
	  .help = "listen on this TCP port (10809 is NBD's own)" },
	{ OPT_STR, "bind", "ADDRESS", AT(bind),
	  .help = "with --port: listen on this address (default: 127.0.0.1, which only this machine reaches)" },
	ROW_RUN("; with --port there is no socket, and $uri names the port"),
	{ OPT_STR, "export", "NAME", AT(export),
	  .help = "name of the export, which is found under the empty name as well" },
	ROWS_DEVICE,
	ROWS_AIO,
	{ OPT_TOPIC, .help = "Threads" },
	ROWS_THREADS,
	{ OPT_U32, "max-clients", "N", .def = "256", .min = 1, .max = 4096, AT(max_clients),
	  .help = "clients that each socket serves at once, 1 to 4096, however long they have nothing to do; one more takes the place of one that has not finished its handshake, or is refused" },
	ROWS_POLLING,
	ROWS_REPORTS,
	{ .type = OPT_END },
};

static const char *const usage[] = {
	"--socket PATH [OPTION...]",
	"--port N [--bind ADDRESS] [OPTION...]",
	"--run 'COMMAND' [OPTION...]",
	NULL
};

static const struct options_section sections[] = {
	SECTIONS_OF_SOCKETS,
	{ "EXAMPLES",
	  "A job file of fio's own nbd engine against a thread pool that works on a file:\n"
	  "\n"
	  "\tnbd-target --backend file:disk.img --run 'fio --ioengine=nbd --uri=\"$uri\" --rw=randread --name=job'\n"
	  "\n"
	  "Memory as a disk of 4 GiB on NBD's TCP port, polled without end on CPU 1:\n"
	  "\n"
	  "\tnbd-target --port 10809 --backend ram --size 4G --poll busy --cpus 1\n" },
	{ "SEE ALSO",
	  "fio(1), vhost-user-blk-target(1), ublk-target(1), nbdinfo(1), qemu-nbd(8), nbdkit(1)\n" },
	{ NULL, NULL },
};

static const struct options_program text = {
	.name = "nbd-target",
	.version = FIO_DATAPLANE_VERSION,
	.summary = "a network block device for experiments",
	.usage = usage,
	.description =
		"Serves a disk over the NBD protocol, to fio's nbd engines or to any other client. Its threads wait for work as a hypervisor's do: they poll for a while and then sleep, by a policy that can be chosen and measured, and hand requests to a thread pool whose workers are woken in a way that can be chosen and measured.\n"
		"\n"
		"Several clients may be connected at once (--max-clients) and see the same disk. An idle one keeps its place for as long as it likes; a handshake has 10 s. A flush on one connection covers all of them. Block status tells where a file has holes; reads send their zeroes like any data.\n",
	.note = NOTE_UNITS,
	.sections = sections,
};

static int check(const struct target_options *o, const char *argv0)
{
	if (!o->sockets.nr && !o->port && !o->run)
		return options_error(argv0, NULL,
				     "needs --socket PATH, --port N or --run COMMAND, see --help");
	if (o->sockets.nr && o->port)
		return options_error(argv0, "port", "excludes --socket");
	if (o->bind && !o->port)
		return options_error(argv0, "bind", "needs --port");
	if (o->export && strlen(o->export) > NBD_STRING_MAX)
		return options_error(argv0, "export", "a name of %zu bytes is too long (%d)",
				     strlen(o->export), NBD_STRING_MAX);
	return 0;
}

const struct target_program nbd_program = {
	.text = &text,
	.table = table,
	.check = check,
};
