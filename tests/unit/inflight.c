/* SPDX-License-Identifier: GPL-2.0-only */
/* wire/inflight.c: a device that is killed at any moment leaves no request lost or answered twice */

#include <errno.h>
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>
#include <linux/virtio_config.h>
#include <cmocka.h>

#include "base/clock.h"
#include "base/rng.h"
#include "wire/inflight.h"
#include "wire/vq-driver.h"

#define MEMORY	(1u << 15)
#define SLOTS	8u
#define F(bit)	(1ull << (bit))

/* What a request's memory holds: the device copies one to the other. */
struct cell {
	uint64_t question;
	uint64_t filler;
	uint64_t answer;
};

static struct {
	char *mem;			/* ring, record and cells, shared with the device's process */
	void *record;
	struct cell *cell;
	struct guest_memory guest;
	struct vq_driver driver;
	uint8_t count[64];
	uint64_t features;
	unsigned int num;		/* entries of the ring */
	unsigned int slots;		/* requests in flight at most */
} t;

static int set_up(void **state)
{
	(void)state;
	t.mem = mmap(NULL, MEMORY, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	assert_true(t.mem != MAP_FAILED);
	t.record = t.mem + MEMORY / 2;
	t.cell = (struct cell *)(t.mem + MEMORY / 4);
	t.guest.nr = 1;
	t.guest.region[0] = (struct guest_region) {
		.guest = (uintptr_t)t.mem, .user = (uintptr_t)t.mem, .size = MEMORY, .host = t.mem
	};
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	munmap(t.mem, MEMORY);
	return 0;
}

static void start(uint64_t features, unsigned int num)
{
	memset(t.mem, 0, MEMORY);
	memset(t.count, 0, sizeof(t.count));
	t.features = features;
	t.num = num;
	t.slots = num / VQ_CHAIN;
	vq_driver_init(&t.driver, features & F(VIRTIO_F_RING_PACKED), t.mem, num, false, t.count);
}

/* The device of this process; @recover as after SET_INFLIGHT_FD */
static int open_device(struct vq_device *d, struct vq_inflight *record, bool recover)
{
	struct vq_parts parts = vq_driver_parts(&t.driver);
	struct vq_addresses at = {
		(uintptr_t)parts.desc, (uintptr_t)parts.driver, (uintptr_t)parts.device
	};
	int ret;

	assert_int_equal(vq_device_init(d, &t.guest, t.features, t.num, &at), 0);
	assert_int_equal(vq_device_resume(d, t.driver.notify.is_packed ? 0x8000 : 0), 0);
	assert_int_equal(vq_inflight_open(record, t.driver.notify.is_packed, t.num, t.record), 0);
	ret = vq_inflight_begin(record, d, recover);
	if (ret)
		vq_inflight_close(record);
	return ret;
}

static void add(unsigned int slot, uint64_t question, unsigned int segments)
{
	struct cell *c = &t.cell[slot];
	struct vq_segment seg[3] = {
		{ (uintptr_t)&c->question, 8, false }, { (uintptr_t)&c->filler, 8, false },
	};

	*c = (struct cell) { .question = question };
	seg[segments - 1] = (struct vq_segment) { (uintptr_t)&c->answer, 8, true };
	vq_driver_add_chain(&t.driver, slot, seg, segments);
}

static unsigned int slot_of(uint32_t id)
{
	return t.driver.notify.is_packed ? id : id / VQ_CHAIN;
}

static void answer(struct vq_chain *c)
{
	struct iovec *out = &c->iov[c->nr_read];

	memcpy(out->iov_base, c->iov[0].iov_base, 8);
	/* A request is answered with what it asked; it may be done again, never another's. */
}

/* The device's process: takes, answers and shows in any order, until it is killed */
static void device_main(unsigned int seed)
{
	static struct vq_chain held[SLOTS];
	struct vq_inflight record;
	struct vq_device d;
	unsigned int nr_held = 0;
	struct rng rng;

	rng_seed(&rng, seed);
	if (open_device(&d, &record, true))
		_exit(1);
	for (;;) {
		int ret = vq_inflight_resubmit(&record, &d, &t.guest, &held[nr_held]);

		if (ret < 0)
			_exit(2);
		if (!ret)
			break;
		nr_held++;
	}
	for (unsigned int idle = 0;; idle++) {
		if (nr_held < t.slots && rng_below(&rng, 2)) {
			int ret = vq_inflight_pop(&record, &d, &t.guest, &held[nr_held]);

			if (ret < 0)
				_exit(3);
			nr_held += ret;
			idle = ret ? 0 : idle;
		}
		if (nr_held && rng_below(&rng, 2)) {
			unsigned int i = rng_below(&rng, nr_held);

			answer(&held[i]);
			vq_inflight_push(&record, &d, &held[i], 8);
			held[i] = held[--nr_held];
		}
		if (!rng_below(&rng, 3))
			vq_inflight_publish(&record, &d);
		if (idle > 100)
			sched_yield();
	}
}

static pid_t spawn(unsigned int seed)
{
	pid_t pid = fork();

	if (!pid)
		device_main(seed);
	assert_true(pid > 0);
	return pid;
}

static void end(pid_t pid)
{
	int status;

	kill(pid, SIGKILL);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	if (!WIFSIGNALED(status))
		fail_msg("the device gave up: %d", WEXITSTATUS(status));
}

/* Take what is complete; each request must be in flight and have its own answer */
static unsigned int reap(bool *busy)
{
	unsigned int n = 0;
	uint32_t id, written;
	int ret;

	while ((ret = vq_driver_next_used(&t.driver, &id, &written)) == 1) {
		unsigned int slot = slot_of(id);

		assert_true(slot < t.slots && busy[slot]);
		assert_int_equal(t.cell[slot].answer, t.cell[slot].question);
		assert_int_equal(written, 8);
		busy[slot] = false;
		n++;
	}
	assert_int_equal(ret, 0);
	return n;
}

static void run_killed(uint64_t features, unsigned int num, unsigned int kills)
{
	uint64_t question = 0, done = 0, deadline;
	bool busy[SLOTS] = { false };
	struct rng rng;
	pid_t pid;

	start(features, num);
	rng_seed(&rng, num);
	pid = spawn(0);
	for (unsigned int i = 1; i <= kills; i++) {
		uint64_t until = done + rng_below(&rng, 40);

		deadline = clock_ns() + 20000000000ull;
		while (done < until) {
			for (unsigned int slot = 0; slot < t.slots; slot++) {
				if (busy[slot] || rng_below(&rng, 4))
					continue;
				add(slot, ++question, 2 + rng_below(&rng, 2));
				busy[slot] = true;
			}
			vq_driver_publish(&t.driver);
			done += reap(busy);
			if (clock_ns() > deadline)
				fail_msg("a request got lost after %u kills", i - 1);
		}
		end(pid);
		pid = spawn(i);
	}
	/* and all that is left comes back */
	deadline = clock_ns() + 20000000000ull;
	while (done < question) {
		done += reap(busy);
		if (clock_ns() > deadline)
			fail_msg("a request got lost");
	}
	end(pid);
	assert_int_equal(done, question);
}

static void test_killed_split(void **state)
{
	(void)state;
	run_killed(0, 16, 100);
}

static void test_killed_packed(void **state)
{
	(void)state;
	/* the ring is full of requests, and its end is met by lists of two and three */
	for (unsigned int num = 6; num <= 13; num++)
		run_killed(F(VIRTIO_F_RING_PACKED), num, 12);
}

/* Steps that a kill may come between, one by one: what a device leaves, and the next finds */

static struct vq_device device;
static struct vq_inflight record;
static struct vq_chain chain[SLOTS];

static void take(unsigned int n)
{
	for (unsigned int i = 0; i < n; i++)
		assert_int_equal(vq_inflight_pop(&record, &device, &t.guest, &chain[i]), 1);
}

static void submit(unsigned int n)
{
	for (unsigned int i = 0; i < n; i++)
		add(i, 100 + i, 2);
	vq_driver_publish(&t.driver);
}

static void give_back(unsigned int i)
{
	answer(&chain[i]);
	vq_inflight_push(&record, &device, &chain[i], 8);
}

/* Another device goes on, and finds these slots left, in this order */
static void expect_left(unsigned int n, const unsigned int *slots)
{
	struct vq_chain c;

	vq_inflight_close(&record);
	assert_int_equal(open_device(&device, &record, true), 0);
	for (unsigned int i = 0; i < n; i++) {
		assert_int_equal(vq_inflight_resubmit(&record, &device, &t.guest, &chain[i]), 1);
		assert_int_equal(slot_of(chain[i].head), slots[i]);
		assert_ptr_equal(chain[i].iov[0].iov_base, &t.cell[slots[i]].question);
		assert_int_equal(chain[i].nr_read, 1);
		assert_int_equal(chain[i].nr_write, 1);
	}
	assert_int_equal(vq_inflight_resubmit(&record, &device, &t.guest, &c), 0);
	assert_int_equal(vq_inflight_pop(&record, &device, &t.guest, &c), 0);
}

static void expect_done(unsigned int slot)
{
	uint32_t id = 0, written;

	assert_int_equal(vq_driver_next_used(&t.driver, &id, &written), 1);
	assert_int_equal(slot_of(id), slot);
	assert_int_equal(t.cell[slot].answer, t.cell[slot].question);
}

static void check_steps(uint64_t features)
{
	start(features, 16);
	assert_int_equal(open_device(&device, &record, true), 0);
	submit(5);
	take(5);
	/* taken, none returned: all, in the order they were taken in */
	expect_left(5, (const unsigned int[]) { 0, 1, 2, 3, 4 });
	/* returned, not shown: still all of them */
	give_back(3);
	give_back(1);
	assert_false(vq_driver_has_used(&t.driver));
	expect_left(5, (const unsigned int[]) { 0, 1, 2, 3, 4 });
	/* one that is shown alone must not uncover what was not */
	give_back(4);
	vq_inflight_publish(&record, &device);
	expect_done(4);
	assert_false(vq_driver_has_used(&t.driver));
	expect_left(4, (const unsigned int[]) { 0, 1, 2, 3 });
	give_back(3);
	give_back(1);
	vq_inflight_publish(&record, &device);
	expect_left(2, (const unsigned int[]) { 0, 2 });
	expect_done(3);
	expect_done(1);
	assert_false(vq_driver_has_used(&t.driver));
	/* what the driver adds meanwhile is not in the record, and comes from the ring */
	add(3, 200, 2);
	vq_driver_publish(&t.driver);
	give_back(1);
	vq_inflight_publish(&record, &device);
	expect_done(2);
	assert_int_equal(vq_inflight_pop(&record, &device, &t.guest, &chain[1]), 1);
	assert_int_equal(slot_of(chain[1].head), 3);
	expect_left(2, (const unsigned int[]) { 0, 3 });
	give_back(0);
	give_back(1);
	vq_inflight_publish(&record, &device);
	expect_done(0);
	expect_done(3);
	expect_left(0, NULL);
	vq_inflight_close(&record);
}

static void test_steps(void **state)
{
	(void)state;
	check_steps(0);
	check_steps(F(VIRTIO_F_RING_PACKED));
}

/* Without recovery the record is begun anew, whatever it says, where the queue is */
static void check_anew(uint64_t features)
{
	struct vq_chain c;

	start(features, 16);
	assert_int_equal(open_device(&device, &record, true), 0);
	submit(2);
	take(2);
	vq_inflight_close(&record);
	assert_int_equal(open_device(&device, &record, false), 0);
	assert_int_equal(vq_inflight_resubmit(&record, &device, &t.guest, &c), 0);
	take(2);
	expect_left(2, (const unsigned int[]) { 0, 1 });
	vq_inflight_close(&record);
}

static void test_anew(void **state)
{
	(void)state;
	check_anew(0);
	check_anew(F(VIRTIO_F_RING_PACKED));
}

/* Windows inside showing a batch, as the record is before and after each store */
static void test_split_windows(void **state)
{
	struct inflight_split *r = t.record;

	(void)state;
	start(0, 16);
	assert_int_equal(open_device(&device, &record, true), 0);
	submit(4);
	take(4);
	give_back(2);
	give_back(0);
	vq_inflight_publish(&record, &device);
	/* the driver was shown, and none, or one, of the flags was cleared */
	r->used_idx = 0;
	r->desc[0].inflight = 1;
	r->desc[2 * VQ_CHAIN].inflight = 1;
	expect_left(2, (const unsigned int[]) { 1, 3 });
	assert_int_equal(r->used_idx, 2);
	vq_inflight_close(&record);
}

static void test_packed_windows(void **state)
{
	struct inflight_packed *r = t.record, before, shown;

	(void)state;
	for (unsigned int i = 0; i < 4; i++) {
		start(F(VIRTIO_F_RING_PACKED), 16);
		assert_int_equal(open_device(&device, &record, true), 0);
		submit(4);
		take(4);
		give_back(2);
		give_back(0);
		before = *r;
		inflight_packed_show(&record, &device);
		shown = *r;
		switch (i) {
		case 0:		/* free_head alone has been stored */
			r->used_idx = before.used_idx;
			break;
		case 1:		/* all has, but the driver was not shown */
			break;
		case 2:		/* it was, and no flag was cleared */
			vq_device_publish(&device);
			break;
		default:	/* all were, and old_free_head stored */
			vq_device_publish(&device);
			r->desc[0].inflight = 0;
			r->desc[4].inflight = 0;
			r->old_free_head = shown.free_head;
			break;
		}
		if (i < 2)
			expect_left(4, (const unsigned int[]) { 0, 1, 2, 3 });
		else
			expect_left(2, (const unsigned int[]) { 1, 3 });
		assert_int_equal(r->used_idx, r->old_used_idx);
		assert_int_equal(r->free_head, r->old_free_head);
		vq_inflight_close(&record);
	}
	/* a request that was being taken when the device was killed is still in the ring */
	start(F(VIRTIO_F_RING_PACKED), 16);
	assert_int_equal(open_device(&device, &record, true), 0);
	submit(2);
	take(1);
	before = *r;
	take(1);
	r->old_free_head = before.old_free_head;
	vq_inflight_close(&record);
	assert_int_equal(open_device(&device, &record, true), 0);
	assert_int_equal(vq_inflight_resubmit(&record, &device, &t.guest, &chain[0]), 1);
	assert_int_equal(chain[0].head, 0);
	assert_int_equal(vq_inflight_resubmit(&record, &device, &t.guest, &chain[1]), 0);
	assert_int_equal(vq_inflight_pop(&record, &device, &t.guest, &chain[1]), 1);
	assert_int_equal(chain[1].head, 1);
	vq_inflight_close(&record);
}

/* Noise for a record: refused or served, but nothing outside it is touched */
static void test_noise(void **state)
{
	struct rng rng;
	unsigned int refused = 0;

	(void)state;
	rng_seed(&rng, 7);
	for (unsigned int i = 0; i < 20000; i++) {
		bool is_packed = i & 1;
		size_t bytes;
		char *shared;

		start(is_packed ? F(VIRTIO_F_RING_PACKED) : 0, 16);
		bytes = vq_inflight_bytes(is_packed, 16);
		/* of its own, so that a step outside is seen by a sanitizer */
		shared = aligned_alloc(64, bytes);
		memset(shared, 0, bytes);
		t.record = shared;
		assert_int_equal(open_device(&device, &record, true), 0);
		submit(5);
		take(1 + rng_below(&rng, 5));
		vq_inflight_close(&record);
		for (unsigned int n = 1 + rng_below(&rng, 8); n--; )
			shared[10 + rng_below(&rng, bytes - 10)] = (char)(rng_below(&rng, 2) ?
				rng_below(&rng, 20) : rng_below(&rng, 256));
		if (open_device(&device, &record, true)) {
			refused++;
		} else {
			struct vq_chain c;
			unsigned int taken = 0;

			while (taken++ < 64 && vq_inflight_resubmit(&record, &device, &t.guest, &c) == 1)
				vq_inflight_push(&record, &device, &c, 8);
			vq_inflight_publish(&record, &device);
			while (taken++ < 64 && vq_inflight_pop(&record, &device, &t.guest, &c) == 1)
				vq_inflight_push(&record, &device, &c, 8);
			vq_inflight_publish(&record, &device);
			vq_inflight_close(&record);
		}
		free(shared);
	}
	t.record = t.mem + MEMORY / 2;
	assert_true(refused > 100 && refused < 19000);
}

static void test_layout(void **state)
{
	(void)state;
	assert_int_equal(sizeof(struct inflight_split_desc), 16);
	assert_int_equal(offsetof(struct inflight_split, desc), 16);
	assert_int_equal(sizeof(struct inflight_packed_desc), 32);
	assert_int_equal(offsetof(struct inflight_packed, desc), 32);
	assert_int_equal(vq_inflight_bytes(false, 128) % 64, 0);
	assert_true(vq_inflight_bytes(false, 128) >= 16 + 128 * 16);
	assert_true(vq_inflight_bytes(true, 128) >= 32 + 128 * 32);
	assert_int_equal(vq_inflight_entries(false, 16 + 128 * 16), 128);
	assert_int_equal(vq_inflight_entries(false, 16 + 128 * 16 - 1), 127);
	assert_int_equal(vq_inflight_entries(true, 32 + 100 * 32), 100);
	assert_int_equal(vq_inflight_entries(true, 32 + 100 * 32 - 1), 99);
	assert_int_equal(vq_inflight_entries(true, SIZE_MAX), 32768);
}

#define TEST(fn)	cmocka_unit_test_setup_teardown(fn, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_layout),
		TEST(test_steps),
		TEST(test_anew),
		TEST(test_split_windows),
		TEST(test_packed_windows),
		TEST(test_noise),
		TEST(test_killed_split),
		TEST(test_killed_packed),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
