/* SPDX-License-Identifier: GPL-2.0-only */
/* What a driver has mapped for the device: asked for and mapped here when an address of it first comes up */

#include <errno.h>
#include <linux/vduse.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#include "targets/device/slow-pages.h"
#include "targets/vduse/memory.h"

/**
 * vduse_memory_init - begin with no region
 * @m: filled in
 * @fd: the device's file
 * @owner: told when pages are lost
 * @max: most bytes that may be mapped
 */
void vduse_memory_init(struct vduse_memory *m, int fd, struct memory_owner *owner, uint64_t max)
{
	*m = (struct vduse_memory) { .fd = fd, .owner = owner, .max = max };
	pthread_mutex_init(&m->lock, NULL);
}

/* Later accesses to a file that is too short would raise SIGBUS. */
static bool is_too_short(int fd, uint64_t end)
{
	struct stat st;

	return fstat(fd, &st) || (S_ISREG(st.st_mode) && (uint64_t)st.st_size < end);
}

/*
 * Map whole pages around a region. What the device may only read is mapped privately, so that a
 * request that asks to have it written changes nothing that the driver sees.
 */
static int map_pages(struct guest_region *r, const struct vduse_iotlb_entry *e, int fd)
{
	uint64_t page = guest_memory_page(fd), size = e->last - e->start + 1;
	uint64_t skip = e->offset % page, len, end;
	void *map;

	if (!size || __builtin_add_overflow(e->offset, size, &end) || is_too_short(fd, end))
		return -EFAULT;
	len = (skip + size + page - 1) / page * page;
	map = mmap(NULL, len, PROT_READ | PROT_WRITE,
		   (e->perm & VDUSE_ACCESS_WO ? MAP_SHARED : MAP_PRIVATE) | MAP_NORESERVE, fd,
		   (off_t)(e->offset - skip));
	if (map == MAP_FAILED)
		return -errno;
	*r = (struct guest_region) {
		.guest = e->start,
		.user = e->start,
		.size = size,
		.host = (char *)map + skip,
		.map = map,
		.map_len = len,
	};
	return 0;
}

static void unmap(struct vduse_memory *m, struct guest_region *r)
{
	lost_memory_forget(r);
	m->mapped -= r->map_len;
	guest_region_unmap(r);
}

static int map_region(struct vduse_memory *m, const struct vduse_iotlb_entry *e, int fd)
{
	struct guest_region *r = &m->region[m->nr];
	int ret;

	if (pages_may_be_slow(fd))
		return -EREMOTEIO;
	if (e->last - e->start >= m->max - m->mapped)
		return -EDQUOT;
	ret = map_pages(r, e, fd);
	if (ret)
		return ret;
	m->mapped += r->map_len;
	ret = m->mapped > m->max ? -EDQUOT : lost_memory_watch(m->owner, r);
	if (ret)
		unmap(m, r);
	else
		m->nr++;
	return ret;
}

static int make_room(struct vduse_memory *m)
{
	unsigned int room = m->room ? 2 * m->room : 16;
	struct guest_region *more;

	if (m->nr < m->room)
		return 0;
	more = realloc(m->region, room * sizeof(*more));
	if (!more)
		return -ENOMEM;
	m->region = more;
	m->room = room;
	return 0;
}

/* The kernel says in which region an address lies, and hands out the file behind it. */
static int ask(struct vduse_memory *m, uint64_t addr)
{
	struct vduse_iotlb_entry e = { .start = addr, .last = addr };
	int fd, ret = make_room(m);

	if (ret)
		return ret;
	fd = ioctl(m->fd, VDUSE_IOTLB_GET_FD, &e);
	if (fd < 0)
		return -EFAULT;
	ret = e.start <= addr && addr <= e.last ? map_region(m, &e, fd) : -EFAULT;
	close(fd);
	if (ret && ret != -EFAULT)
		m->refused = ret;
	return ret;
}

static const struct guest_region *known(const struct vduse_memory *m, uint64_t addr)
{
	for (unsigned int i = 0; i < m->nr; i++) {
		if (addr - m->region[i].guest < m->region[i].size)
			return &m->region[i];
	}
	return NULL;
}

/**
 * vduse_memory_find - find the region that holds an address, and map it if it is not mapped yet
 * @m: the memory
 * @addr: the driver's address (IOVA)
 * @r: set to the region, which stays until vduse_memory_drop()
 *
 * From any thread. A region is looked for once in a driver's life, mostly.
 *
 * Return: 0 or a negative errno: -EFAULT for an address that the driver has not mapped.
 */
int vduse_memory_find(struct vduse_memory *m, uint64_t addr, struct guest_region *r)
{
	const struct guest_region *found;
	int ret = 0;

	pthread_mutex_lock(&m->lock);
	found = known(m, addr);
	if (!found) {
		ret = ask(m, addr);
		found = ret ? NULL : &m->region[m->nr - 1];
	}
	if (found)
		*r = *found;
	pthread_mutex_unlock(&m->lock);
	return ret;
}

/**
 * vduse_memory_drop - unmap what overlaps a range of addresses
 * @m: the memory; no running queue uses that part of it
 * @start: first address
 * @last: last one
 */
void vduse_memory_drop(struct vduse_memory *m, uint64_t start, uint64_t last)
{
	unsigned int i = 0;

	pthread_mutex_lock(&m->lock);
	while (i < m->nr) {
		struct guest_region *r = &m->region[i];

		if (r->guest > last || r->guest + (r->size - 1) < start) {
			i++;
			continue;
		}
		unmap(m, r);
		*r = m->region[--m->nr];
	}
	m->refused = 0;
	pthread_mutex_unlock(&m->lock);
}

/**
 * vduse_memory_refused - why a region was not mapped that the driver has
 * @m: the memory
 *
 * Return: a negative errno, or 0 if all that was asked for was mapped, or is not the driver's.
 */
int vduse_memory_refused(struct vduse_memory *m)
{
	int ret;

	pthread_mutex_lock(&m->lock);
	ret = m->refused;
	pthread_mutex_unlock(&m->lock);
	return ret;
}

/**
 * vduse_memory_destroy - unmap everything
 * @m: the memory; no queue runs
 */
void vduse_memory_destroy(struct vduse_memory *m)
{
	vduse_memory_drop(m, 0, UINT64_MAX);
	free(m->region);
	pthread_mutex_destroy(&m->lock);
}
