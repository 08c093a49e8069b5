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
#include <linux/virtio_config.h>

#include "wire/vq-device.h"
#include "wire/vq-driver.h"

#define FIXTURE_BYTES	(2u << 20)
#define FIXTURE_GUEST	0x40000000ull
#define FIXTURE_USER	0x7f1200000000ull

enum ring_format { SPLIT, PACKED };

/**
 * struct ring_fixture - both ends of a virtqueue
 * @mem: memory both see; the ring is at its start
 * @data: what is behind the ring
 */
struct ring_fixture {
	unsigned char *mem;
	unsigned char *data;
	uint8_t count[1024];
	struct guest_memory guest;
	struct vq_driver driver;
	struct vq_device device;
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

/* A device at @start on the ring that the driver has */
static inline void fixture_attach(struct ring_fixture *f, struct vq_device *d, bool event_idx,
				  bool indirect, unsigned int start)
{
	struct vq_parts parts = vq_driver_parts(&f->driver);
	bool packed = f->driver.notify.is_packed;
	uint64_t features = (uint64_t)packed << VIRTIO_F_RING_PACKED |
			    (uint64_t)event_idx << VIRTIO_RING_F_EVENT_IDX |
			    (uint64_t)indirect << VIRTIO_RING_F_INDIRECT_DESC;
	unsigned int num = f->driver.notify.num;

	assert_int_equal(vq_device_init(d, &f->guest, features, num, &(struct vq_addresses) {
		.desc = fixture_user(f, parts.desc),
		.driver = fixture_user(f, parts.driver),
		.device = fixture_user(f, parts.device),
	}), 0);
	vq_device_start(d, start, start);
}

/* A packed ring that has been gone round before is one whose descriptors are all used. */
static inline void fixture_age_packed(struct vq_driver *d, unsigned int num, unsigned int start)
{
	for (unsigned int i = 0; i < num; i++) {
		unsigned int lap = start < num ? (i < start ? 0 : num) : (i + num < start ? num : 0);

		d->packed.desc[i].flags = htole16(packed_used_flags(lap, num));
	}
	atomic_store(&d->packed.place->avail, start);
	atomic_store(&d->packed.place->used, start);
}

static inline void fixture_age(struct ring_fixture *f, unsigned int num, unsigned int start)
{
	if (f->driver.notify.is_packed) {
		fixture_age_packed(&f->driver, num, start);
		return;
	}
	ring_store16(&f->driver.split.avail->idx, start, memory_order_relaxed);
	ring_store16(&f->driver.split.used->idx, start, memory_order_relaxed);
}

/**
 * fixture_init - make a ring at a given position
 * @f: filled in
 * @format: SPLIT or PACKED
 * @num: queue size
 * @event_idx: negotiated
 * @indirect: negotiated
 * @start: where driver and device begin: a split ring's indices, a packed ring's position
 */
static inline void fixture_init(struct ring_fixture *f, enum ring_format format, unsigned int num,
				bool event_idx, bool indirect, unsigned int start)
{
	memset(f, 0, sizeof(*f));
	f->mem = aligned_alloc(4096, FIXTURE_BYTES);
	assert_non_null(f->mem);
	memset(f->mem, 0, FIXTURE_BYTES);
	f->data = f->mem + (vq_ring_bytes(format, num) + 4095) / 4096 * 4096;
	f->guest.nr = 1;
	f->guest.region[0] = (struct guest_region) {
		.guest = FIXTURE_GUEST,
		.user = FIXTURE_USER,
		.size = FIXTURE_BYTES,
		.host = (char *)f->mem,
	};

	/* once to learn where the parts are, once more to start there */
	vq_driver_init(&f->driver, format, f->mem, num, event_idx, f->count);
	fixture_age(f, num, start);
	vq_driver_init(&f->driver, format, f->mem, num, event_idx, f->count);
	fixture_attach(f, &f->device, event_idx, indirect, start);
}

/* What the device says to parts of a ring at these addresses in the front end */
static inline int fixture_place(struct ring_fixture *f, enum ring_format format, unsigned int num,
				uint64_t desc, uint64_t driver, uint64_t device)
{
	const struct vq_addresses at = { desc, driver, device };
	struct vq_device d;

	return vq_device_init(&d, &f->guest, (uint64_t)format << VIRTIO_F_RING_PACKED, num, &at);
}

static inline void fixture_free(struct ring_fixture *f)
{
	free(f->mem);
}

/* The device takes one request, which is there */
static inline uint16_t fixture_pop(struct ring_fixture *f)
{
	assert_int_equal(vq_device_pop(&f->device, &f->guest, &f->chain), 1);
	return f->chain.head;
}

/* The driver takes one completion, which is there; returns what names it in the ring */
static inline uint32_t fixture_used(struct ring_fixture *f, uint32_t *written)
{
	uint32_t id = 0;

	assert_int_equal(vq_driver_next_used(&f->driver, &id, written), 1);
	return id;
}

/* One device-writable segment of a given length */
static inline void add(struct ring_fixture *f, unsigned int slot, uint32_t len)
{
	struct vq_segment seg = { fixture_guest(f, f->data), len, true };

	vq_driver_add_chain(&f->driver, slot, &seg, 1);
}

/* Pops and returns all there is; returns whether the driver is to be called */
static inline bool serve(struct ring_fixture *f)
{
	while (vq_device_pop(&f->device, &f->guest, &f->chain) == 1)
		vq_device_push(&f->device, &f->chain, 0);
	return vq_device_publish(&f->device);
}

static inline void drain(struct ring_fixture *f)
{
	uint32_t id, written;

	while (vq_driver_next_used(&f->driver, &id, &written) == 1)
		;
}

static inline bool submit(struct ring_fixture *f, unsigned int n)
{
	for (unsigned int i = 0; i < n; i++)
		add(f, i, 1);
	return vq_driver_publish(&f->driver);
}

#endif
