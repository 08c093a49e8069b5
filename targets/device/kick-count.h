/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef TARGETS_DEVICE_KICK_COUNT_H
#define TARGETS_DEVICE_KICK_COUNT_H

#include <stdbool.h>
#include <stdint.h>

bool kick_count(int fd, uint64_t *count);

#endif
