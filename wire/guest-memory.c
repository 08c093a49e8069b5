/* SPDX-License-Identifier: GPL-2.0-only */
#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>
#include "wire/guest-memory.h"

static bool overlap(uint64_t a, uint64_t a_len, uint64_t b, uint64_t b_len)
{
	return a < b + b_len && b < a + a_len;
}

/* Only memory has seals, so no file system is asked that could take its time to answer. */
static bool is_huge(int fd, struct statfs *fs)
{
	return fcntl(fd, F_GET_SEALS) >= 0 && !fstatfs(fd, fs) && fs->f_type == HUGETLBFS_MAGIC;
}

/**
 * guest_memory_page - size of the pages that a mapping of a file consists of
 * @fd: the file
 *
 * Return: bytes. Offset and length of a mapping of huge pages must be multiples of it.
 */
uint64_t guest_memory_page(int fd)
{
	struct statfs fs;

	return is_huge(fd, &fs) ? (uint64_t)fs.f_bsize : (uint64_t)sysconf(_SC_PAGESIZE);
}

/**
 * guest_region_map - map a region that a front end shares
 * @r: filled in on success
 * @guest: guest physical address
 * @user: address in the front end
 * @size: bytes, at least 1
 * @offset: where the region starts in @fd
 * @fd: the memory; the caller closes it
 *
 * The file must be as long as the region says, or a later access would raise SIGBUS.
 *
 * Return: 0, -EINVAL for a range that is empty, wraps or is longer than the file,
 * or what mmap said.
 */
int guest_region_map(struct guest_region *r, uint64_t guest, uint64_t user, uint64_t size,
		     uint64_t offset, int fd)
{
	struct statfs fs;
	struct stat st;
	uint64_t len;

	if (!size || guest + size < guest || user + size < user ||
	    __builtin_add_overflow(offset, size, &len) || len > SIZE_MAX)
		return -EINVAL;
	if (fstat(fd, &st))
		return -errno;
	if (S_ISREG(st.st_mode) && (uint64_t)st.st_size < len)
		return -EINVAL;
	/* mmap() rounds a length up to whole huge pages, munmap() refuses one that is not. */
	if (is_huge(fd, &fs))
		len = (len + fs.f_bsize - 1) / fs.f_bsize * fs.f_bsize;

	/* From 0, because a hugetlbfs offset need not suit mmap's page size. */
	void *map = mmap(NULL, len, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, fd, 0);

	if (map == MAP_FAILED)
		return -errno;
	*r = (struct guest_region) {
		.guest = guest,
		.user = user,
		.size = size,
		.host = (char *)map + offset,
		.map = map,
		.map_len = len,
	};
	return 0;
}

/**
 * guest_region_unmap - undo guest_region_map()
 * @r: the region
 */
void guest_region_unmap(struct guest_region *r)
{
	munmap(r->map, r->map_len);
	*r = (struct guest_region) { 0 };
}

/**
 * guest_memory_add - add a mapped region
 * @m: the table
 * @r: the region, copied
 *
 * Return: 0, -ENOSPC when the table is full, -EEXIST when @r overlaps a region by its
 * guest or its front-end address.
 */
int guest_memory_add(struct guest_memory *m, const struct guest_region *r)
{
	if (m->nr == GUEST_MEMORY_REGIONS)
		return -ENOSPC;
	for (unsigned int i = 0; i < m->nr; i++) {
		const struct guest_region *o = &m->region[i];

		if (overlap(r->guest, r->size, o->guest, o->size) ||
		    overlap(r->user, r->size, o->user, o->size))
			return -EEXIST;
	}
	m->region[m->nr++] = *r;
	return 0;
}

/**
 * guest_memory_user - host address of a range given by front-end address
 * @m: the regions
 * @user: address in the front end, as in VHOST_USER_SET_VRING_ADDR
 * @len: bytes that must lie in one region
 *
 * Return: the host address, or NULL.
 */
void *guest_memory_user(const struct guest_memory *m, uint64_t user, uint64_t len)
{
	for (unsigned int i = 0; i < m->nr; i++) {
		const struct guest_region *r = &m->region[i];
		uint64_t off = user - r->user;

		if (off < r->size && len <= r->size - off)
			return r->host + off;
	}
	return NULL;
}
