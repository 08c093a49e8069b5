/* SPDX-License-Identifier: GPL-2.0-only */
/* Packed rings: what the event structures say; ring-events.c has the rest */

#include "tests/unit/ring-fixture.h"

/* Armed once, only the descriptor it was armed for notifies, not those behind it */
static void test_event_fires_once(void **state)
{
	struct ring_fixture f;

	(void)state;
	fixture_init(&f, PACKED, 16, true, false, 15);
	vq_device_enable_kicks(&f.device);
	vq_driver_enable_calls(&f.driver);
	assert_int_equal(le16toh(f.device.packed.device_event->flags), VRING_PACKED_EVENT_FLAG_DESC);
	assert_int_equal(le16toh(f.device.packed.device_event->off_wrap), 15 | 0x8000);
	assert_true(submit(&f, 1));
	assert_true(serve(&f));
	drain(&f);
	/* until the ring has gone round twice */
	for (unsigned int i = 0; i < 15; i++) {
		assert_false(submit(&f, 2));
		assert_false(serve(&f));
		drain(&f);
	}
	assert_true(submit(&f, 2));
	assert_true(serve(&f));
	fixture_free(&f);
}

/* What a peer may put into its structure */
static void test_event_forms(void **state)
{
	(void)state;
	/* asking for one descriptor without having negotiated it is asking for all */
	assert_true(packed_event_wanted(packed_event(2, 0), false, 5, 1, 8));
	assert_false(packed_event_wanted(packed_event(2, 0), true, 5, 1, 8));
	assert_true(packed_event_wanted(packed_event(2, 4 | 0x8000), true, 5, 1, 8));
	assert_false(packed_event_wanted(packed_event(2, 4), true, 5, 1, 8));
	/* no descriptor of the queue */
	for (unsigned int n = 1; n <= 8; n++)
		assert_false(packed_event_wanted(packed_event(2, 8 | 0x8000), true, 5, n, 8));
	/* flags: 1 is off, 0 and the reserved 3 are on, whatever else is set */
	assert_false(packed_event_wanted(packed_event(1, 0xffff), true, 5, 1, 8));
	assert_true(packed_event_wanted(packed_event(0, 0xffff), true, 5, 1, 8));
	assert_true(packed_event_wanted(packed_event(3, 0), true, 5, 1, 8));
	assert_false(packed_event_wanted(packed_event(0xfffd, 0), true, 5, 1, 8));
}

/* Two busy sides need not make certain for any number of requests; the first to sleep is notified */
static void test_long_unchecked(void **state)
{
	(void)state;
	for (unsigned int requests = 120; requests < 140; requests++) {
		struct ring_fixture f;

		fixture_init(&f, PACKED, 64, true, false, 100);
		vq_device_disable_kicks(&f.device);
		vq_driver_disable_calls(&f.driver);
		for (unsigned int i = 0; i < requests; i++) {
			submit(&f, 1);
			serve(&f);
			drain(&f);
		}
		assert_false(vq_device_enable_kicks(&f.device));
		assert_false(vq_driver_enable_calls(&f.driver));
		assert_true(submit(&f, 3) || vq_driver_needs_kick(&f.driver));
		assert_true(serve(&f) || vq_device_needs_call(&f.device));
		fixture_free(&f);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_event_fires_once),
		cmocka_unit_test(test_event_forms),
		cmocka_unit_test(test_long_unchecked),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
