/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef ENGINES_TRANSPORT_ARENA_H
#define ENGINES_TRANSPORT_ARENA_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Regions start on such a boundary, so that huge pages can back them. */
#define ARENA_ALIGN	(2u << 20)

/**
 * struct arena - memory shared between jobs, forked or threads, and the device
 * @fd: memfd that the device maps
 * @base: where it is mapped here, and in every job forked later
 * @size: bytes; what nobody touches takes no memory, unless in huge pages
 */
struct arena {
	int fd;
	char *base;
	size_t size;
};

int arena_create(struct arena *a, size_t size, bool huge);
void arena_destroy(struct arena *a);

#endif
