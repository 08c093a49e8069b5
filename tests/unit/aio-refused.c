/* SPDX-License-Identifier: GPL-2.0-only */
/* --aio native and io_uring with a kernel that refuses, or takes little at once */
#include <libaio.h>
#include <liburing.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stdatomic.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include "tests/unit/file-fixture.h"

#define AT_ONCE	3

static const struct mode modes[] = {
	{ "native", &native_aio, true, POLL_OFF },
	{ "native, polling", &native_aio, true, POLL_BUSY },
	{ "io_uring", &io_uring_aio, true, POLL_OFF },
	{ "io_uring, polling", &io_uring_aio, true, POLL_BUSY },
};

/* Submissions, from the next one on, for which there is no room */
static atomic_uint no_room;

static bool refuse(void)
{
	if (!no_room)
		return false;
	no_room--;
	return true;
}

/* Instead of libaio's: a few at once, as the kernel does that runs out of room. */
int io_submit(io_context_t ctx, long nr, struct iocb *iocbs[])
{
	int ret;

	if (refuse())
		return -EAGAIN;
	ret = syscall(SYS_io_submit, ctx, nr < AT_ONCE ? nr : AT_ONCE, iocbs);
	return ret < 0 ? -errno : ret;
}

/* Instead of liburing's */
int io_uring_submit_and_get_events(struct io_uring *ring)
{
	return refuse() ? -EAGAIN : io_uring_submit(ring);
}

static void test_a_few_at_once(void **state)
{
	struct blk_request *r = calloc(BLOCKS, sizeof(*r));
	struct iovec *iov = calloc(BLOCKS, sizeof(*iov));

	(void)state;
	fill_file();
	memset(mem, 0, BLOCKS * BLOCK);
	for (unsigned int i = 0; i < BLOCKS; i++) {
		iov[i] = (struct iovec) { mem + i * BLOCK, BLOCK };
		r[i] = (struct blk_request) {
			.kind = REQ_READ, .iov = &iov[i], .nr_iov = 1, .offset = i * BLOCK, .len = BLOCK,
		};
	}
	no_room = 1;
	execute_all(r, BLOCKS);
	for (unsigned int i = 0; i < BLOCKS; i++)
		assert_int_equal(r[i].result, 0);
	assert_file_has(mem, 0, BLOCKS * BLOCK);
	free(iov);
	free(r);
}

/* Nothing is in flight whose completion could bring the next attempt. */
static void test_no_room_for_the_only_one(void **state)
{
	(void)state;
	fill_file();
	memset(mem, 0, BLOCK);
	no_room = 20;
	assert_int_equal(rw(REQ_READ, mem, 5 * BLOCK, BLOCK), 0);
	assert_int_equal(no_room, 0);
	assert_file_has(mem, 5 * BLOCK, BLOCK);
}

/* A request the kernel does not take at all ends alone. */
static void test_bad_descriptor(void **state)
{
	int fd = backend.fd;

	(void)state;
	backend.fd = -1;
	assert_int_equal(rw(REQ_READ, mem, 0, BLOCK), -EBADF);
	assert_int_equal(rw(REQ_WRITE, mem, 0, BLOCK), -EBADF);
	backend.fd = fd;
	assert_int_equal(rw(REQ_READ, mem, 0, BLOCK), 0);
}

#define TEST(fn)	cmocka_unit_test_setup_teardown(fn, set_up, tear_down)

static const struct CMUnitTest tests[] = {
	TEST(test_a_few_at_once),
	TEST(test_no_room_for_the_only_one),
	TEST(test_bad_descriptor),
};

/* From now on this process gets @error from system call @nr. */
static int forbid(unsigned int nr, int error)
{
	struct sock_filter filter[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, nr, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | error),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog program = { .len = 4, .filter = filter };

	return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) ||
	       prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program);
}

/* In a process of its own: 0 when @error is what opening ends with, all the rest being well */
static int opens_with(const struct mode *how, unsigned int nr, int error)
{
	int status;
	pid_t child = fork();

	if (!child) {
		mode = how;
		if (forbid(nr, error))
			_exit(2);
		status = start_iothread(NULL) == -error ? 0 : 1;
		iothread_stop(&it);
		_exit(status);
	}
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_true(WIFEXITED(status));
	return WEXITSTATUS(status);
}

static void test_not_there(void **state)
{
	(void)state;
	assert_int_equal(opens_with(&modes[2], SYS_io_uring_setup, ENOSYS), 0);
	assert_int_equal(opens_with(&modes[2], SYS_io_uring_setup, EPERM), 0);
	assert_int_equal(opens_with(&modes[0], SYS_io_setup, ENOSYS), 0);
	assert_int_equal(opens_with(&modes[0], SYS_io_setup, EAGAIN), 0);
}

static const struct CMUnitTest other_tests[] = {
	cmocka_unit_test(test_not_there),
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
