/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Driver and device of a virtqueue, step by step in one thread: nobody polls in vain, so what a
 * request costs each of them is the same in every run. The engine's driver and the target's own
 * turn of the loop, queue, device and null backend are driven.
 *
 * As a test it asks for all requests to be answered without a kick or a call. Under callgrind
 * tests/build/instructions.sh counts instructions: those of SHAPE_driver, and of SHAPE_both beside.
 */

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>
#include <linux/virtio_config.h>

#include "engines/driver/virtio-blk.h"
#include "targets/device/queue.h"

#define NUM		128
#define BLOCK		4096u
#define REQUESTS	4096u
#define F(bit)		(1ull << (bit))

/* Both sides, as transport=embedded has them, but with the iothread's loop in this thread. */
static struct {
	struct iothread it;
	struct backend backend;
	struct blk_device dev;
	struct guest_memory guest;
	struct queue queue;
	struct event_source job;
	void (*job_step)(void);
	char *mem;
	char *buffers;
	struct blk_queue driver;
	unsigned int in_flight, sent, done;
} t;

static void die(const char *what, int err)
{
	fprintf(stderr, "virtqueue-steps: %s: %s\n", what, strerror(err < 0 ? -err : err));
	exit(1);
}

static void must(int ret, const char *what)
{
	if (ret)
		die(what, ret);
}

static void on_broken(void *owner, struct queue *q, int err)
{
	(void)owner;
	(void)q;
	die("the queue is broken", err);
}

/*
 * The driver's step stands where the loop looks for work, so a step of the device is the rest of
 * a turn: a look that finds nothing, one that finds what the driver has sent, and the work.
 */
static bool job_poll(struct event_source *s, uint64_t now)
{
	(void)s;
	(void)now;
	t.job_step();
	t.it.stop = t.done == REQUESTS;
	return t.it.stop;
}

static void job_nothing(struct event_source *s)
{
	(void)s;
}

static const struct event_source_ops job_ops = {
	.poll = job_poll,
	.disarm = job_nothing,
	.dispatch = job_nothing,
};

static void stop_thread(void *arg)
{
	((struct iothread *)arg)->stop = true;
}

static void start_device(uint64_t features)
{
	const struct vq_parts parts = vq_driver_parts(&t.driver.ring);
	const struct vq_addresses at = {
		(uintptr_t)parts.desc, (uintptr_t)parts.driver, (uintptr_t)parts.device,
	};
	const struct channel_config through = { 0 };
	struct poll_policy policy;
	cpu_set_t any;

	CPU_ZERO(&any);
	poll_policy_init(&policy, &(struct poll_config) { .mode = POLL_BUSY });
	must(iothread_start(&t.it, 0, &any, &policy), "iothread");
	must(channel_start(&t.it, &through), "channel");
	t.queue = (struct queue) {
		.dev = &t.dev,
		.mem = &t.guest,
		.call_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK),
		.on_broken = on_broken,
	};
	t.queue.source.fd = t.driver.kick_fd;
	must(vq_device_init(&t.queue.ring, &t.guest, features, NUM, &at), "ring");
	must(queue_start(&t.queue, &t.it, vq_driver_base(&t.driver.ring)), "queue");
	/* From here on the loop is ours. */
	iothread_call(&t.it, stop_thread, &t.it);
	pthread_join(t.it.thread, NULL);
	t.it.stop = false;
	t.job = (struct event_source) { .ops = &job_ops, .fd = -1 };
	must(iothread_add_source(&t.it, &t.job), "source");
}

static void *thread_again(void *arg)
{
	iothread_loop(arg);
	return NULL;
}

static void stop_device(void)
{
	iothread_remove_source(&t.it, &t.job);
	t.it.stop = false;
	must(pthread_create(&t.it.thread, NULL, thread_again, &t.it), "thread");
	queue_stop(&t.queue, false);
	channel_stop(&t.it);
	iothread_stop(&t.it);
	close(t.queue.call_fd);
}

