/* SPDX-License-Identifier: GPL-2.0-only */
/* The file backend, through every kind of --aio in a real iothread */
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include "tests/unit/file-fixture.h"

static const struct mode modes[] = {
	{ "inline", NULL, false, POLL_OFF },
	{ "inline, direct", NULL, true, POLL_OFF },
	{ "threads", &threads_aio, false, POLL_OFF },
	{ "threads, direct, polling", &threads_aio, true, POLL_BUSY },
	{ "native", &native_aio, false, POLL_OFF },
	{ "native, direct", &native_aio, true, POLL_OFF },
	{ "native, direct, adaptive", &native_aio, true, POLL_ADAPTIVE },
	{ "native, direct, polling", &native_aio, true, POLL_BUSY },
	{ "io_uring", &io_uring_aio, false, POLL_OFF },
	{ "io_uring, direct", &io_uring_aio, true, POLL_OFF },
	{ "io_uring, direct, adaptive", &io_uring_aio, true, POLL_ADAPTIVE },
	{ "io_uring, direct, polling", &io_uring_aio, true, POLL_BUSY },
};

/* One request a block, in an order that is not the file's, all at once */
static void all_blocks(enum request_kind kind)
{
	struct blk_request *r = calloc(BLOCKS, sizeof(*r));
	struct iovec *iov = calloc(BLOCKS, sizeof(*iov));

	for (unsigned int i = 0; i < BLOCKS; i++) {
		unsigned int block = i * 1021 % BLOCKS;

		iov[i] = (struct iovec) { mem + block * BLOCK, BLOCK };
		r[i] = (struct blk_request) {
			.kind = kind, .iov = &iov[i], .nr_iov = 1, .offset = block * BLOCK, .len = BLOCK,
		};
	}
	execute_all(r, BLOCKS);
	for (unsigned int i = 0; i < BLOCKS; i++)
		assert_int_equal(r[i].result, 0);
	free(iov);
	free(r);
}

static void test_more_than_fit_at_once(void **state)
{
	char *want = malloc(BLOCKS * BLOCK);

	(void)state;
	for (unsigned int i = 0; i < BLOCKS; i++)
		fill(mem + i * BLOCK, i + 1);
	memcpy(want, mem, BLOCKS * BLOCK);
	all_blocks(REQ_WRITE);
	assert_file_has(want, 0, BLOCKS * BLOCK);
	memset(mem, 0, BLOCKS * BLOCK);
	all_blocks(REQ_READ);
	assert_memory_equal(mem, want, BLOCKS * BLOCK);
	free(want);
}

static void test_one_after_the_other(void **state)
{
	char *block = mem + BLOCK;

	(void)state;
	for (unsigned int i = 0; i < 200; i++) {
		uint64_t offset = i * 37 % BLOCKS * BLOCK;

		fill(mem, i);
		assert_int_equal(rw(REQ_WRITE, mem, offset, BLOCK), 0);
		assert_int_equal(rw(REQ_READ, block, offset, BLOCK), 0);
		assert_memory_equal(block, mem, BLOCK);
	}
}

/* Pieces of any size, some empty, more than a system call takes */
static void test_many_pieces(void **state)
{
	enum { NR = 1500, PIECE = 512, LEN = NR / 2 * PIECE };
	struct iovec iov[NR];
	struct blk_request r = { .iov = iov, .nr_iov = NR, .offset = 3 * BLOCK, .len = LEN };

	(void)state;
	for (unsigned int i = 0; i < NR; i++)
		iov[i] = (struct iovec) { mem + i / 2 * PIECE, i % 2 ? PIECE : 0 };
	for (unsigned int i = 0; i <= LEN / BLOCK; i++)
		fill(mem + i * BLOCK, i + 5);
	r.kind = REQ_WRITE;
	assert_int_equal(execute(r), 0);
	assert_file_has(mem, 3 * BLOCK, LEN);
	memset(mem, 0, LEN);
	r.kind = REQ_READ;
	assert_int_equal(execute(r), 0);
	assert_file_has(mem, 3 * BLOCK, LEN);
}

