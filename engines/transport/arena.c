/* SPDX-License-Identifier: GPL-2.0-only */
#include <errno.h>
#include <linux/memfd.h>
#include <stdint.h>
#include <sys/mman.h>
#include <unistd.h>
#include "engines/transport/arena.h"

/*
 * Map @size bytes on a 2 MiB boundary, by asking for more address space than that. Huge
 * pages are reserved here, because a page that turns out to be missing later is a SIGBUS.
 */
static char *map_aligned(int fd, size_t size, bool huge)
{
	int reserve = huge ? 0 : MAP_NORESERVE;
	char *room = mmap(NULL, size + ARENA_ALIGN, PROT_NONE,
			  MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	uintptr_t base;

	if (room == MAP_FAILED)
		return MAP_FAILED;
	base = ((uintptr_t)room + ARENA_ALIGN - 1) / ARENA_ALIGN * ARENA_ALIGN;
	if (mmap((void *)base, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED | reserve,
		 fd, 0) == MAP_FAILED) {
		munmap(room, size + ARENA_ALIGN);
		return MAP_FAILED;
	}
	if (base > (uintptr_t)room)
		munmap(room, base - (uintptr_t)room);
	if ((uintptr_t)room + ARENA_ALIGN > base)
		munmap((void *)(base + size), (uintptr_t)room + ARENA_ALIGN - base);
	return (char *)base;
}

/**
 * arena_create - reserve memory
 * @a: filled in; its size stays 0 on failure
 * @size: bytes, a multiple of ARENA_ALIGN
 * @huge: in huge pages of 2 MiB
 *
 * Return: 0 or a negative errno; -ENOMEM when there are not enough huge pages.
 */
int arena_create(struct arena *a, size_t size, bool huge)
{
	int ret;

	a->size = 0;
	a->fd = memfd_create("fio-dataplane",
			     MFD_CLOEXEC | (huge ? MFD_HUGETLB | MFD_HUGE_2MB : 0));
	if (a->fd < 0)
		return -errno;
	if (ftruncate(a->fd, size)) {
		ret = -errno;
		close(a->fd);
		return ret;
	}
	a->base = map_aligned(a->fd, size, huge);
	if (a->base == MAP_FAILED) {
		ret = -errno;
		close(a->fd);
		return ret;
	}
	a->size = size;
	return 0;
}

/**
 * arena_destroy - give the memory back
 * @a: the arena
 */
void arena_destroy(struct arena *a)
{
	munmap(a->base, a->size);
	close(a->fd);
}
