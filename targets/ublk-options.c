/* SPDX-License-Identifier: GPL-2.0-only */
/* The command line of ublk-target */

#include <unistd.h>
#include "base/version.h"
#include "targets/target-rows.h"
#include "targets/ublk/abi.h"

static const struct option_desc table[] = {
	{ OPT_TOPIC, .help = "Where it is found" },
	{ OPT_CUSTOM, "device", "N", AT(devices), .parse = parse_device, .format = format_devices,
	  .accepts = "one of at most 256 numbers from 0 to 1048575",
	  .help = "make /dev/ublkbN, or with --backend file take it over if its target was killed; each of several is a disk of its own (default: a number that is free, printed on the standard output)" },
	{ OPT_STR, "run", "COMMAND", .once = true, AT(run),
	  .help = "run COMMAND in a shell with $device and $FIO_DATAPLANE set, exit with its status, and end whatever it has started" },
	{ OPT_ACTION, "remove", AT(remove),
	  .help = "instead of serving --device, remove what a killed target has left of it, and whatever was written there and is not in the file yet" },
	ROWS_DEVICE,
	ROWS_AIO,
	{ OPT_FLAG, "zero-copy", AT(zero_copy),
	  .help = "file with --aio io_uring: read and write right from the memory of who uses the device, which the driver copies otherwise (root, Linux 6.16)" },
	{ OPT_TOPIC, .help = "Queues and threads" },
	{ OPT_U32, "num-queues", "N", .def = "0", .max = 256, AT(num_queues),
	  .help = "queues, up to one a CPU; 0 for that many" },
	{ OPT_U32, "queue-size", "N", .def = "128", .min = 1, .max = UBLK_MAX_QUEUE_DEPTH, AT(queue_size),
	  .help = "most requests of a queue that are in flight at once, 1 to 4096; each has 1M of address space for its data, and as much memory as its largest request had" },
	ROWS_THREADS,
	ROW_IOTHREAD_MAP,
	ROWS_POLLING,
	ROWS_REPORTS,
	{ .type = OPT_END },
};

static const char *const usage[] = {
	"[--device N] [OPTION...]",
	"--run 'COMMAND' [OPTION...]",
	"--device N --remove",
	NULL
};

static const struct options_section sections[] = {
	SECTION_SIGNALS("device"),
	SECTION_EXIT_STATUS,
	{ "ENVIRONMENT",
	  "What COMMAND of --run sees: $device, the path of the first device; $FIO_DATAPLANE, the directory that holds engines/.\n" },
	{ "KILLED TARGETS",
	  "With --device and --backend file, a device outlives a target that is killed. What is asked of it waits, unanswered, until a target with the same --device, file, --size and --block-size is started, which takes the device over, with the queues it has: all that was written before is in the file, and what was in flight is done again. --remove gives it up.\n"
	  "\n"
	  "Without a number, with another backend, with --run or for an unprivileged user, nobody could take a device over: the kernel removes it when its target is killed, and fails what is in flight. Then /dev/ublkcN stays, until the next target with that number.\n" },
	{ "PERMISSIONS",
	  "The driver has to be there: modprobe ublk_drv, Linux 6.4 or newer. Root, or CAP_SYS_ADMIN, may do everything. Other users need to read and write /dev/ublk-control, and a udev rule that makes the nodes of a device theirs; the kernel then lets nobody else open it, and does not look for partitions on it.\n" },
	{ "EXAMPLES",
	  "fio's own engines on a device that takes 20 microseconds a request:\n"
	  "\n"
	  "\tublk-target --delay fixed:20us --run 'fio --filename=\"$device\" --direct=1 --ioengine=io_uring --rw=randread --iodepth=4 --name=job'\n"
	  "\n"
	  "A file as a disk that survives SIGKILL:\n"
	  "\n"
	  "\tublk-target --device 0 --backend file:disk.img --aio io_uring --direct\n" },
	{ "SEE ALSO",
	  "fio(1), vhost-user-blk-target(1), nbd-target(1), ublk(8)\n" },
	{ NULL, NULL },
};

static const struct options_program text = {
	.name = "ublk-target",
	.version = FIO_DATAPLANE_VERSION,
	.summary = "a block device of this machine for experiments, served by ublk",
	.usage = usage,
	.description =
		"Serves a disk to the kernel's ublk driver, which makes the block device /dev/ublkbN of it, for fio's own engines, a file system or any other program. Its threads wait for work as a hypervisor's do: they poll for a while and then sleep, by a policy that can be chosen and measured.\n"
		"\n"
		"The device is removed when the target ends, whatever still uses it.\n",
	.note = NOTE_UNITS,
	.sections = sections,
};

static int check(const struct target_options *o, const char *argv0)
{
	long page = sysconf(_SC_PAGESIZE);

	for (unsigned int i = 0; i < o->devices.nr; i++)
		for (unsigned int j = 0; j < i; j++)
			if (o->devices.number[i] == o->devices.number[j])
				return options_error(argv0, "device", "%d is given twice", o->devices.number[i]);
	if (o->remove && (!o->devices.nr || o->run))
		return options_error(argv0, "remove", "needs --device N, and excludes --run");
	if (o->zero_copy && o->aio != TARGET_AIO_IO_URING)
		return options_error(argv0, "zero-copy", "needs --backend file:PATH and --aio io_uring");
	if (o->zero_copy && (o->iopoll || o->hybrid_iopoll || o->sqpoll))
		return options_error(argv0, "zero-copy", "has the I/O on the rings of the queues, so it excludes --iopoll, --hybrid-iopoll and --sqpoll");
	if (o->block_size > (uint64_t)page)
		return options_error(argv0, "block-size", "the kernel accepts at most a page, %ld", page);
	return 0;
}

const struct target_program ublk_program = {
	.text = &text,
	.table = table,
	.check = check,
};
