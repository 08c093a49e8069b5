/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef ENGINES_VIRTIO_OPTIONS_H
#define ENGINES_VIRTIO_OPTIONS_H

#include "engines/driver/wait.h"
#include "engines/glue/fio-compat.h"

/**
 * struct virtio_options - engine options in a job file
 * @pad: fio's own: an option must not be at offset 0
 * @socket: path of the device's socket
 * @wait_mode: enum wait_mode
 * @wait_poll_max_ns: longest polling window of WAIT_ADAPTIVE
 * @stuck_timeout: seconds after which a request counts as lost
 * @queue_size: entries of a virtqueue, 0 for what iodepth needs
 * @event_idx: negotiate VIRTIO_RING_F_EVENT_IDX
 * @indirect: negotiate VIRTIO_RING_F_INDIRECT_DESC
 * @dp_stats: prefix of the files with what the engine counted
 */
struct virtio_options {
	void *pad;
	char *socket;
	unsigned int wait_mode;
	unsigned long long wait_poll_max_ns;
	unsigned int stuck_timeout;
	unsigned int queue_size;
	unsigned int event_idx;
	unsigned int indirect;
	char *dp_stats;
};

#endif
