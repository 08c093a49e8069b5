/* SPDX-License-Identifier: GPL-2.0-only */
/* wire/guest-memory.c: what a front end may share, and finding addresses in it */

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#include <cmocka.h>

#include "wire/guest-memory.h"

#define PAGE	4096u

static int make_file(size_t size)
{
	int fd = memfd_create("guest", MFD_CLOEXEC);

	assert_true(fd >= 0);
	assert_int_equal(ftruncate(fd, size), 0);
	return fd;
}

static void test_map(void **state)
{
	struct guest_region r;
	int fd = make_file(4 * PAGE);

	(void)state;
	assert_int_equal(pwrite(fd, "here", 4, 2 * PAGE), 4);
	assert_int_equal(guest_region_map(&r, 0x1000, 0x7000, 2 * PAGE, 2 * PAGE, fd), 0);
	close(fd);
	/* the mapping outlives the descriptor and begins at the offset */
	assert_memory_equal(r.host, "here", 4);
	assert_int_equal(r.guest, 0x1000);
	assert_int_equal(r.user, 0x7000);
	assert_int_equal(r.size, 2 * PAGE);
	r.host[2 * PAGE - 1] = 1;
	guest_region_unmap(&r);
	assert_null(r.host);
}

static void test_odd_offset(void **state)
{
	struct guest_region r;
	int fd = make_file(PAGE);

	(void)state;
	assert_int_equal(pwrite(fd, "x", 1, 100), 1);
	assert_int_equal(guest_region_map(&r, 0, 0, PAGE - 100, 100, fd), 0);
	assert_int_equal(r.host[0], 'x');
	guest_region_unmap(&r);
	close(fd);
}

/* How many mappings there are of files made by make_file() or in huge pages */
static unsigned int nr_mapped(const char *name)
{
	unsigned int nr = 0;
	char line[512];
	FILE *f = fopen("/proc/self/maps", "r");

	assert_non_null(f);
	while (fgets(line, sizeof(line), f))
		nr += !!strstr(line, name);
	fclose(f);
	return nr;
}

/* No huge page need be free: none is touched. */
static void test_huge_pages(void **state)
{
	struct guest_region r;
	struct stat st;
	int fd = memfd_create("in huge pages", MFD_CLOEXEC | MFD_HUGETLB);

	(void)state;
	if (fd < 0)
		skip();
	assert_int_equal(fstat(fd, &st), 0);
	assert_int_equal(ftruncate(fd, 2 * st.st_blksize), 0);
	assert_int_equal(guest_region_map(&r, 0, 0, st.st_blksize + PAGE, 0, fd), 0);
	assert_int_equal(r.size, st.st_blksize + PAGE);
	assert_int_equal(nr_mapped("in huge pages"), 1);
	guest_region_unmap(&r);
	assert_int_equal(nr_mapped("in huge pages"), 0);
	close(fd);
}

static void expect_map(uint64_t guest, uint64_t user, uint64_t size, uint64_t offset, int ret)
{
	struct guest_region r;
	int fd = make_file(4 * PAGE);

	assert_int_equal(guest_region_map(&r, guest, user, size, offset, fd), ret);
	if (!ret)
		guest_region_unmap(&r);
	close(fd);
}

static void test_bad_ranges(void **state)
{
	struct guest_region r;
	int pipes[2];

	(void)state;
	expect_map(0, 0, 4 * PAGE, 0, 0);
	expect_map(0, 0, 0, 0, -EINVAL);
	expect_map(0, 0, 4 * PAGE + 1, 0, -EINVAL);
	expect_map(0, 0, 4 * PAGE, 1, -EINVAL);
	expect_map(0, 0, 1, 4 * PAGE, -EINVAL);
	/* sums that wrap */
	expect_map(UINT64_MAX - PAGE + 1, 0, PAGE, 0, -EINVAL);
	expect_map(UINT64_MAX - PAGE, 0, PAGE, 0, 0);
	expect_map(0, UINT64_MAX - PAGE + 1, PAGE, 0, -EINVAL);
	expect_map(0, 0, UINT64_MAX, 2, -EINVAL);
	expect_map(0, 0, 2, UINT64_MAX, -EINVAL);
	expect_map(0, 0, PAGE, UINT64_MAX - PAGE, -EINVAL);
	expect_map(0, 0, UINT64_MAX / 2, 0, -EINVAL);

	assert_int_equal(guest_region_map(&r, 0, 0, PAGE, 0, -1), -EBADF);
	assert_int_equal(pipe(pipes), 0);
	assert_true(guest_region_map(&r, 0, 0, PAGE, 0, pipes[0]) < 0);
	close(pipes[0]);
	close(pipes[1]);
}

static struct guest_region region(uint64_t guest, uint64_t user, uint64_t size)
{
	static char somewhere[PAGE];

	return (struct guest_region) {
		.guest = guest, .user = user, .size = size, .host = somewhere
	};
}

static int add(struct guest_memory *m, uint64_t guest, uint64_t user, uint64_t size)
{
	struct guest_region r = region(guest, user, size);

	return guest_memory_add(m, &r);
}

