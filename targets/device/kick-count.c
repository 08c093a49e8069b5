/* SPDX-License-Identifier: GPL-2.0-only */
#include <inttypes.h>
#include <stdio.h>
#include "targets/device/kick-count.h"

/**
 * kick_count - how often an eventfd that nobody reads has been written
 * @fd: the eventfd, or -1
 * @count: filled in with what has been added to it so far
 *
 * A wake-up stands for any number of kicks, and a kick that finds the thread awake for none: the
 * eventfd alone counts them all. The kernel shows that count (proc_pid_fdinfo(5)) without taking
 * it, so this never waits, whatever the driver has done to the descriptor's flags.
 *
 * Return: false when the descriptor is no eventfd, so that nobody knows.
 */
bool kick_count(int fd, uint64_t *count)
{
	char path[48], line[128];
	bool found = false;
	FILE *f;

	if (fd < 0)
		return false;
	snprintf(path, sizeof(path), "/proc/self/fdinfo/%d", fd);
	f = fopen(path, "re");
	if (!f)
		return false;
	while (!found && fgets(line, sizeof(line), f))
		found = sscanf(line, "eventfd-count: %" SCNx64, count) == 1;
	fclose(f);
	return found;
}
