/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef ENGINES_VIRTIO_OPTIONS_H
#define ENGINES_VIRTIO_OPTIONS_H

#include "engines/glue/options.h"

enum virtio_transport_kind {
	VIA_VHOST_USER,
	VIA_EMBEDDED,
	VIA_VFIO_PCI,
	VIA_VHOST_VDPA,
};

/**
 * struct virtio_options - engine options in a job file
 * @job: those of every job
 * @transport: enum virtio_transport_kind
 * @socket: path of the device's socket, for VIA_VHOST_USER
 * @target: options of the target, for VIA_EMBEDDED
 * @device: the device's PCI address, for VIA_VFIO_PCI, or its file, for VIA_VHOST_VDPA
 * @queue_size: entries of a virtqueue, 0 for what iodepth needs
 * @num_queues: virtqueues to set up at least
 * @hugepages: rings and I/O buffers in huge pages
 * @packed: negotiate VIRTIO_F_RING_PACKED
 * @event_idx: negotiate VIRTIO_RING_F_EVENT_IDX
 * @indirect: negotiate VIRTIO_RING_F_INDIRECT_DESC
 * @reconnect: outlive the device
 * @merge: bytes up to which adjacent requests of a batch leave as one, 0 for not
 */
struct virtio_options {
	struct job_options job;
	unsigned int transport;
	char *socket;
	char *target;
	char *device;
	unsigned int queue_size;
	unsigned int num_queues;
	unsigned int hugepages;
	unsigned int packed;
	unsigned int event_idx;
	unsigned int indirect;
	unsigned int reconnect;
	unsigned long long merge;
};

/* Entries of the table of options that both virtio engines have. */
#define VIRTIO_OPTION(member)	.off1 = offsetof(struct virtio_options, member)

#define VIRTIO_OPTION_SOCKET { \
	.name	= "socket", \
	.lname	= "vhost-user socket", \
	.type	= FIO_OPT_STR_STORE, \
	VIRTIO_OPTION(socket), \
	.help	= "Path of the device's vhost-user socket", \
	OPTION_LISTED, \
}

#define VIRTIO_OPTIONS_COMMON { \
	.name	= "queue_size", \
	.lname	= "Virtqueue size", \
	.type	= FIO_OPT_INT, \
	VIRTIO_OPTION(queue_size), \
	.help	= "Entries of a virtqueue, a power of two unless packed=1; 0 for as many as iodepth needs, at least 128", \
	.def	= "0", \
	OPTION_LISTED, \
}, { \
	.name	= "num_queues", \
	.lname	= "Virtqueues", \
	.type	= FIO_OPT_INT, \
	VIRTIO_OPTION(num_queues), \
	.help	= "Virtqueues to set up if that is more than the jobs need; the others stay idle, as a guest's do", \
	.def	= "0", \
	.maxval	= 256, \
	OPTION_LISTED, \
}, { \
	.name	= "hugepages", \
	.lname	= "Huge pages", \
	.type	= FIO_OPT_BOOL, \
	VIRTIO_OPTION(hugepages), \
	.help	= "Put rings and I/O buffers into huge pages of 2 MiB, which vm.nr_hugepages has to provide; SPDK vhost takes no others", \
	.def	= "0", \
	OPTION_LISTED, \
}, { \
	.name	= "packed", \
	.lname	= "Packed ring", \
	.type	= FIO_OPT_BOOL, \
	VIRTIO_OPTION(packed), \
	.help	= "Use packed virtqueues (VIRTIO_F_RING_PACKED), which the device has to offer, rather than split ones", \
	.def	= "0", \
	OPTION_LISTED, \
}, { \
	.name	= "event_idx", \
	.lname	= "Event index", \
	.type	= FIO_OPT_BOOL, \
	VIRTIO_OPTION(event_idx), \
	.help	= "Suppress notifications by event index (VIRTIO_RING_F_EVENT_IDX), if the device can", \
	.def	= "1", \
	OPTION_LISTED, \
}, { \
	.name	= "indirect", \
	.lname	= "Indirect descriptors", \
	.type	= FIO_OPT_BOOL, \
	VIRTIO_OPTION(indirect), \
	.help	= "Use indirect descriptors (VIRTIO_RING_F_INDIRECT_DESC), if the device can", \
	.def	= "1", \
	OPTION_LISTED, \
}, { \
	.name	= "reconnect", \
	.lname	= "Reconnect", \
	.type	= FIO_OPT_BOOL, \
	VIRTIO_OPTION(reconnect), \
	.help	= "When the device goes away, wait up to stuck_timeout until it is back, and have it go on with the requests in flight, of which it has to keep a record; stuck_timeout then counts anew for each, once", \
	.def	= "0", \
	OPTION_LISTED, \
}, { \
	.name	= "merge", \
	.lname	= "Merge adjacent requests", \
	.type	= FIO_OPT_STR_VAL, \
	VIRTIO_OPTION(merge), \
	.help	= "Reads or writes of a batch (iodepth_batch=) that follow one another on the device leave as one request of up to so many bytes, as behind a block layer's plug; 0 for not", \
	.def	= "0", \
	OPTION_LISTED, \
}

#endif