static void test_overlap(void **state)
{
	struct guest_memory m = { 0 };

	(void)state;
	assert_int_equal(add(&m, 0x10000, 0x90000, 0x1000), 0);
	/* neighbours on both sides touch and do not overlap */
	assert_int_equal(add(&m, 0x11000, 0x91000, 0x1000), 0);
	assert_int_equal(add(&m, 0xf000, 0x8f000, 0x1000), 0);
	assert_int_equal(m.nr, 3);

	assert_int_equal(add(&m, 0x10000, 0x50000, 0x1000), -EEXIST);
	assert_int_equal(add(&m, 0x11fff, 0x50000, 0x1000), -EEXIST);
	assert_int_equal(add(&m, 0xe001, 0x50000, 0x1000), -EEXIST);
	assert_int_equal(add(&m, 0, 0x50000, 0x100000), -EEXIST);
	assert_int_equal(add(&m, 0x10800, 0x50000, 1), -EEXIST);
	/* by front-end address alone */
	assert_int_equal(add(&m, 0x50000, 0x90fff, 0x1000), -EEXIST);
	assert_int_equal(add(&m, 0x50000, 0x8e001, 0x1000), -EEXIST);
	assert_int_equal(m.nr, 3);
}

static void test_full_table(void **state)
{
	struct guest_memory m = { 0 };

	(void)state;
	for (uint64_t i = 0; i < GUEST_MEMORY_REGIONS; i++)
		assert_int_equal(add(&m, i * PAGE, i * PAGE, PAGE), 0);
	assert_int_equal(add(&m, 1 << 30, 1 << 30, PAGE), -ENOSPC);
	assert_int_equal(m.nr, GUEST_MEMORY_REGIONS);
}

static void expect_run(const struct guest_memory *m, uint64_t addr, uint64_t len,
		       const char *host, uint64_t contiguous)
{
	assert_ptr_equal(guest_memory_run(m, addr, &len), host);
	if (host)
		assert_int_equal(len, contiguous);
}

static void test_find(void **state)
{
	struct guest_memory m = { 0 };
	char *host;

	(void)state;
	add(&m, 0x10000, 0x90000, 0x1000);
	host = m.region[0].host;
	expect_run(&m, 0x10000, 1, host, 1);
	expect_run(&m, 0x10000, 0x1000, host, 0x1000);
	expect_run(&m, 0x10000, 0x1001, host, 0x1000);
	expect_run(&m, 0x10fff, UINT64_MAX, host + 0xfff, 1);
	expect_run(&m, 0x11000, 1, NULL, 0);
	expect_run(&m, 0xffff, 2, NULL, 0);
	expect_run(&m, 0x90000, 1, NULL, 0);
	expect_run(&m, 0x10000, 0, NULL, 0);
	expect_run(&m, UINT64_MAX, 1, NULL, 0);

	assert_ptr_equal(guest_memory_user(&m, 0x90000, 0x1000), host);
	assert_ptr_equal(guest_memory_user(&m, 0x90800, 0x800), host + 0x800);
	assert_null(guest_memory_user(&m, 0x90000, 0x1001));
	assert_null(guest_memory_user(&m, 0x90800, UINT64_MAX));
	assert_null(guest_memory_user(&m, 0x8ffff, 1));
	assert_null(guest_memory_user(&m, 0x91000, 0));
	assert_null(guest_memory_user(&m, 0x10000, 1));
}

/* A region may end where the address space does, but one */
static void test_top_of_memory(void **state)
{
	struct guest_memory m = { 0 };

	(void)state;
	assert_int_equal(add(&m, UINT64_MAX - PAGE, 0, PAGE), 0);
	expect_run(&m, UINT64_MAX - 1, 100, m.region[0].host + PAGE - 1, 1);
	expect_run(&m, UINT64_MAX, 1, NULL, 0);
	expect_run(&m, 0, 1, NULL, 0);
}

struct asked {
	struct guest_memory m;
	unsigned int times;
};

/* Knows a page at each multiple of 1 MiB, but none at 0. */
static const struct guest_region *more(void *arg, uint64_t addr)
{
	static char page[4096];
	struct asked *a = arg;

	a->times++;
	if (!(addr >> 20) || (addr & 0xfffff) >= sizeof(page))
		return NULL;
	a->m.region[a->m.nr] = (struct guest_region) {
		.guest = addr & ~UINT64_C(0xfffff), .size = sizeof(page), .host = page,
	};
	return &a->m.region[a->m.nr++];
}

/* What is not in the table is asked for, once. */
static void test_more(void **state)
{
	struct asked a = { .m = { .more = more, .arg = &a } };
	uint64_t len = 8192;
	char *host = guest_memory_run(&a.m, 0x100ff0, &len);

	(void)state;
	assert_ptr_equal(host, a.m.region[0].host + 0xff0);
	assert_int_equal(len, 16);
	assert_int_equal(a.times, 1);
	assert_non_null(guest_memory_first(&a.m, 0x100000, 4096));
	assert_non_null(guest_memory_run(&a.m, 0x100800, &len));
	assert_int_equal(a.times, 1);
	assert_non_null(guest_memory_run(&a.m, 0x200000, &len));
	assert_non_null(guest_memory_run(&a.m, 0x200000, &len));
	assert_int_equal(a.times, 2);
	assert_null(guest_memory_run(&a.m, 0x1000, &len));
	assert_null(guest_memory_run(&a.m, 0x301000, &len));
	assert_int_equal(a.m.nr, 2);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_map),
		cmocka_unit_test(test_odd_offset),
		cmocka_unit_test(test_huge_pages),
		cmocka_unit_test(test_bad_ranges),
		cmocka_unit_test(test_overlap),
		cmocka_unit_test(test_full_table),
		cmocka_unit_test(test_find),
		cmocka_unit_test(test_top_of_memory),
		cmocka_unit_test(test_more),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
