/* SPDX-License-Identifier: GPL-2.0-only */
/* The NBD fuzzer on numbers drawn; no descriptor and no client may be left over */

#include <dirent.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
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
	return counter_get(&lane.it.stats.requests[kind]);
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
	pthread_mutex_lock(&server.lock);
	while (server.nr_clients)
		pthread_cond_wait(&server.changed, &server.lock);
	pthread_mutex_unlock(&server.lock);
	assert_int_equal(count_fds(), before);
	/* or the inputs hardly ever got past the handshake */
	assert_true(count_requests(REQ_READ) > INPUTS / 2);
	assert_true(count_requests(REQ_WRITE) > INPUTS / 2);
	assert_true(count_requests(REQ_BLOCK_STATUS) > INPUTS / 10);
	assert_true(counter_get(&lane.it.stats.bytes[REQ_WRITE]) > (uint64_t)INPUTS * 512);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_drawn_clients),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
