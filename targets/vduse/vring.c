/* SPDX-License-Identifier: GPL-2.0-only */
/* A device's virtqueues: started, stopped and given to iothreads, all in the device's thread */

#include <errno.h>
#include <linux/virtio_config.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/ioctl.h>
#include "base/container.h"
#include "base/fd.h"
#include "targets/vduse/device.h"

/**
 * vduse_give_up - have the device's thread stop the queues
 * @d: the device
 * @err: why, a negative errno that queue_fault() knows; an earlier reason stays
 *
 * From any thread, and from a signal handler.
 */
void vduse_give_up(struct vduse_device *d, int err)
{
	int none = 0;

	atomic_compare_exchange_strong(&d->fault, &none, err);
	eventfd_signal(d->wake_fd);
}

/* In an iothread */
static void on_broken(void *owner, struct queue *q, int err)
{
	int refused;

	(void)q;
	refused = err == -EFAULT ? vduse_memory_refused(&((struct vduse_device *)owner)->mem) : 0;
	vduse_give_up(owner, refused ? refused : err);
}

static int inject(struct vduse_vring *v)
{
	uint32_t index = (uint32_t)(v - v->device->vring);

	return ioctl(v->device->fd, VDUSE_VQ_INJECT_IRQ, &index) ? -errno : 0;
}

/*
 * The kernel takes no calls before it has seen our answer to the status that starts the queues;
 * vduse_rings_call() makes up for it.
 */
static void call(struct queue *q)
{
	struct vduse_vring *v = container_of(q, struct vduse_vring, queue);

	if (inject(v))
		/* relaxed: the device's thread looks again and again while a call may be refused */
		atomic_store_explicit(&v->uncalled, true, memory_order_relaxed);
}

/* In the queue's iothread: an address that it has not seen. A full table forgets another region. */
static const struct guest_region *more(void *arg, uint64_t addr)
{
	struct vduse_vring *v = arg;
	struct guest_region r;
	unsigned int at;

	if (vduse_memory_find(&v->device->mem, addr, &r))
		return NULL;
	at = v->mem.nr < GUEST_MEMORY_REGIONS ? v->mem.nr++ : v->next_region++ % GUEST_MEMORY_REGIONS;
	v->mem.region[at] = r;
	return &v->mem.region[at];
}

/* Find the regions of the ring's three parts. */
static int find_ring(struct vduse_device *d, const struct vq_addresses *at, struct guest_memory *mem)
{
	const uint64_t part[] = { at->desc, at->driver, at->device };

	*mem = (struct guest_memory) { 0 };
	for (unsigned int i = 0; i < 3; i++) {
		struct guest_region r;
		int ret;

		if (guest_memory_user(mem, part[i], 1))
			continue;
		ret = vduse_memory_find(&d->mem, part[i], &r);
		if (!ret)
			ret = guest_memory_add(mem, &r);
		if (ret)
			return ret;
	}
	return 0;
}

static int set_kick(struct vduse_vring *v, unsigned int index)
{
	struct vduse_vq_eventfd kick = { .index = index };

	if (v->kick_fd < 0)
		v->kick_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (v->kick_fd < 0)
		return -errno;
	kick.fd = v->kick_fd;
	return ioctl(v->device->fd, VDUSE_VQ_SETUP_KICKFD, &kick) ? -errno : 0;
}

static uint32_t base_of(const struct vduse_device *d, const struct vduse_vq_info *info)
{
	if (!vduse_packed(d))
		return info->split.avail_index;
	return info->packed.last_avail_idx | (uint32_t)info->packed.last_avail_counter << 15 |
	       (uint32_t)info->packed.last_used_idx << 16 | (uint32_t)info->packed.last_used_counter << 31;
}

static struct iothread *iothread_of(const struct vduse_device *d, unsigned int index)
{
	const struct vduse_config *c = &d->config;

	if (c->nr_map)
		return &c->iothreads[c->map[index % c->nr_map]];
	return &c->iothreads[(c->number + index) % c->nr_iothreads];
}

static int init_queue(struct vduse_device *d, unsigned int index, const struct vduse_vq_info *info, bool recover)
{
	const struct vq_addresses at = {
		.desc = info->desc_addr, .driver = info->driver_addr, .device = info->device_addr,
	};
	struct vduse_vring *v = &d->vring[index];
	struct queue *q = &v->queue;
	struct guest_memory ring;
	int ret;

	if (info->num > d->config.queue_size || !vq_size_valid(vduse_packed(d), info->num))
		return -EINVAL;
	memset(q, 0, sizeof(*q));
	v->mem = (struct guest_memory) { .more = more, .arg = v };
	q->dev = &d->dev;
	q->mem = &v->mem;
	q->source.fd = v->kick_fd;
	q->kicks_seen = v->kicks_seen;
	q->call_fd = -1;
	q->call = call;
	q->on_broken = on_broken;
	q->owner = d;
	q->number = (uint16_t)(d->config.number << 8 | index);
	q->inflight = &v->inflight;
	q->recover = recover;
	ret = find_ring(d, &at, &ring);
	if (!ret)
		ret = vq_device_init(&q->ring, &ring, d->features, info->num, &at);
	return ret ? ret : vq_inflight_open(&v->inflight, vduse_packed(d), d->config.queue_size,
					    vduse_record_queue(&d->record, index));
}

