/* SPDX-License-Identifier: GPL-2.0-only */
/* wire/vhost-user.c: messages and descriptors over a socket pair */

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>
#include <cmocka.h>

#include "base/clock.h"
#include "wire/vhost-user.h"

#define HEADER	sizeof(struct vu_header)

static int sock[2];	/* we send on the first, the other is under test */
static unsigned int fds_before;

static unsigned int count_fds(void)
{
	DIR *dir = opendir("/proc/self/fd");
	unsigned int n = 0;

	assert_non_null(dir);
	while (readdir(dir))
		n++;
	closedir(dir);
	return n;
}

static int set_up(void **state)
{
	(void)state;
	fds_before = count_fds();
	return socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, sock);
}

/* Whatever a test did, no descriptor may be left */
static int tear_down(void **state)
{
	(void)state;
	if (sock[0] >= 0)
		close(sock[0]);
	close(sock[1]);
	return count_fds() == fds_before ? 0 : -1;
}

static struct vu_msg sample(void)
{
	return (struct vu_msg) {
		.h = { .request = VU_SET_VRING_ADDR, .flags = VU_VERSION,
		       .size = sizeof(struct vu_vring_addr) },
		.addr = { .index = 7, .desc = 0x1122334455667788, .log = 0x99 },
	};
}

static void send_bytes(const void *data, size_t len)
{
	assert_int_equal(send(sock[0], data, len, MSG_NOSIGNAL), len);
}

/* @len bytes along with @n descriptors */
static void send_with_fds(const void *data, size_t len, unsigned int n)
{
	char control[CMSG_SPACE(sizeof(int) * 64)] __attribute__((aligned(8))) = { 0 };
	struct iovec iov = { (void *)data, len };
	struct msghdr mh = {
		.msg_iov = &iov, .msg_iovlen = 1,
		.msg_control = control, .msg_controllen = CMSG_SPACE(sizeof(int) * n),
	};
	struct cmsghdr *c = CMSG_FIRSTHDR(&mh);
	int fd = open("/dev/null", O_RDONLY | O_CLOEXEC);

	c->cmsg_level = SOL_SOCKET;
	c->cmsg_type = SCM_RIGHTS;
	c->cmsg_len = CMSG_LEN(sizeof(int) * n);
	for (unsigned int i = 0; i < n; i++)
		memcpy(CMSG_DATA(c) + i * sizeof(int), &fd, sizeof(fd));
	assert_int_equal(sendmsg(sock[0], &mh, 0), len);
	close(fd);
}

static void hang_up(void)
{
	close(sock[0]);
	sock[0] = -1;
}

static void test_round_trip(void **state)
{
	struct vu_msg sent = sample(), got;
	struct stat a, b;

	(void)state;
	for (unsigned int i = 0; i < VU_MAX_FDS; i++)
		sent.fd[i] = i % 2 ? sock[0] : sock[1];
	sent.nr_fds = VU_MAX_FDS;
	assert_int_equal(vu_send(sock[0], &sent), 0);
	assert_int_equal(vu_recv(sock[1], &got, 1000), 0);
	assert_memory_equal(&got.h, &sent.h, HEADER + sent.h.size);
	assert_int_equal(got.nr_fds, VU_MAX_FDS);
	for (unsigned int i = 0; i < VU_MAX_FDS; i++) {
		fstat(sent.fd[i], &a);
		fstat(got.fd[i], &b);
		assert_int_equal(a.st_ino, b.st_ino);
		assert_true(fcntl(got.fd[i], F_GETFD) & FD_CLOEXEC);
	}
	/* one that was taken out stays open */
	close(got.fd[3]);
	got.fd[3] = -1;
	vu_close_fds(&got);
	assert_int_equal(got.nr_fds, 0);
}

static void test_messages_in_a_row(void **state)
{
	struct vu_msg msg, got;

	(void)state;
	for (unsigned int i = 0; i < 50; i++) {
		msg = (struct vu_msg) { .h = { i, VU_VERSION, i } };
		memset(&msg.u64, i, i);
		assert_int_equal(vu_send(sock[0], &msg), 0);
	}
	for (unsigned int i = 0; i < 50; i++) {
		assert_int_equal(vu_recv(sock[1], &got, 1000), 0);
		assert_int_equal(got.h.request, i);
		assert_int_equal(got.h.size, i);
		/* what was not sent reads as zero */
		for (unsigned int j = 0; j < VU_PAYLOAD_MAX; j++)
			assert_int_equal(((uint8_t *)&got.u64)[j], j < i ? i : 0);
	}
}

static void nothing(int sig)
{
	(void)sig;
}

struct slow {
	struct vu_msg msg;
	pthread_t reader;
};

/* Byte by byte, with a signal for the reader in front of each */
static void *send_slowly(void *arg)
{
	struct slow *s = arg;
	const char *p = (const char *)&s->msg.h;

	for (size_t i = 0; i < HEADER + s->msg.h.size; i++) {
		pthread_kill(s->reader, SIGUSR1);
		usleep(200);
		if (i)
			send_bytes(p + i, 1);
		else
			send_with_fds(p, 1, 2);
	}
	return NULL;
}

static void test_byte_by_byte_with_signals(void **state)
{
	struct sigaction sa = { .sa_handler = nothing };	/* no SA_RESTART: EINTR */
	struct slow s = { .msg = sample(), .reader = pthread_self() };
	struct vu_msg got;
	pthread_t thread;

	(void)state;
	sigaction(SIGUSR1, &sa, NULL);
	assert_int_equal(pthread_create(&thread, NULL, send_slowly, &s), 0);
	assert_int_equal(vu_recv(sock[1], &got, 10000), 0);
	pthread_join(thread, NULL);
	assert_memory_equal(&got.h, &s.msg.h, HEADER + s.msg.h.size);
	assert_int_equal(got.nr_fds, 2);
	vu_close_fds(&got);
}

