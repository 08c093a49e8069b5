/* SPDX-License-Identifier: GPL-2.0-only */
/* A disk in a regular file or on a block device */

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <linux/falloc.h>
#include <linux/fs.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>
#include "base/cpu.h"
#include "targets/backend/backend.h"
#include "targets/options.h"

#define ALIGN_MAX	65536u
#define BOUNCE_BYTES	(1u << 20)
#define ZERO_BYTES	65536u
#define ZERO_PIECES	16u

static int complain(const struct backend *b, const char *what, int error)
{
	options_error(NULL, "backend", "%s %s: %s", what, b->config.path, strerror(error));
	return -error;
}

/* Before it is opened, as opening a FIFO waits and opening a tape may move it. */
static int check_kind(struct backend *b)
{
	struct stat st;

	if (stat(b->config.path, &st))
		return complain(b, "cannot open", errno);
	if (!S_ISREG(st.st_mode) && !S_ISBLK(st.st_mode))
		return options_error(NULL, "backend", "%s is neither a regular file nor a block device",
				     b->config.path);
	b->is_block = S_ISBLK(st.st_mode);
	return 0;
}

static int open_file(struct backend *b)
{
	int flags = O_CLOEXEC | (b->config.read_only ? O_RDONLY : O_RDWR);

	b->fd = open(b->config.path, flags | (b->config.direct ? O_DIRECT : 0));
	if (b->fd >= 0)
		return 0;
	if (errno == EINVAL && b->config.direct)
		return options_error(NULL, "direct", "the file system of %s has none", b->config.path);
	return complain(b, "cannot open", errno);
}

static int file_size(const struct backend *b, uint64_t *size)
{
	struct stat st;

	if (b->is_block)
		return ioctl(b->fd, BLKGETSIZE64, size) ? -errno : 0;
	if (fstat(b->fd, &st))
		return -errno;
	*size = st.st_size;
	return 0;
}

static int set_size(struct backend *b)
{
	const struct backend_config *config = &b->config;
	uint64_t has;
	int ret = file_size(b, &has);

	if (ret)
		return complain(b, "cannot find out the size of", -ret);
	if (config->size > has)
		return options_error(NULL, "size", "%s has %" PRIu64 " bytes, accepts no more",
				     config->path, has);
	if (config->size)
		return 0;
	if (!has || has % config->block_size)
		return options_error(NULL, "backend", "%s has %" PRIu64
				     " bytes, accepts a multiple of --block-size %" PRIu32,
				     config->path, has, config->block_size);
	b->size = has;
	return 0;
}

/* Linux 6.1 can be asked, by statx(2); -ENOSYS where kernel or file system does not say. */
static int ask(struct backend *b)
{
#ifdef STATX_DIOALIGN
	struct statx st;

	if (statx(b->fd, "", AT_EMPTY_PATH, STATX_DIOALIGN, &st) ||
	    !(st.stx_mask & STATX_DIOALIGN))
		return -ENOSYS;
	if (!st.stx_dio_offset_align || !st.stx_dio_mem_align)
		return -EOPNOTSUPP;
	b->align = st.stx_dio_offset_align;
	b->mem_align = st.stx_dio_mem_align;
	return 0;
#else
	(void)b;
	return -ENOSYS;
#endif
}

/* Errors other than EINVAL are not about alignment. */
static bool can_read(const struct backend *b, char *mem, unsigned int len)
{
	return pread(b->fd, mem, len, 0) >= 0 || errno != EINVAL;
}

/* The smallest units with which the start of the file can be read; none leaves align 0. */
static void try_out(struct backend *b, char *mem)
{
	unsigned int align = 1, mem_align = 1;

	while (align <= ALIGN_MAX && !can_read(b, mem, align))
		align = align == 1 ? 512 : 2 * align;
	b->align = align <= ALIGN_MAX ? align : 0;
	while (b->align && mem_align < ALIGN_MAX && !can_read(b, mem + mem_align, b->align))
		mem_align *= 2;
	b->mem_align = mem_align;
}

static int probe(struct backend *b)
{
	void *mem;

	if (posix_memalign(&mem, ALIGN_MAX, 2 * ALIGN_MAX))
		return -ENOMEM;
	try_out(b, mem);
	free(mem);
	return b->align ? 0 : -EINVAL;
}

