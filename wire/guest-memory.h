/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef WIRE_GUEST_MEMORY_H
#define WIRE_GUEST_MEMORY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "base/cpu.h"

/* Slots offered to a front end: one DIMM each in a large guest. */
#define GUEST_MEMORY_REGIONS	64

/**
 * struct guest_region - a piece of the driver's memory, mapped here
 * @guest: its guest physical address, used in descriptors
 * @user: its address in the front end, used for the rings (vhost-user)
 * @size: bytes
 * @host: where it starts here
 * @map: what to unmap, from the start of the file
 * @map_len: how much, in whole pages where they are huge
 */
struct guest_region {
	uint64_t guest;
	uint64_t user;
	uint64_t size;
	char *host;
	void *map;
	size_t map_len;
};

/**
 * struct guest_memory - the regions that a driver has shared, as far as they are known
 * @nr: how many are known
 * @region: the first @nr of them
 * @more: asked for the region that holds an address of none in the table: puts it there, and
 *	returns it, or NULL; NULL where all are in the table
 * @arg: of @more
 *
 * Read by iothreads without a lock. A session of vhost-user changes it while none of its queues
 * has an iothread (session_pause()); a queue of VDUSE has a table of its own, to which @more adds
 * in its iothread.
 */
struct guest_memory {
	unsigned int nr;
	struct guest_region region[GUEST_MEMORY_REGIONS];
	const struct guest_region *(*more)(void *arg, uint64_t addr);
	void *arg;
};

uint64_t guest_memory_page(int fd);
int guest_region_map(struct guest_region *r, uint64_t guest, uint64_t user, uint64_t size,
		     uint64_t offset, int fd);
void guest_region_unmap(struct guest_region *r);
int guest_memory_add(struct guest_memory *m, const struct guest_region *r);
void *guest_memory_user(const struct guest_memory *m, uint64_t user, uint64_t len);

/* The host address in @r, which holds @addr, and of @len what is contiguous there */
static inline void *guest_region_run(const struct guest_region *r, uint64_t addr, uint64_t *len)
{
	uint64_t off = addr - r->guest;

	if (*len > r->size - off)
		*len = r->size - off;
	return *len ? r->host + off : NULL;
}

/**
 * guest_memory_run - host address of a guest physical address
 * @m: the regions
 * @addr: guest physical address
 * @len: bytes wanted; set to what is contiguous here, at least 1
 *
 * Return: the host address, or NULL where no region holds @addr or @len is 0.
 */
static inline void *guest_memory_run(const struct guest_memory *m, uint64_t addr, uint64_t *len)
{
	const struct guest_region *r;

	for (unsigned int i = 0; i < m->nr; i++) {
		if (addr - m->region[i].guest < m->region[i].size)
			return guest_region_run(&m->region[i], addr, len);
	}
	r = m->more ? m->more(m->arg, addr) : NULL;
	return r ? guest_region_run(r, addr, len) : NULL;
}

/**
 * guest_memory_first - host address of a range in the first region
 * @m: the regions
 * @addr: guest physical address
 * @len: bytes
 *
 * Tries the one region that many drivers have, without a loop.
 *
 * Return: the host address, or NULL for a range that is empty or not in that region: then
 * guest_memory_run() has to be asked.
 */
static inline char *guest_memory_first(const struct guest_memory *m, uint64_t addr, uint64_t len)
{
	const struct guest_region *r = m->region;
	uint64_t off = addr - r->guest;

	if (unlikely(!m->nr || off >= r->size || len - 1 >= r->size - off))
		return NULL;
	return r->host + off;
}

#endif
