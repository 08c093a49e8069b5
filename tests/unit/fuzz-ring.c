/* SPDX-License-Identifier: GPL-2.0-only */
/* The ring fuzzer on numbers drawn: the same at each run, where there is no libFuzzer */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "base/rng.h"
#include "tests/fuzz/ring.c"

#define INPUTS	50000

static void test_drawn_rings(void **state)
{
	uint8_t data[512];
	struct rng r;

	(void)state;
	rng_seed(&r, 42);
	for (unsigned int i = 0; i < INPUTS; i++) {
		size_t size = rng_below(&r, sizeof(data));

		for (size_t j = 0; j < size; j++)
			data[j] = (uint8_t)rng_u64(&r);
		LLVMFuzzerTestOneInput(data, size);
	}
	/* or nothing was tested */
	assert_true(served[0] > 10000 && served[1] > 10000);
	for (unsigned int kind = 0; kind < REQ_KINDS; kind++)
		if (kind != REQ_CACHE && kind != REQ_BLOCK_STATUS)
			assert_true(counter_get(&iothread.channel->stats.requests[kind]) > 100);
	assert_true(counter_get(&iothread.channel->stats.bytes[REQ_READ]) && counter_get(&iothread.channel->stats.bytes[REQ_WRITE]));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_drawn_rings),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