static int logical_block_size(struct backend *b)
{
	int size;

	if (ioctl(b->fd, BLKSSZGET, &size))
		return -errno;
	b->align = size;
	return 0;
}

/*
 * Find out what units the file wants. Only O_DIRECT makes demands on reads and writes, but a block
 * device's discards are by logical block in any case. Where the kernel does not tell (statx(2),
 * STATX_DIOALIGN), reads are tried, as QEMU's block/file-posix.c does.
 */
static int file_find_align(struct backend *b)
{
	int ret;

	b->align = 1;
	b->mem_align = 1;
	if (!b->config.direct)
		return b->is_block ? logical_block_size(b) : 0;
	ret = ask(b);
	return ret == -ENOSYS ? probe(b) : ret;
}

static int set_align(struct backend *b)
{
	int ret = file_find_align(b);

	if (ret)
		return complain(b, "cannot find an alignment for --direct on", -ret);
	if (b->config.direct && b->config.block_size % b->align)
		return options_error(NULL, "block-size",
				     "%s with --direct accepts %u or a multiple of it",
				     b->config.path, b->align);
	return 0;
}

static void file_close(struct backend *b)
{
	close(b->fd);
}

static int file_open(struct backend *b)
{
	int ret = check_kind(b);

	if (!ret)
		ret = open_file(b);
	if (ret)
		return ret;
	ret = set_size(b);
	if (!ret)
		ret = set_align(b);
	if (!ret && b->config.polled)
		ret = uring_check_polled(b);
	if (ret)
		file_close(b);
	return ret;
}

/* How far along a request's memory is: the current piece, and how much of it is done */
struct place {
	const struct iovec *iov;
	unsigned int nr;	/* left, the current one included */
	size_t done;
};

/* To the next byte there is: past the end of pieces, and over those that are empty */
static void advance(struct place *p, size_t n)
{
	p->done += n;
	while (p->nr && p->done >= p->iov->iov_len) {
		p->done -= p->iov->iov_len;
		p->iov++;
		p->nr--;
	}
}

static ssize_t call(const struct backend *b, const struct blk_request *r, const struct iovec *iov,
		    unsigned int nr, uint64_t offset)
{
	ssize_t n;

	do {
		if (r->kind == REQ_READ)
			n = preadv2(b->fd, iov, nr, offset, 0);
		else
			n = pwritev2(b->fd, iov, nr, offset, r->flags & BLK_FUA ? RWF_DSYNC : 0);
	} while (unlikely(n < 0 && errno == EINTR));
	return n < 0 ? -errno : n;
}

/* @r's kind of I/O, between the file from @offset on and all of @iov, which are not ours to change */
static int transfer(const struct backend *b, const struct blk_request *r, const struct iovec *iov,
		    unsigned int nr, uint64_t offset)
{
	struct place p = { .iov = iov, .nr = nr };

	advance(&p, 0);
	while (p.nr) {
		struct iovec rest = { (char *)p.iov->iov_base + p.done, p.iov->iov_len - p.done };
		ssize_t n = p.done ? call(b, r, &rest, 1, offset) :
			    call(b, r, p.iov, p.nr < IOV_MAX ? p.nr : IOV_MAX, offset);

		if (n < 0)
			return n;
		/* The range was inside the file, which has been made shorter since. */
		if (!n)
			return -EIO;
		offset += n;
		advance(&p, n);
	}
	return 0;
}

static void copy(struct place *p, char *mem, size_t len, bool to_mem)
{
	while (len) {
		char *piece = (char *)p->iov->iov_base + p->done;
		size_t n = p->iov->iov_len - p->done < len ? p->iov->iov_len - p->done : len;

		memcpy(to_mem ? mem : piece, to_mem ? piece : mem, n);
		mem += n;
		len -= n;
		advance(p, n);
	}
}

/* By way of memory that the file takes, @size bytes at a time */
static int bounce(const struct backend *b, const struct blk_request *r, char *mem, size_t size)
{
	struct place p = { .iov = r->iov, .nr = r->nr_iov };

	advance(&p, 0);
	for (uint64_t at = 0; at < r->len; at += size) {
		struct iovec iov = { mem, r->len - at < size ? r->len - at : size };
		int ret;

		if (r->kind == REQ_WRITE)
			copy(&p, mem, iov.iov_len, true);
		ret = transfer(b, r, &iov, 1, r->offset + at);
		if (ret)
			return ret;
		if (r->kind == REQ_READ)
			copy(&p, mem, iov.iov_len, false);
	}
	return 0;
}

