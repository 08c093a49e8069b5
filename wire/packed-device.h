/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef WIRE_PACKED_DEVICE_H
#define WIRE_PACKED_DEVICE_H

#include "wire/chain.h"
#include "wire/packed.h"

/**
 * struct packed_device - the device's side of one packed virtqueue
 *
 * Owned by one iothread at a time. Positions are those of wire/packed.h.
 */
struct packed_device {
	struct vring_packed_desc *desc;
	struct vring_packed_desc_event *driver_event;	/* what the driver wants */
	struct vring_packed_desc_event *device_event;	/* what we want */
	unsigned int num;
	bool event_idx;
	bool indirect;
	uint64_t first;		/* the used descriptor for published, kept back until then */
	uint32_t event;		/* what device_event says */
	unsigned int avail;	/* next descriptor to take */
	unsigned int used;	/* next used descriptor to write */
	unsigned int published;	/* next used descriptor to show to the driver */
	unsigned int unsettled;	/* descriptors before it of which it is open whether a call is wanted */
};

int packed_device_init(struct packed_device *d, const struct guest_memory *mem, unsigned int num,
		       uint64_t desc, uint64_t driver_area, uint64_t device_area);
void packed_device_resume(struct packed_device *d, unsigned int avail, unsigned int used);
int packed_device_pop(struct packed_device *d, const struct guest_memory *mem, struct vq_chain *c);
int packed_device_add(const struct packed_device *d, const struct guest_memory *mem,
		      const struct vring_packed_desc *desc, bool first, struct vq_chain *c);
unsigned int packed_device_seen(const struct packed_device *d);
void packed_device_push(struct packed_device *d, uint16_t id, uint16_t count, uint32_t written);
bool packed_device_publish(struct packed_device *d);
bool packed_device_settle(struct packed_device *d);
bool packed_device_enable_kicks(struct packed_device *d);
void packed_device_disable_kicks(struct packed_device *d);

static inline bool packed_device_is_avail(const struct packed_device *d, unsigned int pos)
{
	/* pairs with the release in packed_driver_publish() */
	uint16_t flags = packed_tail_flags(packed_load_tail(&d->desc[packed_index(pos, d->num)]));

	return (flags & (PACKED_AVAIL | PACKED_USED)) == packed_avail_flags(pos, d->num);
}

/**
 * packed_device_has_avail - look for a request without taking it
 * @d: the queue
 *
 * Return: whether packed_device_pop() would find one.
 */
static inline bool packed_device_has_avail(const struct packed_device *d)
{
	return packed_device_is_avail(d, d->avail);
}

#endif
