/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef TARGETS_DEVICE_SIGNALLER_H
#define TARGETS_DEVICE_SIGNALLER_H

#include <linux/aio_abi.h>
#include <stdbool.h>

/**
 * struct signaller - a way to signal eventfds that never waits
 * @ctx: of Linux AIO
 * @nothing: an empty file, -1 without one
 * @unreaped: events that the kernel has for us
 * @is_open: @ctx is valid
 * @tried: whether it can be opened is known
 */
struct signaller {
	aio_context_t ctx;
	int nothing;
	unsigned int unreaped;
	bool is_open;
	bool tried;
};

void signaller_init(struct signaller *s);
bool signaller_open(struct signaller *s);
int signaller_signal(struct signaller *s, int fd);
void signaller_destroy(struct signaller *s);
bool is_eventfd(int fd);

#endif