static int start(struct vduse_device *d, unsigned int index, bool recover)
{
	struct vduse_vring *v = &d->vring[index];
	struct vduse_vq_info info = { .index = index };
	int ret;

	if (ioctl(d->fd, VDUSE_VQ_GET_INFO, &info))
		return -errno;
	if (!info.ready)
		return 0;
	if (!v->resumes)
		v->base = base_of(d, &info);
	ret = set_kick(v, index);
	if (!ret)
		ret = init_queue(d, index, &info, recover);
	if (!ret)
		ret = queue_start(&v->queue, iothread_of(d, index), v->base);
	if (ret)
		vq_inflight_close(&v->inflight);
	v->running = !ret;
	return ret;
}

static void stop(struct vduse_vring *v, bool at_once)
{
	if (!v->running)
		return;
	queue_stop(&v->queue, at_once);
	v->base = vq_device_base(&v->queue.ring);
	v->kicks_seen = v->queue.kicks_seen;
	vq_inflight_close(&v->inflight);
	v->running = false;
}

/**
 * vduse_rings_start - start the queues that the driver has got ready
 * @d: the device, its features negotiated
 * @recover: an earlier target served them, and has left its record
 *
 * Return: 0, or a negative errno with no queue running.
 */
int vduse_rings_start(struct vduse_device *d, bool recover)
{
	for (unsigned int i = 0; i < d->config.num_queues; i++) {
		int ret = start(d, i, recover);

		if (ret) {
			vduse_rings_stop(d, true);
			return ret;
		}
	}
	return 0;
}

/**
 * vduse_rings_stop - stop all queues
 * @d: the device
 * @at_once: drop what is in flight, as the driver will not look for it
 */
void vduse_rings_stop(struct vduse_device *d, bool at_once)
{
	for (unsigned int i = 0; i < d->config.num_queues; i++) {
		stop(&d->vring[i], at_once);
		d->vring[i].resumes = false;
	}
}

/**
 * vduse_rings_pause - stop all queues, as their memory is about to change
 * @d: the device
 */
void vduse_rings_pause(struct vduse_device *d)
{
	for (unsigned int i = 0; i < d->config.num_queues; i++) {
		d->vring[i].resumes = d->vring[i].running;
		stop(&d->vring[i], false);
	}
}

/**
 * vduse_rings_resume - go on after vduse_rings_pause()
 * @d: the device
 *
 * Return: 0, or a negative errno when a ring does not lie in the memory any more.
 */
int vduse_rings_resume(struct vduse_device *d)
{
	int first = 0;

	for (unsigned int i = 0; i < d->config.num_queues; i++) {
		struct vduse_vring *v = &d->vring[i];
		int ret = v->resumes ? start(d, i, false) : 0;

		v->resumes = false;
		if (!first)
			first = ret;
	}
	return first;
}

/**
 * vduse_rings_call - call the driver in place of calls that the kernel refused
 * @d: the device
 * @all: call all queues that run, as an earlier target may have been killed before it did
 *
 * Return: whether a call was refused again.
 */
bool vduse_rings_call(struct vduse_device *d, bool all)
{
	bool refused = false;

	for (unsigned int i = 0; i < d->config.num_queues; i++) {
		struct vduse_vring *v = &d->vring[i];

		if (!v->running || !(atomic_exchange_explicit(&v->uncalled, false, memory_order_relaxed) || all))
			continue;
		if (inject(v)) {
			atomic_store_explicit(&v->uncalled, true, memory_order_relaxed);
			refused = true;
		}
	}
	return refused;
}

/**
 * vduse_ring_state - say how far a queue has come
 * @d: the device
 * @state: its index is set; the rest is filled in
 *
 * Return: 0 or a negative errno.
 */
int vduse_ring_state(struct vduse_device *d, struct vduse_vq_state *state)
{
	struct vduse_vq_info info = { .index = state->index };
	struct vduse_vring *v;
	uint32_t base;
	int ret = 0;

	if (state->index >= d->config.num_queues)
		return -EINVAL;
	v = &d->vring[state->index];
	/* One that has not been started is where its driver has set it. */
	if (!v->running && !d->faulty) {
		if (ioctl(d->fd, VDUSE_VQ_GET_INFO, &info))
			return -errno;
		v->base = base_of(d, &info);
	}
	/* With nothing in flight, so that one index says all. */
	v->resumes = v->running;
	stop(v, false);
	base = v->base;
	if (v->resumes)
		ret = start(d, state->index, false);
	v->resumes = false;
	if (ret)
		vduse_give_up(d, ret);
	if (!vduse_packed(d)) {
		state->split.avail_index = (__u16)base;
		return ret;
	}
	state->packed = (struct vduse_vq_state_packed) {
		.last_avail_counter = base >> 15 & 1,
		.last_avail_idx = base & 0x7fff,
		.last_used_counter = base >> 31,
		.last_used_idx = base >> 16 & 0x7fff,
	};
	return ret;
}
