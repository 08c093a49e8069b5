/* SPDX-License-Identifier: GPL-2.0-only */
/* The options of vhost-user-blk-target, and what must hold between them */

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>

#include "base/version.h"
#include "targets/target-options.h"

#define AT(field)	.offset = offsetof(struct target_options, field)
#define SECOND		UINT64_C(1000000000)

static const char *const backend_names[] = {
	[TARGET_BACKEND_NULL]	= "null",
	[TARGET_BACKEND_RAM]	= "ram",
	NULL
};

const struct backend_ops *const target_backend_ops[] = {
	[TARGET_BACKEND_NULL]	= &null_backend,
	[TARGET_BACKEND_RAM]	= &ram_backend,
};

static const char *const poll_names[] = {
	[POLL_OFF]	= "off",
	[POLL_BUSY]	= "busy",
	[POLL_FIXED]	= "fixed",
	[POLL_ADAPTIVE]	= "adaptive",
	NULL
};

static int parse_delay(const char *s, void *value)
{
	return delay_parse(s, value);
}

static void format_delay(const void *value, char *buf, size_t len)
{
	delay_format(value, buf, len);
}

const struct option_desc target_option_table[] = {
	{ OPT_TOPIC, .help = "Where it is found" },
	{ OPT_STR, "socket", "PATH", .once = true, AT(socket),
	  .help = "listen on this unix socket" },
	{ OPT_STR, "run", "COMMAND", .once = true, AT(run),
	  .help = "listen on a private socket, run COMMAND in a shell with $socket, $uri and $FIO_DATAPLANE set, and exit with its status" },

	{ OPT_TOPIC, .help = "The device" },
	{ OPT_ENUM, "backend", .def = "null", .names = backend_names, AT(backend),
	  .help = "null moves no data, ram is memory, taken at the start if half of what is free will do" },
	{ OPT_SIZE, "size", "SIZE", .def = "1G", .min = 512, .max = UINT64_C(1) << 62, AT(size),
	  .help = "capacity, a multiple of the block size" },
	{ OPT_SIZE, "block-size", "SIZE", .def = "512", .min = 512, .max = 65536, .pow2 = true, AT(block_size),
	  .help = "logical block size, a power of two from 512 to 64K" },
	{ OPT_FLAG, "read-only", AT(read_only),
	  .help = "refuse whatever changes data" },
	{ OPT_CUSTOM, "delay", "TIMES", .def = "none", AT(delay),
	  .parse = parse_delay, .format = format_delay,
	  .accepts = DELAY_SYNTAX " (times up to 100s, A up to B, SIGMA up to 10)",
	  .help = "service time of a request, which occupies no CPU: " DELAY_SYNTAX },
	{ OPT_TIME, "request-cost", "TIME", .def = "0", .max = SECOND, AT(request_cost_ns),
	  .help = "CPU time burnt for each request, in place of a block layer's" },

	{ OPT_TOPIC, .help = "Queues and threads" },
	{ OPT_U32, "num-queues", "N", .def = "8", .min = 1, .max = 256, AT(num_queues),
	  .help = "most queues a client may use, 1 to 256" },
	{ OPT_U32, "queue-size", "N", .def = "1024", .min = 2, .max = 32768, .pow2 = true, AT(queue_size),
	  .help = "most entries of a queue, a power of two from 2 to 32768" },
	{ OPT_U32, "iothreads", "N", .def = "1", .min = 1, .max = 64, AT(iothreads),
	  .help = "threads that serve the queues, round robin, 1 to 64" },
	{ OPT_CPUS, "cpus", "LIST", AT(cpus),
	  .help = "pin the iothreads to these CPUs, such as 1 or 0,2-3" },

	{ OPT_TOPIC, .help = "Polling" },
	{ OPT_ENUM, "poll", .def = "adaptive", .names = poll_names, AT(poll),
	  .help = "before it sleeps, an iothread polls: never, for ever, for a fixed time, or for a time it adapts as QEMU does" },
	{ OPT_TIME, "poll-max-ns", "TIME", .def = "32768", .max = 10 * SECOND, AT(poll_max_ns),
	  .help = "how long the fixed policy polls and the adaptive one may; 0 for not at all" },
	{ OPT_U32, "poll-grow", "N", .def = "2", AT(poll_grow),
	  .help = "factor by which the adaptive window grows; 0 for QEMU's own, 2" },
	{ OPT_U32, "poll-shrink", "N", .def = "0", AT(poll_shrink),
	  .help = "divisor by which it shrinks; 0 for down to nothing at once" },

	{ OPT_TOPIC, .help = "Reports" },
	{ OPT_STR, "stats", "FILE", AT(stats),
	  .help = "write statistics as JSON at exit; SIGUSR1 prints them on stderr at any time" },
	{ OPT_ACTION, "help", AT(help), .help = "print this and exit" },
	{ OPT_ACTION, "man", AT(man), .help = "print the manual page (roff) and exit" },
	{ OPT_ACTION, "version", AT(version), .help = "print the version and exit" },
	{ .type = OPT_END },
};

static const char *const usage[] = {
	"--socket PATH [OPTION...]",
	"--run 'COMMAND' [OPTION...]",
	NULL
};

