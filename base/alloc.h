/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef BASE_ALLOC_H
#define BASE_ALLOC_H

#include <stdlib.h>
#include <string.h>
#include "base/cpu.h"

/* CPUs fetch lines in pairs, so what one thread writes keeps this far from others' data. */
#define THREAD_ALIGN	(2 * CACHE_LINE)

/**
 * alloc_apart - allocate objects that share no cache line with anything else
 * @n: how many
 * @size: of one, a multiple of THREAD_ALIGN
 *
 * Return: zeroed memory for free(), or NULL.
 */
static inline void *alloc_apart(size_t n, size_t size)
{
	void *p = n ? aligned_alloc(THREAD_ALIGN, n * size) : NULL;

	return p ? memset(p, 0, n * size) : NULL;
}

#endif