/* Memory at any address, in pieces of any length, with more than bounces at once */
static void test_memory_not_aligned(void **state)
{
	uint64_t len = 600 * BLOCK;
	struct iovec iov[3] = { { mem + 1, 1000 }, { mem + 1001, BLOCK + 7 },
				{ mem + 1001 + BLOCK + 7, len - 1000 - BLOCK - 7 } };
	struct blk_request r = { .iov = iov, .nr_iov = 3, .offset = 7 * BLOCK, .len = len };

	(void)state;
	for (unsigned int i = 0; i < 600; i++)
		fill(mem + 1 + i * BLOCK, i + 9);
	r.kind = REQ_WRITE;
	assert_int_equal(execute(r), 0);
	assert_file_has(mem + 1, 7 * BLOCK, len);
	memset(mem, 0, len + 2);
	r.kind = REQ_READ;
	assert_int_equal(execute(r), 0);
	assert_file_has(mem + 1, 7 * BLOCK, len);
	assert_int_equal(mem[0], 0);
	assert_int_equal(mem[len + 1], 0);
}

static void test_durable_writes(void **state)
{
	struct iovec iov = { mem, 2 * BLOCK };

	(void)state;
	fill(mem, 1);
	fill(mem + BLOCK, 2);
	assert_int_equal(execute((struct blk_request) { .kind = REQ_WRITE, .flags = BLK_FUA, .iov = &iov,
			 .nr_iov = 1, .offset = BLOCK, .len = iov.iov_len }), 0);
	assert_file_has(mem, BLOCK, 2 * BLOCK);
	assert_int_equal(range(REQ_WRITE_ZEROES, BLK_FUA, BLOCK, BLOCK), 0);
	assert_zeroes(1, 1);
	assert_int_equal(range(REQ_FLUSH, 0, 0, 0), 0);
	assert_int_equal(range(REQ_CACHE, 0, 0, 16 * BLOCK), 0);
}

/* A pipe is nothing that can be flushed. The backend does not forget that it once failed. */
static void test_flush_error(void **state)
{
	int kept = dup(backend.fd), ends[2];

	(void)state;
	assert_int_equal(range(REQ_FLUSH, 0, 0, 0), 0);
	assert_int_equal(pipe(ends), 0);
	assert_int_equal(dup2(ends[1], backend.fd), backend.fd);
	assert_int_equal(range(REQ_FLUSH, 0, 0, 0), -EINVAL);
	assert_int_equal(dup2(kept, backend.fd), backend.fd);
	assert_int_equal(range(REQ_FLUSH, 0, 0, 0), -EINVAL);
	assert_int_equal(range(REQ_WRITE_ZEROES, BLK_FUA, 0, BLOCK), -EINVAL);
	assert_int_equal(range(REQ_DISCARD, BLK_FUA, 0, BLOCK), -EINVAL);
	assert_int_equal(range(REQ_DISCARD, 0, 0, BLOCK), 0);
	close(kept);
	close(ends[0]);
	close(ends[1]);
}

/* A process may be forbidden to write behind a place: at once, and in the middle of a request. */
static void test_write_error(void **state)
{
	struct rlimit limit = { 16 * BLOCK, RLIM_INFINITY };

	(void)state;
	fill_file();
	memset(mem, 'x', 4 * BLOCK);
	signal(SIGXFSZ, SIG_IGN);
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &limit), 0);
	assert_int_equal(rw(REQ_WRITE, mem, 20 * BLOCK, BLOCK), -EFBIG);
	assert_int_equal(rw(REQ_WRITE, mem, 14 * BLOCK, 4 * BLOCK), -EFBIG);
	assert_int_equal(rw(REQ_WRITE, mem + 1, 20 * BLOCK, BLOCK), -EFBIG);
	assert_int_equal(rw(REQ_WRITE, mem, 12 * BLOCK, 4 * BLOCK), 0);
	limit.rlim_cur = RLIM_INFINITY;
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &limit), 0);
	assert_file_has(mem, 12 * BLOCK, 4 * BLOCK);
	fill(mem, 20);
	assert_file_has(mem, 20 * BLOCK, BLOCK);
}

