/* SPDX-License-Identifier: GPL-2.0-only */
/* What the targets share beyond serving: threads, signals, --run, statistics */
#ifndef TARGETS_DAEMON_H
#define TARGETS_DAEMON_H

#include "targets/backend/channel.h"
#include "targets/run.h"
#include "targets/target-options.h"
#include "wire/trace.h"

struct daemon;

/**
 * struct daemon_device - a disk and where it is found
 * @backend: where the data is
 * @socket: path it listens on; empty for another place
 * @listen_fd: listening, or whatever else daemon_ops.accept is to be told of
 */
struct daemon_device {
	struct backend backend;
	char socket[108];
	int listen_fd;
};

/**
 * struct daemon_ops - what is a target's own
 * @program: its command line
 * @socketless: it is found at no socket, so that --run's command gets no private one
 * @instead: what to do instead of serving, if an option asks for that: returns the exit status, or a
 *	negative errno to serve; may be NULL
 * @listen: make the listening socket of device @i and set its listen_fd; 0 or a negative
 *	errno, reported
 * @accept: let waiting clients of device @i in; its listen_fd is readable
 * @close: stop listening, finish what is in flight at device @i, end all its clients
 * @place: what --run's command is told of where the target is; strings are @d's, or static
 */
struct daemon_ops {
	const struct target_program *program;
	bool socketless;
	int (*instead)(struct daemon *d);
	int (*listen)(struct daemon *d, unsigned int i);
	void (*accept)(struct daemon *d, unsigned int i);
	void (*close)(struct daemon *d, unsigned int i);
	struct run_place (*place)(struct daemon *d);
};

/**
 * struct daemon - a target
 * @ops: its own part; a target embeds this as first member
 * @o: what it was asked to do
 * @device: its disks, all served by the same iothreads: those of --socket, --export, --device
 * @nr_devices: how many they are
 * @iothreads: @o.iothreads iothreads
 * @trace: what happens to requests, with @o.trace
 * @signal_fd: SIGTERM, SIGINT, SIGHUP and SIGUSR1
 * @child: the command of --run, 0 without
 * @family: that, and what it has started
 * @child_fd: readable when it has ended, -1 without
 * @ended_by: the signal that ended the target, 0 without
 * @lost: a device has been taken away, which ends the target
 * @started_ns: when the target was ready
 */
struct daemon {
	const struct daemon_ops *ops;
	struct target_options o;
	struct daemon_device *device;
	unsigned int nr_devices;
	struct iothread *iothreads;
	struct trace trace;
	int signal_fd;
	pid_t child;
	struct family family;
	int child_fd;
	int ended_by;
	bool lost;
	uint64_t started_ns;
};

int daemon_main(struct daemon *d, const struct daemon_ops *ops, int argc, char **argv);

#endif
