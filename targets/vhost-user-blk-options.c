/* SPDX-License-Identifier: GPL-2.0-only */
/* The command line of vhost-user-blk-target */

#include <string.h>
#include "base/alloc.h"
#include "base/version.h"
#include "targets/target-rows.h"

static const struct option_desc table[] = {
	{ OPT_TOPIC, .help = "Where it is found" },
	ROW_SOCKET("listen on this unix socket; each of several is a device of its own"),
	{ OPT_CUSTOM, "export", "vduse[:NAME]", AT(exports), .parse = parse_export, .format = format_exports,
	  .accepts = "vduse or vduse:NAME, one of at most 256, of up to 63 letters, digits and any of _.-",
	  .help = "make the device NAME of the kernel's VDUSE driver, for 'vdpa dev add name NAME mgmtdev vduse' (default: dataplane); with --backend file or null, take it over if its target was killed; each of several is a device of its own" },
	ROW_RUN("; with --export, in place of the socket, $device is the device's file in /dev/vduse"),
	ROWS_DEVICE,
	ROWS_AIO,
	{ OPT_TOPIC, .help = "Queues and threads" },
	{ OPT_U32, "num-queues", "N", .def = "8", .min = 1, .max = 256, AT(num_queues),
	  .help = "most queues a client may use, 1 to 256" },
	{ OPT_U32, "queue-size", "N", .def = "1024", .min = 2, .max = 32768, .pow2 = true, AT(queue_size),
	  .help = "most entries of a queue, a power of two from 2 to 32768" },
	{ OPT_FLAG, "no-packed", AT(no_packed),
	  .help = "do not offer packed rings, which some drivers choose where they can, Linux's among them" },
	{ OPT_SIZE, "max-client-memory", "SIZE", .def = "1T", .min = 4096, AT(max_client_memory),
	  .help = "most memory that a client may share, counted from the start of its files (with --export vduse, of what it has mapped); one with more is dropped, or it could take all addresses from the others" },
	{ OPT_U32, "max-clients", "N", .def = "64", .min = 1, .max = 256, AT(max_clients),
	  .help = "clients that each socket serves at once, 1 to 256, however long they have nothing to do; one more takes the place of one that has not finished its first message, or is refused" },
	ROWS_THREADS,
	ROW_IOTHREAD_MAP,
	ROWS_POLLING,
	ROWS_REPORTS,
	{ .type = OPT_END },
};

static const char *const usage[] = {
	"--socket PATH [OPTION...]",
	"--export vduse[:NAME] [OPTION...]",
	"--run 'COMMAND' [OPTION...]",
	NULL
};

static const struct options_section sections[] = {
	SECTIONS_OF_SOCKETS,
	{ "VDUSE DEVICES",
	  "--export vduse makes a device in the kernel (modprobe vduse, Linux 5.15 or newer) that waits for the vDPA bus:\n"
	  "\n"
	  "\tmodprobe -a vduse virtio_vdpa\n"
	  "\tvhost-user-blk-target --export vduse:disk0 --backend file:disk.img &\n"
	  "\tuntil vdpa dev add name disk0 mgmtdev vduse; do sleep 0.1; done\n"
	  "\n"
	  "With virtio_vdpa it is a disk of this machine, /dev/vda; with vhost_vdpa it is /dev/vhost-vdpa-0, for QEMU, libblkio or fio's virtio-poll engine of this project (transport=vhost-vdpa). Whoever may use /dev/vduse/control, root if nothing else was set, can make one. There is no write cache switch.\n"
	  "\n"
	  "'vdpa dev del disk0' takes the device off the bus, which is to be done while the target serves it: then the target removes it when it ends. One that ends earlier, or is killed, leaves it in the kernel. Its driver then waits until a target with the same --export, --size, --block-size, --read-only, --num-queues, --queue-size and file goes on with all that was in flight, in the order in which it came; a file in /dev/shm has the record. The kernel waits for 30 s where a driver comes or goes meanwhile, and then gives the device up: requests in flight must not take longer (--delay), as they end before the driver's memory changes.\n" },
	{ "EXAMPLES",
	  "A job file against a device that takes 20 microseconds a request:\n"
	  "\n"
	  "\tvhost-user-blk-target --delay fixed:20us --run 'fio jobfiles/vhost-user-blk.fio'\n"
	  "\n"
	  "Memory as a disk of 4 GiB, polled without end on CPU 1:\n"
	  "\n"
	  "\tvhost-user-blk-target --socket /tmp/disk --backend ram --size 4G --poll busy --cpus 1\n" },
	{ "SEE ALSO",
	  "fio(1), nbd-target(1), ublk-target(1), qemu-storage-daemon(1), vdpa(8)\n" },
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
	if (!o->sockets.nr && !o->exports.nr && !o->run)
		return options_error(argv0, NULL, "needs --socket PATH, --export vduse or --run COMMAND, see --help");
	for (unsigned int i = 0; i < o->exports.nr; i++)
		for (unsigned int j = 0; j < i; j++)
			if (!strcmp(o->exports.name[i], o->exports.name[j]))
				return options_error(argv0, "export", "'vduse:%s' is given twice", o->exports.name[i]);
	if (o->sockets.nr + o->exports.nr > TARGET_SOCKETS_MAX)
		return options_error(argv0, "export", "more than %d devices, with those of --socket", TARGET_SOCKETS_MAX);
	return 0;
}

const struct target_program vhost_user_blk_program = {
	.text = &text,
	.table = table,
	.check = check,
};