static int bounced(const struct backend *b, const struct blk_request *r)
{
	size_t size = r->len < BOUNCE_BYTES ? r->len : BOUNCE_BYTES;
	void *mem;
	int ret;

	if (posix_memalign(&mem, b->mem_align < sizeof(mem) ? sizeof(mem) : b->mem_align, size))
		return -ENOMEM;
	ret = bounce(b, r, mem, size);
	free(mem);
	return ret;
}

/**
 * file_takes_memory - whether a read or write can use the request's own memory
 * @b: the backend
 * @r: the request
 *
 * Return: false when it is not aligned as O_DIRECT wants it.
 */
bool file_takes_memory(const struct backend *b, const struct blk_request *r)
{
	if (!b->config.direct)
		return true;
	for (unsigned int i = 0; i < r->nr_iov; i++) {
		if ((uintptr_t)r->iov[i].iov_base & (b->mem_align - 1) ||
		    r->iov[i].iov_len & (b->align - 1))
			return false;
	}
	return true;
}

/* Read ahead. With O_DIRECT nothing reads the page cache. */
static int file_cache(struct backend *b, uint64_t offset, uint64_t len)
{
	return b->config.direct ? 0 : -posix_fadvise(b->fd, offset, len, POSIX_FADV_WILLNEED);
}

/**
 * file_flushed - what to answer to a flush
 * @b: the backend
 * @result: 0 or the negative errno of the flush itself
 *
 * Linux reports a failed write-back once, and takes the page for clean from then on though
 * it never reached the disk: a later flush that succeeds says nothing. So all flushes fail
 * once one has, as QEMU's do; else only one of several connections would learn of the loss.
 *
 * Return: @result, or how an earlier one failed.
 */
int file_flushed(struct backend *b, int result)
{
	int none = 0;

	/* relaxed: the number is all there is to know, it announces nothing */
	if (!result)
		return atomic_load_explicit(&b->flush_error, memory_order_relaxed);
	atomic_compare_exchange_strong_explicit(&b->flush_error, &none, result,
						memory_order_relaxed, memory_order_relaxed);
	return result;
}

static int file_flush(struct backend *b)
{
	int ret;

	do {
		ret = fdatasync(b->fd) ? -errno : 0;
	} while (ret == -EINTR);
	return file_flushed(b, ret);
}

/* Aligned for O_DIRECT */
static char zeroes[ZERO_BYTES] __attribute__((aligned(4096)));

/* It cannot be done in this way; EINVAL is what block devices say of less than a logical block. */
static bool lacks(int error)
{
	return error == -EOPNOTSUPP || error == -ENODEV || error == -ENOSYS || error == -EINVAL;
}

static int allocate(const struct backend *b, int mode, uint64_t offset, uint64_t len)
{
	int ret;

	do {
		ret = fallocate(b->fd, mode | FALLOC_FL_KEEP_SIZE, offset, len) ? -errno : 0;
	} while (ret == -EINTR);
	return ret;
}

/* A discard may do less than it is asked for: what is not a whole logical block stays. */
static int discard_blocks(const struct backend *b, uint64_t offset, uint64_t len)
{
	uint64_t first = (offset + b->align - 1) / b->align * b->align;
	uint64_t end = (offset + len) / b->align * b->align;
	uint64_t range[2] = { first, end - first };

	return first < end && ioctl(b->fd, BLKDISCARD, range) ? -errno : 0;
}

static int made_durable(struct backend *b, const struct blk_request *r, int result)
{
	return !result && r->flags & BLK_FUA ? file_flush(b) : result;
}

static int file_discard(struct backend *b, const struct blk_request *r)
{
	int ret = 0;

	if (r->len)
		ret = b->is_block ? discard_blocks(b, r->offset, r->len) :
		      allocate(b, FALLOC_FL_PUNCH_HOLE, r->offset, r->len);
	return made_durable(b, r, ret);
}

static int write_out(const struct backend *b, uint64_t offset, uint64_t len)
{
	struct iovec iov[ZERO_PIECES];

	for (unsigned int i = 0; i < ZERO_PIECES; i++)
		iov[i] = (struct iovec) { zeroes, ZERO_BYTES };
	while (len) {
		unsigned int nr = len / ZERO_BYTES < ZERO_PIECES ? len / ZERO_BYTES : ZERO_PIECES;
		ssize_t n = nr ? pwritev(b->fd, iov, nr, offset) : pwrite(b->fd, zeroes, len, offset);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return n ? -errno : -EIO;
		offset += n;
		len -= n;
	}
	return 0;
}

