/* SPDX-License-Identifier: GPL-2.0-only */
/* A driver and a device on the two ends of one packed virtqueue: see ring-fixture.h */
#ifndef TESTS_UNIT_PACKED_FIXTURE_H
#define TESTS_UNIT_PACKED_FIXTURE_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "wire/packed-device.h"
#include "wire/packed-driver.h"

#define FIXTURE_BYTES	(2u << 20)
#define FIXTURE_GUEST	0x40000000ull
#define FIXTURE_USER	0x7f1200000000ull

/**
 * struct packed_fixture - both ends of a virtqueue
 * @mem: memory both see; the ring is at its start
 * @data: what is behind the ring
 */
struct packed_fixture {
	unsigned char *mem;
	unsigned char *data;
	uint8_t count[1024];
	struct guest_memory guest;
	struct packed_driver driver;
	struct packed_device device;
	struct vq_chain chain;
};

static inline uint64_t fixture_guest(const struct packed_fixture *f, const void *p)
{
	return FIXTURE_GUEST + ((const unsigned char *)p - f->mem);
}

static inline uint64_t fixture_user(const struct packed_fixture *f, const void *p)
{
	return FIXTURE_USER + ((const unsigned char *)p - f->mem);
}

/* A ring that has been gone round before is one whose descriptors are all used. */
static inline void fixture_age(struct packed_fixture *f, unsigned int num, unsigned int start)
{
	struct packed_place *place = f->driver.place;

	for (unsigned int i = 0; i < num; i++) {
		unsigned int lap = start < num ? (i < start ? 0 : num) : (i + num < start ? num : 0);

		f->driver.desc[i].flags = htole16(packed_used_flags(lap, num));
	}
	atomic_store(&place->avail, start);
	atomic_store(&place->used, start);
}

/**
 * fixture_init - make a ring at a given position
 * @f: filled in
 * @num: queue size
 * @event_idx: negotiated
 * @indirect: negotiated
 * @start: the position at which driver and device begin
 */
static inline void fixture_init(struct packed_fixture *f, unsigned int num, bool event_idx,
				bool indirect, unsigned int start)
{
	memset(f, 0, sizeof(*f));
	f->mem = aligned_alloc(4096, FIXTURE_BYTES);
	assert_non_null(f->mem);
	memset(f->mem, 0, FIXTURE_BYTES);
	f->data = f->mem + (packed_ring_bytes(num) + 4095) / 4096 * 4096;
	f->guest.nr = 1;
	f->guest.region[0] = (struct guest_region) {
		.guest = FIXTURE_GUEST,
		.user = FIXTURE_USER,
		.size = FIXTURE_BYTES,
		.host = (char *)f->mem,
	};

	/* once to learn where the parts are, once more to start there */
	packed_driver_init(&f->driver, f->mem, num, event_idx, f->count);
	fixture_age(f, num, start);
	packed_driver_init(&f->driver, f->mem, num, event_idx, f->count);
	f->device.event_idx = event_idx;
	f->device.indirect = indirect;
	assert_int_equal(packed_device_init(&f->device, &f->guest, num,
					    fixture_user(f, f->driver.desc),
					    fixture_user(f, f->driver.driver_event),
					    fixture_user(f, f->driver.device_event)), 0);
	packed_device_resume(&f->device, start, start);
}

static inline void fixture_free(struct packed_fixture *f)
{
	free(f->mem);
}

/* The device takes one request, which is there */
static inline uint16_t fixture_pop(struct packed_fixture *f)
{
	assert_int_equal(packed_device_pop(&f->device, &f->guest, &f->chain), 1);
	return f->chain.head;
}

/* The driver takes one completion, which is there */
static inline uint32_t fixture_used(struct packed_fixture *f, uint32_t *written)
{
	uint32_t slot;

	assert_int_equal(packed_driver_next_used(&f->driver, &slot, written), 1);
	return slot;
}

/* One device-writable segment of a given length */
static inline void add(struct packed_fixture *f, unsigned int slot, uint32_t len)
{
	struct vq_segment seg = { fixture_guest(f, f->data), len, true };

	packed_driver_add_chain(&f->driver, slot, &seg, 1);
}

/* Pops and returns all there is; returns whether the driver is to be called */
static inline bool serve(struct packed_fixture *f)
{
	while (packed_device_pop(&f->device, &f->guest, &f->chain) == 1)
		packed_device_push(&f->device, f->chain.head, f->chain.count, 0);
	return packed_device_publish(&f->device);
}

static inline void drain(struct packed_fixture *f)
{
	uint32_t slot, written;

	while (packed_driver_next_used(&f->driver, &slot, &written) == 1)
		;
}

static inline bool submit(struct packed_fixture *f, unsigned int n)
{
	for (unsigned int i = 0; i < n; i++)
		add(f, i, 1);
	return packed_driver_publish(&f->driver);
}

#endif
