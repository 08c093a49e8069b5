/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef WIRE_SPLIT_DRIVER_H
#define WIRE_SPLIT_DRIVER_H

#include <stddef.h>
#include "wire/ring.h"

/**
 * struct split_driver - the driver's side of one split virtqueue
 *
 * Every request has a fixed identity, its slot, and a slot always uses the same
 * descriptors. A descriptor that already says what the request needs is not written
 * again, so its cache line stays shared with the device.
 */
struct split_driver {
	struct vring_desc *desc;
	struct vring_avail *avail;
	struct vring_used *used;
	unsigned int num;
	bool event_idx;
	uint16_t avail_idx;	/* next avail entry to fill */
	uint16_t published;	/* avail index the device has been shown */
	uint16_t unsettled;	/* published requests for which it is open whether a kick is wanted */
	uint16_t used_idx;	/* next used entry to read */
	uint16_t used_seen;	/* used index as last read from the ring */
	bool calls_off;		/* the flag in avail is set (without event_idx) */
};

size_t split_ring_bytes(unsigned int num);
void split_driver_init(struct split_driver *d, void *mem, unsigned int num, bool event_idx);
void split_driver_add_indirect(struct split_driver *d, unsigned int slot, uint64_t table,
			       unsigned int entries);
void split_driver_add_chain(struct split_driver *d, unsigned int slot,
			    const struct vq_segment *seg, unsigned int n);
bool split_driver_publish(struct split_driver *d);
bool split_driver_settle(struct split_driver *d);
bool split_driver_enable_calls(struct split_driver *d);
void split_driver_disable_calls(struct split_driver *d);
int split_driver_next_used(struct split_driver *d, uint32_t *id, uint32_t *written);

/**
 * split_driver_has_used - look for a completion without taking it
 * @d: the queue
 *
 * Return: whether split_driver_next_used() would find one.
 */
static inline bool split_driver_has_used(struct split_driver *d)
{
	if (d->used_idx == d->used_seen)
		/* pairs with the release of used->idx in split_device_publish() */
		d->used_seen = ring_load16(&d->used->idx, memory_order_acquire);
	return d->used_idx != d->used_seen;
}

#endif
