/* SPDX-License-Identifier: GPL-2.0-only */
/* The processes that --run's command has started, and theirs */
#ifndef TARGETS_RUN_FAMILY_H
#define TARGETS_RUN_FAMILY_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/* A process, which its number alone names only as long as it is there */
struct family_member {
	pid_t pid;
	uint64_t start;
};

/**
 * struct family - what has been started since family_init()
 * @before: children that were there already, which are somebody else's
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

#endif
