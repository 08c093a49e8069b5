/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A driver and a device on the two ends of one virtqueue, in one process. Guest and
 * front-end addresses differ from each other and from addresses here, so that mixing
 * them up is seen.
 */
#ifndef TESTS_UNIT_RING_FIXTURE_H
#define TESTS_UNIT_RING_FIXTURE_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "wire/split-device.h"
#include "wire/split-driver.h"

#define FIXTURE_BYTES	(2u << 20)
#define FIXTURE_GUEST	0x40000000ull
#define FIXTURE_USER	0x7f1200000000ull

/**
 * struct ring_fixture - both ends of a virtqueue
 * @mem: memory both see; the ring is at its start
 * @data: what is behind the ring
 */
struct ring_fixture {
	unsigned char *mem;
	unsigned char *data;
	struct guest_memory guest;
	struct split_driver driver;
	struct split_device device;
	struct vq_chain chain;
};

static inline uint64_t fixture_guest(const struct ring_fixture *f, const void *p)
{
	return FIXTURE_GUEST + ((const unsigned char *)p - f->mem);
}

static inline uint64_t fixture_user(const struct ring_fixture *f, const void *p)
{
	return FIXTURE_USER + ((const unsigned char *)p - f->mem);
}

/* A device at @base on the ring that the driver has */
static inline void fixture_attach(struct ring_fixture *f, struct split_device *d, uint16_t base)
{
	d->event_idx = f->device.event_idx;
	d->indirect = f->device.indirect;
	assert_int_equal(split_device_init(d, &f->guest, f->driver.num,
					   fixture_user(f, f->driver.desc),
					   fixture_user(f, f->driver.avail),
					   fixture_user(f, f->driver.used)), 0);
	split_device_resume(d, base);
}

/**
 * fixture_init - make a ring whose indices are all at a given number
 * @f: filled in
 * @num: queue size
 * @event_idx: negotiated
 * @indirect: negotiated
 * @start: where the indices begin
 */
static inline void fixture_init(struct ring_fixture *f, unsigned int num, bool event_idx,
				bool indirect, uint16_t start)
{
	memset(f, 0, sizeof(*f));
	f->mem = aligned_alloc(4096, FIXTURE_BYTES);
	assert_non_null(f->mem);
	memset(f->mem, 0, FIXTURE_BYTES);
	f->data = f->mem + (split_ring_bytes(num) + 4095) / 4096 * 4096;
	f->guest.nr = 1;
	f->guest.region[0] = (struct guest_region) {
		.guest = FIXTURE_GUEST,
		.user = FIXTURE_USER,
		.size = FIXTURE_BYTES,
		.host = (char *)f->mem,
	};

	/* once to learn where the parts are, once more to start at the indices */
	split_driver_init(&f->driver, f->mem, num, event_idx);
	ring_store16(&f->driver.avail->idx, start, memory_order_relaxed);
	ring_store16(&f->driver.used->idx, start, memory_order_relaxed);
	split_driver_init(&f->driver, f->mem, num, event_idx);
	f->device.event_idx = event_idx;
	f->device.indirect = indirect;
	fixture_attach(f, &f->device, start);
}

static inline void fixture_free(struct ring_fixture *f)
{
	free(f->mem);
}

/* The device takes one request, which is there */
static inline uint16_t fixture_pop(struct ring_fixture *f)
{
	assert_int_equal(split_device_pop(&f->device, &f->guest, &f->chain), 1);
	return f->chain.head;
}

/* The driver takes one completion, which is there */
static inline uint32_t fixture_used(struct ring_fixture *f, uint32_t *written)
{
	uint32_t id;

	assert_int_equal(split_driver_next_used(&f->driver, &id, written), 1);
	return id;
}

#endif
