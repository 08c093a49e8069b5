/* SPDX-License-Identifier: GPL-2.0-only */
/* The command line of vhost-user-blk-target */

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/alloc.h"
#include "base/version.h"
#include "targets/target-rows.h"

/* parse_map() - Read "0,1,1": the iothread of the first queue, the second, … */
static int parse_map(const char *s, void *value)
{
	struct target_map map = { 0 };
	char *end;

	do {
		unsigned long iothread = strtoul(s, &end, 10);

		if (*s < '0' || *s > '9' || iothread >= TARGET_IOTHREADS_MAX || map.nr == TARGET_MAP_MAX)
			return -EINVAL;
		map.iothread[map.nr++] = (uint16_t)iothread;
		s = end + 1;
	} while (*end == ',');
	if (*end)
		return -EINVAL;
	*(struct target_map *)value = map;
	return 0;
}

static void format_map(const void *value, char *buf, size_t len)
{
	const struct target_map *map = value;
	size_t at = 0;

	buf[0] = '\0';
	for (unsigned int i = 0; i < map->nr && at < len; i++)
		at += (size_t)snprintf(buf + at, len - at, "%s%u", i ? "," : "", map->iothread[i]);
}

static const struct option_desc table[] = {
	{ OPT_TOPIC, .help = "Where it is found" },
	ROW_SOCKET("listen on this unix socket; each of several is a device of its own"),
	ROW_RUN(""),
	ROWS_DEVICE,
	ROWS_AIO,
	{ OPT_TOPIC, .help = "Queues and threads" },
	{ OPT_U32, "num-queues", "N", .def = "8", .min = 1, .max = 256, AT(num_queues),
	  .help = "most queues a client may use, 1 to 256" },
	{ OPT_U32, "queue-size", "N", .def = "1024", .min = 2, .max = 32768, .pow2 = true, AT(queue_size),
	  .help = "most entries of a queue, a power of two from 2 to 32768" },
	{ OPT_SIZE, "max-client-memory", "SIZE", .def = "1T", .min = 4096, AT(max_client_memory),
	  .help = "most memory that a client may share, counted from the start of its files; one with more is dropped, or it could take all addresses from the others" },
	{ OPT_U32, "max-clients", "N", .def = "64", .min = 1, .max = 256, AT(max_clients),
	  .help = "clients that each socket serves at once, 1 to 256, however long they have nothing to do; one more takes the place of one that has not finished its first message, or is refused" },
	ROWS_THREADS,
	{ OPT_CUSTOM, "iothread-map", "LIST", AT(iothread_map),
	  .parse = parse_map, .format = format_map,
	  .accepts = "a list of iothreads, counted from 0, such as 0,1,1",
	  .help = "the iothread of each queue of every device, such as 0,1,1; queues beyond the list start it over (default: round robin)" },
	ROWS_POLLING,
	ROWS_REPORTS,
	{ .type = OPT_END },
};

static const char *const usage[] = {
	"--socket PATH [OPTION...]",
	"--run 'COMMAND' [OPTION...]",
	NULL
};

static const struct options_section sections[] = {
	SECTIONS_OF_ALL,
	{ "EXAMPLES",
	  "A job file against a device that takes 20 microseconds a request:\n"
	  "\n"
	  "\tvhost-user-blk-target --delay fixed:20us --run 'fio jobfiles/vhost-user-blk.fio'\n"
	  "\n"
	  "Memory as a disk of 4 GiB, polled without end on CPU 1:\n"
	  "\n"
	  "\tvhost-user-blk-target --socket /tmp/disk --backend ram --size 4G --poll busy --cpus 1\n" },
	{ "SEE ALSO",
	  "fio(1), nbd-target(1), qemu-storage-daemon(1)\n" },
	{ NULL, NULL },
};

static const struct options_program text = {
	.name = "vhost-user-blk-target",
	.version = FIO_DATAPLANE_VERSION,
	.summary = "a virtio block device for experiments, served over vhost-user",
	.usage = usage,
	.description =
		"Serves a virtio-blk device over the vhost-user protocol, to fio's vhost-user-blk engine of this project or to any other client. Its threads wait for work as a hypervisor's do: they poll for a while and then sleep, by a policy that can be chosen and measured.\n"
		"\n"
		"Several clients may be connected at once; each sees the same disk with queues of its own.\n",
	.note = NOTE_UNITS,
	.sections = sections,
};

static int check(const struct target_options *o, const char *argv0)
{
	if (!o->sockets.nr && !o->run)
		return options_error(argv0, NULL, "needs --socket PATH or --run COMMAND, see --help");
	return 0;
}

const struct target_program vhost_user_blk_program = {
	.text = &text,
	.table = table,
	.check = check,
};