static void start(bool packed)
{
	const uint64_t features = F(VIRTIO_RING_F_EVENT_IDX) | F(VIRTIO_RING_F_INDIRECT_DESC) |
				  (uint64_t)packed << VIRTIO_F_RING_PACKED;
	const struct blk_shape shape = { .num = NUM, .segments = 1, .features = features };
	const struct backend_config null = { .ops = &null_backend, .size = 1u << 30 };
	size_t ring = (blk_queue_bytes(&shape) + 4095) / 4096 * 4096, size = ring + NUM * BLOCK;

	memset(&t, 0, sizeof(t));
	t.mem = aligned_alloc(4096, size);
	if (!t.mem)
		die("memory", ENOMEM);
	memset(t.mem, 0, size);
	t.buffers = t.mem + ring;
	t.guest.nr = 1;
	t.guest.region[0] = (struct guest_region) {
		.guest = (uintptr_t)t.mem, .user = (uintptr_t)t.mem, .size = size, .host = t.mem,
	};
	must(backend_open(&t.backend, &null), "backend");
	blk_device_init(&t.dev, &t.backend, 512, false, 1);
	must(blk_queue_init(&t.driver, t.mem, &shape, 0, eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)),
	     "driver");
	vq_driver_disable_calls(&t.driver.ring);
	start_device(features);
}

static void stop(void)
{
	stop_device();
	close(t.driver.kick_fd);
	blk_queue_destroy(&t.driver);
	backend_close(&t.backend);
	free(t.mem);
}

/* What a job does between two waits: take what is complete, send as much anew, find nothing more. */
static inline void driver_step(unsigned int depth, unsigned int batch)
{
	void *tag;
	int err;

	if (vq_driver_has_used(&t.driver.ring)) {
		while (t.in_flight && blk_queue_next(&t.driver, &tag, &err) == 1) {
			t.in_flight--;
			t.done++;
		}
	}
	while (t.in_flight < depth && t.sent < REQUESTS) {
		unsigned int slot = t.sent % NUM;

		blk_queue_rw(&t.driver, false, (uint64_t)t.sent * BLOCK, t.buffers + slot * BLOCK,
			     BLOCK, t.buffers + slot);
		t.in_flight++;
		if (!(++t.sent % batch) && blk_queue_submit(&t.driver))
			die("kick", EIO);
	}
	if (blk_queue_next(&t.driver, &tag, &err) || blk_queue_check_kick(&t.driver))
		die("a request before it was taken", EPROTO);
}

/*
 * Functions of their own, by whose names callgrind tells them apart; the comment in assembler keeps
 * the compiler from making one of those that are alike.
 */
#define STEP(name, step) \
static __attribute__((noinline)) void name(void) \
{ \
	__asm__ volatile("/* " #name " */"); \
	step; \
}

#define SHAPE(name, is_packed, depth, batch) \
STEP(name##_driver, driver_step(depth, batch)) \
STEP(name##_both, iothread_loop(&t.it)) \
static void name(void) \
{ \
	start(is_packed); \
	t.job_step = name##_driver; \
	name##_both(); \
	if (counter_get(&t.it.stats.calls) || t.driver.stats.kicks) \
		die(#name ": notified although both sides poll", EPROTO); \
	stop(); \
	printf("%s %u\n", #name, REQUESTS); \
}

SHAPE(split_qd1, false, 1, 1)
SHAPE(split_qd32, false, 32, 1)
SHAPE(split_batch16, false, 32, 16)
SHAPE(packed_qd1, true, 1, 1)
SHAPE(packed_qd32, true, 32, 1)
SHAPE(packed_batch16, true, 32, 16)

int main(void)
{
	split_qd1();
	split_qd32();
	split_batch16();
	packed_qd1();
	packed_qd32();
	packed_batch16();
	return 0;
}
