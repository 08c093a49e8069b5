/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef TARGETS_DEVICE_LOST_MEMORY_H
#define TARGETS_DEVICE_LOST_MEMORY_H

#include "wire/guest-memory.h"

/**
 * struct memory_owner - whoever has mapped memory of a driver, which may take it away
 * @give_up: told of that, in a signal handler; the memory reads as zeroes from then on
 */
struct memory_owner {
	void (*give_up)(struct memory_owner *o);
};

void lost_memory_catch(void);
int lost_memory_watch(struct memory_owner *o, const struct guest_region *r);
void lost_memory_forget(const struct guest_region *r);

#endif
