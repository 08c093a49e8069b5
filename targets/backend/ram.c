/* SPDX-License-Identifier: GPL-2.0-only */
#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include "base/clock.h"
#include "targets/backend/backend.h"
#include "targets/options.h"

/* Taken at a time: small enough to look up in between, and whole huge pages. */
#define WARM_BYTES	(UINT64_C(64) << 20)

/* Report what is going on if taking the memory lasts longer than this. */
#define WARM_SILENT_NS	1000000000

/* A target holds its signals back; one that ends it must not wait for gigabytes. */
static bool is_ending(void)
{
	sigset_t pending;

	return !sigpending(&pending) && (sigismember(&pending, SIGTERM) || sigismember(&pending, SIGINT) ||
					 sigismember(&pending, SIGHUP));
}

/*
 * Take the memory, and enter it into the page tables, which a forked process has to do
 * again for shared memory: else the first request to a page measures a page fault. A disk
 * that would fill the machine is left to grow as it is written.
 *
 * With huge pages that is 0.1 s a GiB. In a virtual machine whose host takes back what it
 * does not use (free page reporting) it is seconds, all of them in the host, which gives the
 * memory again page by page: a second thread gains nothing, and one beside the first
 * requests would be measured with them. So it is done here, and said when it takes long.
 */
static void ram_warm(struct backend *b)
{
	uint64_t free_bytes = (uint64_t)sysconf(_SC_AVPHYS_PAGES) * sysconf(_SC_PAGESIZE);
	uint64_t began = clock_ns();
	bool said = false;

	if (b->size > free_bytes / 2)
		return;
	for (uint64_t at = 0; at < b->size && !is_ending(); at += WARM_BYTES) {
		uint64_t left = b->size - at;

		if (!said && clock_ns() - began > WARM_SILENT_NS) {
			options_error(NULL, "backend", "ram: taking %.1f GiB of memory, so that no request waits for it",
				      (double)b->size / (1 << 30));
			said = true;
		}
		madvise(b->mem + at, left < WARM_BYTES ? left : WARM_BYTES, MADV_POPULATE_WRITE);
	}
}

static int ram_open(struct backend *b)
{
	b->mem = mmap(NULL, b->size, PROT_READ | PROT_WRITE,
		      (b->config.shared ? MAP_SHARED : MAP_PRIVATE) | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
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

#ifdef __SANITIZE_THREAD__
/*
 * A client that has one request read what another writes at the same time gets some of both,
 * from memory as from a disk. The race is the client's.
 */
__attribute__((visibility("default"))) const char *__tsan_default_suppressions(void);
const char *__tsan_default_suppressions(void)
{
	return "race:ram_execute\n";
}
#endif

/* A copy asks for a few lines at a time, and each comes from far away. */
#define COPY_AHEAD	4096
#define CACHE_LINE	64

static void ram_read(struct backend *b, const struct blk_request *r)
{
	const char *from = b->mem + r->offset;

	for (unsigned int i = 0; i < r->nr_iov; i++) {
		size_t len = r->iov[i].iov_len;

		for (size_t at = 0; at < len && at < COPY_AHEAD; at += CACHE_LINE)
			__builtin_prefetch(from + at);
		memcpy(r->iov[i].iov_base, from, len);
		from += len;
	}
}

/* Stores of whole lines fetch nothing, so that prefetching them costs half as much again. */
static void ram_write(struct backend *b, const struct blk_request *r)
{
	char *to = b->mem + r->offset;

	for (unsigned int i = 0; i < r->nr_iov; i++) {
		memcpy(to, r->iov[i].iov_base, r->iov[i].iov_len);
		to += r->iov[i].iov_len;
	}
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
	return madvise(b->mem + first, last - first, b->config.shared ? MADV_REMOVE : MADV_DONTNEED) ?
	       -errno : 0;
}

/*
 * Data everywhere, even where it was trimmed: nothing tells which memory is untouched, as
 * mincore(2) does not know it from what was swapped out.
 */
static int ram_block_status(struct blk_request *r)
{
	r->extent[0] = (struct blk_extent) { .len = r->len };
	r->nr_extent = 1;
	return 0;
}

static int ram_execute(struct backend *b, struct blk_request *r)
{
	switch (r->kind) {
	case REQ_READ:
		ram_read(b, r);
		return 0;
	case REQ_WRITE:
		ram_write(b, r);
		return 0;
	case REQ_DISCARD:
		return ram_write_zeroes(b, r->offset, r->len, true);
	case REQ_WRITE_ZEROES:
		return ram_write_zeroes(b, r->offset, r->len, r->flags & BLK_UNMAP);
	case REQ_BLOCK_STATUS:
		return ram_block_status(r);
	case REQ_FLUSH:
	case REQ_CACHE:
		return 0;
	default:
		return -EOPNOTSUPP;
	}
}

const struct backend_ops ram_backend = {
	.name = "ram",
	.open = ram_open,
	.warm = ram_warm,
	.close = ram_close,
	.execute = ram_execute,
};