/* Somebody has cut the file off: there is no such data, and it is not made up. */
static void test_file_got_shorter(void **state)
{
	(void)state;
	fill_file();
	assert_int_equal(ftruncate(file, 4 * BLOCK), 0);
	assert_int_equal(rw(REQ_READ, mem, 2 * BLOCK, 2 * BLOCK), 0);
	assert_int_equal(rw(REQ_READ, mem, 2 * BLOCK, 4 * BLOCK), -EIO);
	assert_int_equal(rw(REQ_READ, mem, 8 * BLOCK, BLOCK), -EIO);
	assert_int_equal(rw(REQ_READ, mem + 1, 8 * BLOCK, BLOCK), -EIO);
}

static uint64_t allocated(void)
{
	struct stat st;

	assert_int_equal(fsync(file), 0);
	assert_int_equal(fstat(file, &st), 0);
	return st.st_blocks * 512ull;
}

static void test_discard(void **state)
{
	uint64_t before;

	(void)state;
	fill_file();
	before = allocated();
	assert_int_equal(range(REQ_DISCARD, 0, 512 * BLOCK, 1024 * BLOCK), 0);
	assert_true(allocated() <= before - 1023 * BLOCK);
	assert_zeroes(512, 1024);
	assert_file_has(mem, 0, 512 * BLOCK);
	assert_file_has(mem + 1536 * BLOCK, 1536 * BLOCK, 512 * BLOCK);
	assert_int_equal(range(REQ_DISCARD, 0, BLOCK, 0), 0);
}

static void test_write_zeroes(void **state)
{
	uint64_t before;

	(void)state;
	fill_file();
	before = allocated();
	assert_int_equal(range(REQ_WRITE_ZEROES, 0, 512 * BLOCK, 512 * BLOCK), 0);
	assert_true(allocated() >= before);
	assert_zeroes(512, 512);
	assert_int_equal(range(REQ_WRITE_ZEROES, BLK_UNMAP | BLK_FAST, 1024 * BLOCK, 512 * BLOCK), 0);
	assert_true(allocated() <= before - 511 * BLOCK);
	assert_zeroes(1024, 512);
	assert_file_has(mem, 0, 512 * BLOCK);
	assert_file_has(mem + 1536 * BLOCK, 1536 * BLOCK, 512 * BLOCK);
}

static void test_block_status(void **state)
{
	struct blk_extent e[8];
	struct blk_request r = { .kind = REQ_BLOCK_STATUS, .extent = e, .nr_extent = 8,
				 .len = BLOCKS * BLOCK };
	unsigned int hole = BLK_EXTENT_HOLE | BLK_EXTENT_ZERO;

	(void)state;
	/* data in 100-199 and, with less than a block, 400 */
	assert_int_equal(pwrite(file, mem, 100 * BLOCK, 100 * BLOCK), 100 * BLOCK);
	assert_int_equal(pwrite(file, "x", 1, 400 * BLOCK + 5), 1);
	execute_all(&r, 1);
	assert_int_equal(r.result, 0);
	assert_int_equal(r.nr_extent, 5);
	for (unsigned int i = 0; i < 5; i++)
		assert_int_equal(e[i].flags, i % 2 ? 0 : hole);
	assert_int_equal(e[0].len, 100 * BLOCK);
	assert_int_equal(e[1].len, 100 * BLOCK);
	assert_int_equal(e[2].len, 200 * BLOCK);
	assert_int_equal(e[3].len, BLOCK);
	assert_int_equal(e[4].len, (BLOCKS - 401) * BLOCK);
	/* no more than there is room for, and no further than asked */
	r.nr_extent = 2;
	r.offset = 150 * BLOCK;
	r.len = 100 * BLOCK;
	execute_all(&r, 1);
	assert_int_equal(r.nr_extent, 2);
	assert_int_equal(e[0].len + e[1].len, 100 * BLOCK);
	assert_int_equal(e[0].len, 50 * BLOCK);
	r.nr_extent = 1;
	execute_all(&r, 1);
	assert_int_equal(r.nr_extent, 1);
	assert_int_equal(e[0].len, 50 * BLOCK);
	/* blocks larger than the file system's: any data makes one data */
	backend.config.block_size = 16 * BLOCK;
	r.nr_extent = 8;
	r.offset = 384 * BLOCK;
	r.len = 64 * BLOCK;
	execute_all(&r, 1);
	assert_int_equal(r.nr_extent, 3);
	assert_int_equal(e[0].flags, hole);
	assert_int_equal(e[0].len, 16 * BLOCK);
	assert_int_equal(e[1].flags, 0);
	assert_int_equal(e[1].len, 16 * BLOCK);
	assert_int_equal(e[2].flags, hole);
}

