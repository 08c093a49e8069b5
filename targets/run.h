/* SPDX-License-Identifier: GPL-2.0-only */
/* --run: start a command against this target, on a socket nobody else sees */
#ifndef TARGETS_RUN_H
#define TARGETS_RUN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/**
 * run_private_socket() - Choose a socket path in a new directory of our own
 * @path:	Result, a path that does not exist yet and fits into sun_path
 * @len:	Size of @path in bytes
 *
 * The directory is made with mode 0700 under $TMPDIR, or /tmp where that is
 * unset or too long for a socket's path. It stays locked (flock(2)) for as long
 * as the process lives; those that nobody has locked, as their target was
 * killed, are removed.
 *
 * Return: 0 or negative errno
 */
int run_private_socket(char *path, size_t len);

/**
 * run_remove_private_socket() - Remove the socket, if still there, and its directory
 * @path:	From run_private_socket()
 */
void run_remove_private_socket(const char *path);

/**
 * struct run_place - Where the command finds the target; what is NULL is left as it is
 * @socket:	Exported as $socket
 * @uri:	Exported as $uri
 * @device:	Exported as $device
 */
struct run_place {
	const char *socket;
	const char *uri;
	const char *device;
};

/**
 * run_command() - Start a shell command
 * @cmd:	For /bin/sh -c
 * @place:	What it is told of the target
 * @pid:	Result, the shell's process
 *
 * $FIO_DATAPLANE becomes the directory above the one that holds the running
 * program. The child starts with no signal blocked and none handled, and gets
 * SIGTERM when the calling *thread* ends: call this from main()'s.
 *
 * Return: 0 or negative errno
 */
int run_command(const char *cmd, const struct run_place *place, pid_t *pid);

/**
 * run_pidfd() - A descriptor that polls readable once the command has ended
 * @pid:	From run_command()
 *
 * Return: descriptor (close-on-exec, the caller closes it) or negative errno
 */
int run_pidfd(pid_t pid);

/**
 * run_status() - Wait for the command and say how it ended
 * @pid:	From run_command()
 *
 * Return: its exit status, 128 + signal number if one killed it (what a shell
 * would say), or negative errno
 */
int run_status(pid_t pid);

/* A process, which its number alone names only as long as it is there */
struct family_member {
	pid_t pid;
	uint64_t start;
};

/**
 * struct family - what has been started since family_init()
 * @before: children that were there already and are left alone
 * @nr_before: how many
 * @told: those that have been sent their signal
 * @nr_told: how many
 */
struct family {
	struct family_member *before;
	unsigned int nr_before;
	struct family_member *told;
	unsigned int nr_told;
};

int family_init(struct family *f);
unsigned int family_signal(struct family *f, int sig);
void family_free(struct family *f);

#endif /* TARGETS_RUN_H */