/*
 * From the best way to the worst. A block device takes both modes too: for it
 * FALLOC_FL_PUNCH_HOLE is what its driver does quickly or not at all, and
 * FALLOC_FL_ZERO_RANGE is the ioctl BLKZEROOUT, in which the kernel itself may write the
 * zeroes out; see blkdev_fallocate() in its block/fops.c.
 */
static int zero_range(const struct backend *b, const struct blk_request *r)
{
	bool fast = r->flags & BLK_FAST;
	int ret = -EOPNOTSUPP;

	if (r->flags & BLK_UNMAP)
		ret = allocate(b, FALLOC_FL_PUNCH_HOLE, r->offset, r->len);
	if (lacks(ret) && !(fast && b->is_block))
		ret = allocate(b, FALLOC_FL_ZERO_RANGE, r->offset, r->len);
	if (!lacks(ret))
		return ret;
	return fast ? -EOPNOTSUPP : write_out(b, r->offset, r->len);
}

/* -EOPNOTSUPP when the zeroes would have to be written out and BLK_FAST forbids it */
static int file_write_zeroes(struct backend *b, const struct blk_request *r)
{
	return made_durable(b, r, r->len ? zero_range(b, r) : 0);
}

/* Where there is data from @pos on; @end when there is none before that */
static uint64_t next_data(const struct backend *b, uint64_t pos, uint64_t end)
{
	off_t found = lseek(b->fd, pos, SEEK_DATA);

	/* If the file system cannot report holes, treat it all as data. */
	if (found < 0)
		return errno == ENXIO ? end : pos;
	return (uint64_t)found < end ? (uint64_t)found : end;
}

static uint64_t next_hole(const struct backend *b, uint64_t pos, uint64_t end)
{
	off_t found = lseek(b->fd, pos, SEEK_HOLE);

	return found < 0 || (uint64_t)found > end ? end : (uint64_t)found;
}

/*
 * What begins at @pos, to where it ends. Pieces are made of whole blocks, and a block that
 * has any data is data.
 */
static struct blk_extent piece_at(const struct backend *b, uint64_t pos, uint64_t end)
{
	uint64_t block = b->config.block_size;
	uint64_t data = next_data(b, pos, end);
	uint64_t hole = data < end ? data / block * block : end;

	if (hole > pos)
		return (struct blk_extent) { hole - pos, BLK_EXTENT_HOLE | BLK_EXTENT_ZERO };
	hole = (next_hole(b, data, end) + block - 1) / block * block;
	/* Another request may have punched it meanwhile. */
	if (hole <= pos)
		hole = pos + block;
	return (struct blk_extent) { (hole < end ? hole : end) - pos, 0 };
}

/* Say where a range is allocated. Where the file system cannot say, as on a block device, treat it as data. */
static int file_block_status(struct backend *b, struct blk_request *r)
{
	uint64_t pos = r->offset, end = r->offset + r->len;
	unsigned int nr = 0;

	while (pos < end && nr < r->nr_extent) {
		struct blk_extent e = piece_at(b, pos, end);

		if (nr && r->extent[nr - 1].flags == e.flags)
			r->extent[nr - 1].len += e.len;
		else
			r->extent[nr++] = e;
		pos += e.len;
	}
	r->nr_extent = nr;
	return 0;
}

static int file_execute(struct backend *b, struct blk_request *r)
{
	switch (r->kind) {
	case REQ_READ:
	case REQ_WRITE:
		return file_takes_memory(b, r) ? transfer(b, r, r->iov, r->nr_iov, r->offset) : bounced(b, r);
	case REQ_FLUSH:
		return file_flush(b);
	case REQ_DISCARD:
		return file_discard(b, r);
	case REQ_WRITE_ZEROES:
		return file_write_zeroes(b, r);
	case REQ_CACHE:
		return file_cache(b, r->offset, r->len);
	case REQ_BLOCK_STATUS:
		return file_block_status(b, r);
	default:
		return -EOPNOTSUPP;
	}
}

const struct backend_ops file_backend = {
	.name = "file",
	.open = file_open,
	.close = file_close,
	.execute = file_execute,
};