#define TEST(fn)	cmocka_unit_test_setup_teardown(fn, set_up, tear_down)

static const struct CMUnitTest tests[] = {
	TEST(test_more_than_fit_at_once),
	TEST(test_one_after_the_other),
	TEST(test_many_pieces),
	TEST(test_memory_not_aligned),
	TEST(test_durable_writes),
	TEST(test_flush_error),
	TEST(test_write_error),
	TEST(test_file_got_shorter),
	TEST(test_discard),
	TEST(test_write_zeroes),
	TEST(test_block_status),
};

/* tmpfs has no FALLOC_FL_ZERO_RANGE, and a memfd is a file there. */
static void test_zeroes_written_out(void **state)
{
	struct backend_config config = { .ops = &file_backend, .path = path, .block_size = 512 };
	uint64_t offset = 3 * 512, len = (3 << 20) + 512;
	struct blk_request r = { .kind = REQ_WRITE_ZEROES, .flags = BLK_FAST, .offset = offset, .len = len };
	int fd = memfd_create("zeroes", 0);
	char *want = malloc(4 << 20), *got = malloc(4 << 20);

	(void)state;
	memset(want, 'x', 4 << 20);
	assert_int_equal(pwrite(fd, want, 4 << 20, 0), 4 << 20);
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	assert_int_equal(backend_open(&backend, &config), 0);
	assert_int_equal(file_backend.execute(&backend, &r), -EOPNOTSUPP);
	assert_int_equal(pread(fd, got, 4 << 20, 0), 4 << 20);
	assert_memory_equal(got, want, 4 << 20);
	r.flags = 0;
	assert_int_equal(file_backend.execute(&backend, &r), 0);
	memset(want + offset, 0, len);
	assert_int_equal(pread(fd, got, 4 << 20, 0), 4 << 20);
	assert_memory_equal(got, want, 4 << 20);
	backend_close(&backend);
	close(fd);
	free(want);
	free(got);
}

static int opens(const char *name, uint64_t size, uint32_t block_size, bool direct)
{
	struct backend_config config = { .ops = &file_backend, .path = name, .size = size,
					 .block_size = block_size, .direct = direct };
	int ret = backend_open(&backend, &config);

	if (!ret)
		backend_close(&backend);
	return ret;
}

static void test_what_opens(void **state)
{
	(void)state;
	make_file();
	assert_int_equal(opens(path, 0, 512, false), -EINVAL);
	assert_int_equal(ftruncate(file, 10000), 0);
	assert_int_equal(opens(path, 0, 512, false), -EINVAL);
	assert_int_equal(opens(path, 0, 16, false), 0);
	assert_int_equal(opens(path, 10240, 512, false), -EINVAL);
	assert_int_equal(opens(path, 9728, 512, false), 0);
	assert_int_equal(opens("/tmp", 0, 512, false), -EINVAL);
	assert_int_equal(opens("/dev/null", 0, 512, false), -EINVAL);
	assert_int_equal(opens("/nonexistent", 0, 512, false), -ENOENT);
	/* O_DIRECT, where it has demands at all: no half of what it wants will do */
	assert_int_equal(opens(path, 8192, 4096, true), 0);
	if (backend.align > 1)
		assert_int_equal(opens(path, 8192, backend.align / 2, true), -EINVAL);
	close(file);
}

static const struct CMUnitTest other_tests[] = {
	cmocka_unit_test(test_zeroes_written_out),
	cmocka_unit_test(test_what_opens),
};

int main(void)
{
	int failed = cmocka_run_group_tests(other_tests, NULL, NULL);

	for (unsigned int i = 0; i < sizeof(modes) / sizeof(modes[0]); i++) {
		mode = &modes[i];
		if (can_run(mode))
			failed += cmocka_run_group_tests_name(mode->name, tests, start_iothread, stop_iothread);
	}
	return failed;
}
