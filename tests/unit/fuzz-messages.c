/* SPDX-License-Identifier: GPL-2.0-only */
/* The message fuzzer on numbers drawn; no descriptor may be left over */

#include <dirent.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <unistd.h>
#include <cmocka.h>

#include "base/rng.h"
#include "tests/fuzz/messages.c"

#define INPUTS	5000

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

static void test_drawn_messages(void **state)
{
	uint8_t data[512] = { 0 };
	unsigned int before;
	struct rng r;

	(void)state;
	rng_seed(&r, 42);
	set_up_once();
	before = count_fds();
	for (unsigned int i = 0; i < INPUTS; i++) {
		size_t size = rng_below(&r, sizeof(data));

		for (size_t j = 0; j < size; j++)
			data[j] = (uint8_t)rng_u64(&r);
		LLVMFuzzerTestOneInput(data, size);
	}
	/* Threads of their own close what clients sent. */
	for (unsigned int i = 0; i < 10000 && count_fds() != before; i++)
		usleep(1000);
	assert_int_equal(count_fds(), before);
	/* or no queue ever ran */
	assert_true(counter_get(&iothread.channel->stats.requests[REQ_FLUSH]) > INPUTS / 3);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_drawn_messages),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
