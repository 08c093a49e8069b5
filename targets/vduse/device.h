/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef TARGETS_VDUSE_DEVICE_H
#define TARGETS_VDUSE_DEVICE_H

#include <linux/vduse.h>
#include "targets/device/queue.h"
#include "targets/vduse/memory.h"
#include "targets/vduse/record.h"

/**
 * struct vduse_config - what a device is to be
 * @name: its name in /dev/vduse/
 * @num_queues: queues
 * @queue_size: most entries of one
 * @max_memory: most bytes of a driver's memory to map
 * @iothreads: who serves it
 * @nr_iothreads: how many they are
 * @map: which of them serves a queue, by the queue's number modulo @nr_map
 * @nr_map: 0 for round robin
 * @number: the device's among the target's: where round robin begins, and its name in a trace
 */
struct vduse_config {
	const char *name;
	unsigned int num_queues;
	unsigned int queue_size;
	uint64_t max_memory;
	struct iothread *iothreads;
	unsigned int nr_iothreads;
	const uint16_t *map;
	unsigned int nr_map;
	unsigned int number;
};

/**
 * struct vduse_vring - a queue of a device
 * @queue: the running queue, valid while @running
 * @device: whose it is
 * @mem: what the queue knows of the driver's memory; its iothread's own while it runs
 * @next_region: which entry of a full @mem to use again
 * @inflight: its record of requests in flight, while @running
 * @kick_fd: eventfd that the kernel signals, -1 before it is needed
 * @kicks_seen: its counter when the queue was stopped
 * @base: where it goes on, see vq_device_resume()
 * @running: an iothread serves it
 * @resumes: it is stopped for a moment, and goes on at @base
 * @uncalled: a call was refused, since the driver had not come far enough
 */
struct vduse_vring {
	struct queue queue;
	struct vduse_device *device;
	struct guest_memory mem;
	unsigned int next_region;
	struct vq_inflight inflight;
	int kick_fd;
	uint64_t kicks_seen;
	uint32_t base;
	bool running;
	bool resumes;
	atomic_bool uncalled;
} __attribute__((aligned(THREAD_ALIGN)));

/**
 * struct vduse_device - a device of VDUSE that is served
 * @dev: the virtio-blk device, set before vduse_device_open()
 * @config: as given
 * @control_fd: /dev/vduse/control
 * @fd: the device's own file
 * @wake_fd: eventfd that has the device's thread look at @ending and @fault
 * @lost_fd: eventfd that becomes readable when the kernel has given the device up
 * @thread: reads and answers the kernel's messages; alone starts and stops queues
 * @mem: the driver's memory
 * @owner: stands for the device where memory is lost
 * @record: what the next target needs if this one is killed
 * @features: negotiated features
 * @vring: a queue each
 * @fault: why an iothread gave a queue up, a negative errno, or 0; the first reason stays
 * @faulty: the queues have been stopped because of it, until the driver resets the device
 * @ending: the thread is to end
 * @lost: the kernel has given the device up
 */
struct vduse_device {
	struct blk_device dev;
	struct vduse_config config;
	int control_fd;
	int fd;
	int wake_fd;
	int lost_fd;
	pthread_t thread;
	struct vduse_memory mem;
	struct memory_owner owner;
	struct vduse_record record;
	uint64_t features;
	struct vduse_vring *vring;
	atomic_int fault;
	bool faulty;
	atomic_bool ending;
	bool lost;
};

int vduse_device_open(struct vduse_device *d, const struct vduse_config *config);
void vduse_device_close(struct vduse_device *d);

/* control.c */
int vduse_control_open(void);
int vduse_create(struct vduse_device *d);
int vduse_open_file(const char *name);
int vduse_destroy(const struct vduse_device *d);

/* vring.c */
int vduse_rings_start(struct vduse_device *d, bool recover);
void vduse_rings_stop(struct vduse_device *d, bool at_once);
void vduse_rings_pause(struct vduse_device *d);
int vduse_rings_resume(struct vduse_device *d);
bool vduse_rings_call(struct vduse_device *d, bool all);
int vduse_ring_state(struct vduse_device *d, struct vduse_vq_state *state);
void vduse_give_up(struct vduse_device *d, int err);

/* messages.c */
int vduse_answer(struct vduse_device *d);
int vduse_take_over(struct vduse_device *d);

/* Whether the rings are packed. */
static inline bool vduse_packed(const struct vduse_device *d)
{
	return d->features >> VIRTIO_F_RING_PACKED & 1;
}

#endif
