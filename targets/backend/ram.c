/* SPDX-License-Identifier: GPL-2.0-only */
#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include "targets/backend/backend.h"

/*
 * Take the memory, and enter it into the page tables, which a forked process has to do
 * again for shared memory: else the first request to a page measures a page fault. A disk
 * that would fill the machine is left to grow as it is written.
 */
static void ram_warm(struct backend *b)
{
	uint64_t free_bytes = (uint64_t)sysconf(_SC_AVPHYS_PAGES) * sysconf(_SC_PAGESIZE);

	if (b->size <= free_bytes / 2)
		madvise(b->mem, b->size, MADV_POPULATE_WRITE);
}

static int ram_open(struct backend *b)
{
	b->mem = mmap(NULL, b->size, PROT_READ | PROT_WRITE,
		      (b->shared ? MAP_SHARED : MAP_PRIVATE) | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (b->mem == MAP_FAILED)
		return -errno;
	/* Random I/O over gigabytes would otherwise be bound by TLB misses; a refusal costs no more. */
	madvise(b->mem, b->size, MADV_HUGEPAGE);
	return 0;
}

static void ram_close(struct backend *b)
{
	munmap(b->mem, b->size);
}

static int ram_read(struct backend *b, const struct iovec *iov, unsigned int nr, uint64_t offset)
{
	for (unsigned int i = 0; i < nr; i++) {
		memcpy(iov[i].iov_base, b->mem + offset, iov[i].iov_len);
		offset += iov[i].iov_len;
	}
	return 0;
}

static int ram_write(struct backend *b, const struct iovec *iov, unsigned int nr, uint64_t offset)
{
	for (unsigned int i = 0; i < nr; i++) {
		memcpy(b->mem + offset, iov[i].iov_base, iov[i].iov_len);
		offset += iov[i].iov_len;
	}
	return 0;
}

static int ram_flush(struct backend *b)
{
	(void)b;
	return 0;
}

/* Whole pages go back to the system, which also makes them read as zero; the rest is cleared. */
static int ram_write_zeroes(struct backend *b, uint64_t offset, uint64_t len, bool unmap)
{
	uint64_t page = sysconf(_SC_PAGESIZE);
	uint64_t end = offset + len;
	uint64_t first = (offset + page - 1) / page * page;
	uint64_t last = end / page * page;

	if (!unmap || first >= last) {
		memset(b->mem + offset, 0, len);
		return 0;
	}
	memset(b->mem + offset, 0, first - offset);
	memset(b->mem + last, 0, end - last);
	return madvise(b->mem + first, last - first, b->shared ? MADV_REMOVE : MADV_DONTNEED) ?
	       -errno : 0;
}

static int ram_discard(struct backend *b, uint64_t offset, uint64_t len)
{
	return ram_write_zeroes(b, offset, len, true);
}

const struct backend_ops ram_backend = {
	.name = "ram",
	.open = ram_open,
	.warm = ram_warm,
	.close = ram_close,
	.read = ram_read,
	.write = ram_write,
	.flush = ram_flush,
	.discard = ram_discard,
	.write_zeroes = ram_write_zeroes,
};