static const struct options_section sections[] = {
	{ "SIGNALS",
	  "SIGTERM and SIGINT finish the requests in flight, write the statistics, remove the socket and end the program with status 0.\n"
	  "\n"
	  "SIGUSR1 prints the statistics on the standard error.\n" },
	{ "EXIT STATUS",
	  "0 after SIGTERM or SIGINT, 1 for a bad option or when the target cannot start. With --run, the status of COMMAND, or 128 and the number of the signal that killed it.\n" },
	{ "ENVIRONMENT",
	  "What COMMAND of --run sees: $socket, the path of the socket; $uri, the same as a URI; $FIO_DATAPLANE, the directory that holds engines/.\n"
	  "\n"
	  "The private socket is made in a directory under $TMPDIR, or /tmp.\n" },
	{ "EXAMPLES",
	  "A job file against a device that takes 20 microseconds a request:\n"
	  "\n"
	  "\tvhost-user-blk-target --delay fixed:20us --run 'fio jobfiles/vhost-user-blk.fio'\n"
	  "\n"
	  "Memory as a disk of 4 GiB, polled without end on CPU 1:\n"
	  "\n"
	  "\tvhost-user-blk-target --socket /tmp/disk --backend ram --size 4G --poll busy --cpus 1\n" },
	{ "SEE ALSO",
	  "fio(1), qemu-storage-daemon(1)\n" },
	{ NULL, NULL },
};

static const struct options_program program = {
	.name = "vhost-user-blk-target",
	.version = FIO_DATAPLANE_VERSION,
	.summary = "a virtio block device for experiments, served over vhost-user",
	.usage = usage,
	.description =
		"Serves a virtio-blk device over the vhost-user protocol, to fio's vhost-user-blk engine of this project or to any other client. Its threads wait for work as a hypervisor's do: they poll for a while and then sleep, by a policy that can be chosen and measured.\n"
		"\n"
		"Several clients may be connected at once; each sees the same disk with queues of its own.\n",
	.note = "Sizes take K, M, G and T (powers of 1024), times ns, us, ms and s; a time without a unit is nanoseconds. Where an option is repeated, the last one counts.",
	.sections = sections,
};

static int check_place(const struct target_options *o, const char *argv0)
{
	size_t max = sizeof(((struct sockaddr_un *)0)->sun_path) - 1;

	if (o->socket && o->run)
		return options_error(argv0, "run", "brings its own socket, so it excludes --socket");
	if (!o->socket && !o->run)
		return options_error(argv0, NULL, "needs --socket PATH or --run COMMAND, see --help");
	if (o->socket && strlen(o->socket) > max)
		return options_error(argv0, "socket", "'%s' is too long for a socket (%zu bytes)", o->socket, max);
	return 0;
}

static int check_values(const struct target_options *o, const char *argv0)
{
	if (o->size % o->block_size)
		return options_error(argv0, "size",
				     "%" PRIu64 " is not a multiple of --block-size %" PRIu64,
				     o->size, o->block_size);
	/* QEMU takes a factor of 1 and then never grows, which nobody means */
	if (o->poll_grow == 1)
		return options_error(argv0, "poll-grow",
				     "a factor of 1 never grows (0 for QEMU's own, or 2 and more)");
	return 0;
}

int target_options_parse(struct target_options *o, int argc, char **argv)
{
	int ret;

	memset(o, 0, sizeof(*o));
	ret = options_parse(target_option_table, o, argc, argv);
	if (ret)
		return ret;

	if (o->help)
		options_help(stdout, &program, target_option_table);
	else if (o->man)
		options_man(stdout, &program, target_option_table);
	else if (o->version)
		printf("%s %s\n", program.name, program.version);
	else
		return check_values(o, argv[0]) ? : check_place(o, argv[0]);
	return 1;
}

void target_options_cpu(const struct target_options *o, unsigned int index, cpu_set_t *set)
{
	int count = CPU_COUNT(&o->cpus), n = count ? index % count : 0;

	CPU_ZERO(set);
	for (int cpu = 0; count && cpu < CPU_SETSIZE; cpu++) {
		if (CPU_ISSET(cpu, &o->cpus) && !n--) {
			CPU_SET(cpu, set);
			return;
		}
	}
}

/* What only a process of its own can do. */
static int check_embedded(const struct target_options *o, const char *argv0)
{
	const char *bad = o->socket ? "socket" : o->run ? "run" : o->stats ? "stats" :
			  o->help ? "help" : o->man ? "man" : o->version ? "version" : NULL;

	if (bad)
		return options_error(argv0, bad, "has no meaning for a target inside fio");
	if (o->iothreads != 1)
		return options_error(argv0, "iothreads",
				     "%" PRIu32 ": a target inside fio has one iothread a job", o->iothreads);
	return 0;
}

#define EMBEDDED_ARGS_MAX	64

int target_options_parse_embedded(struct target_options *o, const char *text, const char *name)
{
	char *argv[EMBEDDED_ARGS_MAX] = { (char *)name, "--poll", "busy" };
	char *copy = strdup(text), *save = NULL;
	int argc = 3, ret;

	if (!copy)
		return -ENOMEM;
	memset(o, 0, sizeof(*o));
	for (char *word = strtok_r(copy, " \t", &save); word; word = strtok_r(NULL, " \t", &save)) {
		if (argc == EMBEDDED_ARGS_MAX) {
			ret = options_error(name, NULL, "more than %d words", EMBEDDED_ARGS_MAX);
			goto out;
		}
		argv[argc++] = word;
	}
	ret = options_parse(target_option_table, o, argc, argv);
	if (!ret)
		ret = check_values(o, name);
	if (!ret)
		ret = check_embedded(o, name);
out:
	/* The only options that point into it are refused. */
	o->socket = o->run = o->stats = NULL;
	free(copy);
	return ret;
}
