/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef TARGETS_VHOST_USER_LOST_MEMORY_H
#define TARGETS_VHOST_USER_LOST_MEMORY_H

#include "wire/guest-memory.h"

struct session;

void lost_memory_catch(void);
int lost_memory_watch(struct session *s, const struct guest_region *r);
void lost_memory_forget(const struct guest_region *r);

#endif
