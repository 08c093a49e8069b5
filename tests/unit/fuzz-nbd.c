/* SPDX-License-Identifier: GPL-2.0-only */
/* The NBD fuzzer on numbers drawn; no descriptor and no client may be left over */

#include <dirent.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/time.h>
#include <cmocka.h>

#include "base/rng.h"
#include "tests/fuzz/nbd.c"

#define INPUTS	1500

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

static uint64_t count_requests(enum request_kind kind)
{
	return counter_get(&iothread.channel->stats.requests[kind]);
}

static void test_drawn_clients(void **state)
{
	uint8_t data[512] = { 0 };
	unsigned int before;
	struct rng r;

	(void)state;
	set_up_once();
	before = count_fds();
	rng_seed(&r, 42);
	for (unsigned int i = 0; i < INPUTS; i++) {
		size_t size = rng_below(&r, sizeof(data));

		for (size_t j = 0; j < size; j++)
			data[j] = (uint8_t)rng_u64(&r);
		LLVMFuzzerTestOneInput(data, size);
	}
	/* Clients' threads end a moment after their connections. */
	pthread_mutex_lock(&server.clients.lock);
	while (server.clients.nr)
		pthread_cond_wait(&server.clients.changed, &server.clients.lock);
	pthread_mutex_unlock(&server.clients.lock);
	assert_int_equal(count_fds(), before);
	/* or the inputs hardly ever got past the handshake */
	assert_true(count_requests(REQ_READ) > INPUTS / 2);
	assert_true(count_requests(REQ_WRITE) > INPUTS / 2);
	assert_true(count_requests(REQ_BLOCK_STATUS) > INPUTS / 10);
	assert_true(counter_get(&iothread.channel->stats.bytes[REQ_WRITE]) > (uint64_t)INPUTS * 512);
}

static void do_nothing(int signo)
{
	(void)signo;
}

/* A signal every so many microseconds, 0 for no more */
static void set_signals(suseconds_t us)
{
	struct itimerval every = { .it_interval.tv_usec = us, .it_value.tv_usec = us };
	struct sigaction action = { .sa_handler = do_nothing };

	assert_int_equal(sigaction(SIGALRM, &action, NULL), 0);
	assert_int_equal(setitimer(ITIMER_REAL, &every, NULL), 0);
}

static void test_signals(void **state)
{
	uint8_t data[512];
	struct rng r;

	(void)state;
	set_up_once();
	rng_seed(&r, 43);
	set_signals(500);
	for (unsigned int i = 0; i < INPUTS; i++) {
		for (size_t j = 0; j < sizeof(data); j++)
			data[j] = (uint8_t)rng_u64(&r);
		LLVMFuzzerTestOneInput(data, sizeof(data));
	}
	set_signals(0);
}

/* A good client of many writes, byte by byte for a while */
static void test_bytes(void **state)
{
	static struct stream s;
	struct nbd_request request = {
		.magic = htobe32(NBD_REQUEST_MAGIC),
		.type = htobe16(NBD_CMD_WRITE),
		.len = htobe32(DISK / 2),
	};
	unsigned int before = count_requests(REQ_WRITE);
	int sock;

	(void)state;
	set_up_once();
	s.len = 0;
	put_u32(&s, NBD_FLAG_FIXED_NEWSTYLE | NBD_FLAG_NO_ZEROES);
	add_go(&s);
	for (unsigned int i = 0; i < 6; i++) {
		put(&s, &request, sizeof(request));
		s.len += DISK / 2;
	}
	sock = connect_client();
	assert_in_range(talk(sock, &s, 1), PIECES, PIECES + STREAM / 1024);
	close(sock);
	assert_int_equal(count_requests(REQ_WRITE), before + 6);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_drawn_clients),
		cmocka_unit_test(test_signals),
		cmocka_unit_test(test_bytes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