static void *receive_late(void *arg)
{
	unsigned int *good = arg;
	struct vu_msg got;

	usleep(20000);
	while (!vu_recv(sock[1], &got, 5000) && got.h.request != 1)
		*good += got.h.size == VU_PAYLOAD_MAX && got.table.nr == 77;
	return NULL;
}

/* More than the socket holds: vu_send() must wait, or go on after a part */
static void test_full_socket(void **state)
{
	struct vu_msg msg = { .h = { 2, VU_VERSION, VU_PAYLOAD_MAX }, .table.nr = 77 };
	struct vu_msg end = { .h = { 1, VU_VERSION, 0 } };
	unsigned int good = 0;
	pthread_t thread;
	int small = 4096;

	(void)state;
	setsockopt(sock[0], SOL_SOCKET, SO_SNDBUF, &small, sizeof(small));
	assert_int_equal(pthread_create(&thread, NULL, receive_late, &good), 0);
	for (unsigned int i = 0; i < 200; i++)
		assert_int_equal(vu_send(sock[0], &msg), 0);
	assert_int_equal(vu_send(sock[0], &end), 0);
	pthread_join(thread, NULL);
	assert_int_equal(good, 200);
}

static void test_closed_between_messages(void **state)
{
	struct vu_msg msg = sample(), got;

	(void)state;
	assert_int_equal(vu_send(sock[0], &msg), 0);
	hang_up();
	assert_int_equal(vu_recv(sock[1], &got, 1000), 0);
	assert_int_equal(vu_recv(sock[1], &got, 1000), -ECONNRESET);
	/* and sending to it is an error, not a signal */
	assert_int_equal(vu_send(sock[1], &msg), -EPIPE);
}

static void test_closed_inside_a_message(void **state)
{
	struct vu_msg msg = sample(), got;

	(void)state;
	for (size_t len = 1; len < HEADER + msg.h.size; len++) {
		send_with_fds(&msg.h, len, 3);
		hang_up();
		assert_int_equal(vu_recv(sock[1], &got, 1000), -EPIPE);
		close(sock[1]);
		assert_int_equal(count_fds(), fds_before);
		assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, sock), 0);
	}
}

static void expect_refused(uint32_t flags, uint32_t size, unsigned int fds, int ret)
{
	struct vu_msg msg = sample(), got;

	msg.h.flags = flags;
	msg.h.size = size;
	send_with_fds(&msg.h, HEADER, fds);
	assert_int_equal(vu_recv(sock[1], &got, 1000), ret);
	assert_int_equal(got.nr_fds, 0);
}

static void test_wrong_version(void **state)
{
	(void)state;
	expect_refused(0, 0, 1, -EPROTO);
	expect_refused(2, 0, 1, -EPROTO);
	expect_refused(3, 0, 1, -EPROTO);
}

static void test_oversize(void **state)
{
	(void)state;
	expect_refused(VU_VERSION, VU_PAYLOAD_MAX + 1, 1, -EPROTO);
	expect_refused(VU_VERSION, UINT32_MAX, 1, -EPROTO);
}

static void test_too_many_fds(void **state)
{
	(void)state;
	expect_refused(VU_VERSION, 0, VU_MAX_FDS + 1, -E2BIG);
	expect_refused(VU_VERSION, 0, 64, -E2BIG);
}

/* Descriptors come with the head of a message; behind it they have no owner */
static void test_fds_in_the_payload(void **state)
{
	struct vu_msg msg = sample(), got;

	(void)state;
	send_bytes(&msg.h, HEADER);
	send_with_fds(&msg.addr, msg.h.size, 2);
	assert_int_equal(vu_recv(sock[1], &got, 1000), 0);
	assert_int_equal(got.nr_fds, 0);
	assert_memory_equal(&got.addr, &msg.addr, sizeof(msg.addr));
}

static void test_timeout(void **state)
{
	struct vu_msg msg = sample(), got;
	uint64_t start = clock_ns();

	(void)state;
	assert_int_equal(vu_recv(sock[1], &got, 30), -ETIMEDOUT);
	assert_true(clock_ns() - start >= 30000000);
	/* the limit is for the message, not for each piece of it */
	send_with_fds(&msg.h, HEADER + 4, 2);
	assert_int_equal(vu_recv(sock[1], &got, 30), -ETIMEDOUT);
	assert_int_equal(vu_recv(sock[1], &got, 0), -ETIMEDOUT);
}

static void test_names(void **state)
{
	(void)state;
	assert_string_equal(vu_request_name(VU_SET_MEM_TABLE), "SET_MEM_TABLE");
	assert_string_equal(vu_request_name(VU_REM_MEM_REG), "REM_MEM_REG");
	assert_string_equal(vu_request_name(0), "unknown request");
	assert_string_equal(vu_request_name(6), "unknown request");
	assert_string_equal(vu_request_name(VU_REQUEST_MAX), "unknown request");
	assert_string_equal(vu_request_name(UINT32_MAX), "unknown request");
}

#define TEST(fn)	cmocka_unit_test_setup_teardown(fn, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_round_trip),
		TEST(test_messages_in_a_row),
		TEST(test_byte_by_byte_with_signals),
		TEST(test_full_socket),
		TEST(test_closed_between_messages),
		TEST(test_closed_inside_a_message),
		TEST(test_wrong_version),
		TEST(test_oversize),
		TEST(test_too_many_fds),
		TEST(test_fds_in_the_payload),
		TEST(test_timeout),
		TEST(test_names),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
