/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef TARGETS_DEVICE_FAULT_H
#define TARGETS_DEVICE_FAULT_H

const char *queue_fault(int err);

#endif
