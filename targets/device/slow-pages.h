/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef TARGETS_DEVICE_SLOW_PAGES_H
#define TARGETS_DEVICE_SLOW_PAGES_H

#include <stdbool.h>

bool pages_may_be_slow(int fd);

#endif
