/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef TARGETS_UBLK_CONTROL_H
#define TARGETS_UBLK_CONTROL_H

#include <liburing.h>
#include <stdbool.h>
#include "targets/ublk/abi.h"

/**
 * struct ublk_control - the way to /dev/ublk-control
 * @fd: that file
 * @ring: an io_uring, through which its commands go
 * @last: number of the last command
 * @is_ending: whether the target has been told to end, or NULL: asked while a command takes long
 * @hurry: called once if so, to bring what the command waits for to an end
 * @arg: of these two
 */
struct ublk_control {
	int fd;
	struct io_uring ring;
	uint64_t last;
	bool (*is_ending)(void *arg);
	void (*hurry)(void *arg);
	void *arg;
};

/* What names a device: its number and flags in the driver's own description of it */
typedef const struct ublksrv_ctrl_dev_info ublk_device_info;

int ublk_control_open(struct ublk_control *c);
void ublk_control_close(struct ublk_control *c);

int ublk_get_features(struct ublk_control *c, uint64_t *features);
int ublk_get_info(struct ublk_control *c, unsigned int number, struct ublksrv_ctrl_dev_info *info);
int ublk_add(struct ublk_control *c, struct ublksrv_ctrl_dev_info *info);
int ublk_set_params(struct ublk_control *c, ublk_device_info *info, struct ublk_limits *params);
int ublk_get_params(struct ublk_control *c, ublk_device_info *info, struct ublk_limits *params);
int ublk_start(struct ublk_control *c, ublk_device_info *info);
int ublk_stop(struct ublk_control *c, ublk_device_info *info);
int ublk_delete(struct ublk_control *c, ublk_device_info *info);
int ublk_start_recovery(struct ublk_control *c, ublk_device_info *info);
int ublk_end_recovery(struct ublk_control *c, ublk_device_info *info);

#endif
