/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef WIRE_PACKED_DRIVER_H
#define WIRE_PACKED_DRIVER_H

#include <stddef.h>
#include "wire/packed.h"

/**
 * struct packed_place - where a driver is in its ring, beside the ring
 * @avail: position of the next descriptor to fill
 * @used: position of the next used descriptor to read
 *
 * A packed ring does not tell.
 */
struct packed_place {
	_Atomic uint16_t avail;
	_Atomic uint16_t used;
};

/**
 * struct packed_driver - the driver's side of one packed virtqueue
 *
 * Positions are those of wire/packed.h. A request's slot is its buffer id.
 */
struct packed_driver {
	struct vring_packed_desc *desc;
	struct vring_packed_desc_event *driver_event;	/* what we want */
	struct vring_packed_desc_event *device_event;	/* what the device wants */
	struct packed_place *place;	/* avail and used, for who comes next */
	uint8_t *count;		/* of each slot: descriptors it has in the ring */
	unsigned int num;
	bool event_idx;
	uint64_t first_addr;	/* the descriptor for published, kept back until then */
	uint64_t first;
	uint32_t event;		/* what driver_event says */
	unsigned int avail;	/* next descriptor to fill */
	unsigned int published;	/* next descriptor to show to the device */
	unsigned int unsettled;	/* descriptors before it of which it is open whether a kick is wanted */
	unsigned int used;	/* next used descriptor to read */
};

size_t packed_ring_bytes(unsigned int num);
void packed_driver_init(struct packed_driver *d, void *mem, unsigned int num, bool event_idx,
			uint8_t *count);
void packed_driver_add_indirect(struct packed_driver *d, unsigned int slot, uint64_t table,
				unsigned int entries);
void packed_driver_add_chain(struct packed_driver *d, unsigned int slot,
			     const struct vq_segment *seg, unsigned int n);
bool packed_driver_publish(struct packed_driver *d);
bool packed_driver_settle(struct packed_driver *d);
bool packed_driver_enable_calls(struct packed_driver *d);
void packed_driver_disable_calls(struct packed_driver *d);
int packed_driver_next_used(struct packed_driver *d, uint32_t *slot, uint32_t *written);

/**
 * packed_driver_has_used - look for a completion without taking it
 * @d: the queue
 *
 * Return: whether packed_driver_next_used() would find one.
 */
static inline bool packed_driver_has_used(const struct packed_driver *d)
{
	/* pairs with the release in packed_device_publish() */
	uint16_t flags = packed_tail_flags(packed_load_tail(&d->desc[packed_index(d->used, d->num)]));

	return (flags & (PACKED_AVAIL | PACKED_USED)) == packed_used_flags(d->used, d->num);
}

#endif
