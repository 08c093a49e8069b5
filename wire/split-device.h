/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef WIRE_SPLIT_DEVICE_H
#define WIRE_SPLIT_DEVICE_H

#include "wire/chain.h"
#include "wire/ring.h"

/**
 * struct split_device - the device's side of one split virtqueue
 *
 * Owned by one iothread at a time.
 */
struct split_device {
	struct vring_desc *desc;
	struct vring_avail *avail;
	struct vring_used *used;
	unsigned int num;
	bool event_idx;
	bool indirect;
	bool kicks_off;		/* the flag in used is set (without event_idx) */
	uint16_t avail_idx;	/* next avail entry to take */
	uint16_t avail_seen;	/* avail index as last read from the ring */
	uint16_t used_idx;	/* next used entry to fill */
	uint16_t published;	/* used index the driver has been shown */
	uint16_t unsettled;	/* published requests for which it is open whether a call is wanted */
};

int split_device_init(struct split_device *d, const struct guest_memory *mem, unsigned int num,
		      uint64_t desc, uint64_t avail, uint64_t used);
void split_device_resume(struct split_device *d, uint16_t avail_idx);
int split_device_read(const struct split_device *d, const struct guest_memory *mem,
		      struct vq_chain *c);
int split_device_pop(struct split_device *d, const struct guest_memory *mem, struct vq_chain *c);
void split_device_push(struct split_device *d, uint16_t head, uint32_t written);
bool split_device_publish(struct split_device *d);
bool split_device_settle(struct split_device *d);
bool split_device_enable_kicks(struct split_device *d);
void split_device_disable_kicks(struct split_device *d);

/**
 * split_device_has_avail - look for a request without taking it
 * @d: the queue
 *
 * Return: whether split_device_pop() would find one.
 */
static inline bool split_device_has_avail(struct split_device *d)
{
	if (d->avail_idx == d->avail_seen)
		/* pairs with the release of avail->idx in split_driver_publish() */
		d->avail_seen = ring_load16(&d->avail->idx, memory_order_acquire);
	return d->avail_idx != d->avail_seen;
}

#endif
