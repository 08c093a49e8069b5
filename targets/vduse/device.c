/* SPDX-License-Identifier: GPL-2.0-only */
/* The life of a VDUSE device: made, or taken over from a target that was killed; removed at the end */

#include <errno.h>
#include <linux/virtio_config.h>
#include <poll.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>
#include "base/container.h"
#include "base/fd.h"
#include "targets/device/fault.h"
#include "targets/options.h"
#include "targets/vduse/device.h"

/* How long the kernel may take to note that the driver has come so far that it can be called */
#define CALL_AGAIN_MS	10
#define CALL_LOOKS	500

static int refuse(const struct vduse_device *d, int ret, const char *why)
{
	options_error(NULL, "export", "vduse:%s: %s", d->config.name, why);
	return ret;
}

static int complain(const struct vduse_device *d, const char *what, int ret)
{
	options_error(NULL, "export", "vduse:%s: %s: %s", d->config.name, what, strerror(-ret));
	return ret;
}

static void close_fd(int *fd)
{
	if (*fd >= 0)
		close(*fd);
	*fd = -1;
}

/* Stop queues that cannot go on, and say why. Their driver waits until it resets the device. */
static void stop_faulty(struct vduse_device *d)
{
	int why = atomic_load(&d->fault);

	if (!why || d->faulty)
		return;
	d->faulty = true;
	vduse_rings_stop(d, true);
	options_error(NULL, NULL, "vduse %s: %s; stopped until its driver resets it", d->config.name, queue_fault(why));
}

static void drain(int fd)
{
	uint64_t count;

	while (read(fd, &count, sizeof(count)) < 0 && errno == EINTR)
		;
}

static void lose(struct vduse_device *d, const char *why)
{
	options_error(NULL, NULL, "vduse %s: %s; remove it with 'vdpa dev del %s'", d->config.name, why, d->config.name);
	vduse_rings_stop(d, true);
	d->lost = true;
	eventfd_signal(d->lost_fd);
}

/* Answer the kernel until the target ends, or the kernel has given the device up. */
static void *thread_main(void *arg)
{
	struct vduse_device *d = arg;
	struct pollfd p[2] = {
		{ .fd = d->wake_fd, .events = POLLIN },
		{ .fd = d->fd, .events = POLLIN },
	};
	unsigned int looks = CALL_LOOKS;
	bool all = true;

	pthread_setname_np(pthread_self(), "vduse");
	while (!atomic_load(&d->ending)) {
		int ret;

		if (poll(p, 2, looks ? CALL_AGAIN_MS : -1) < 0)
			continue;
		if (p[0].revents)
			drain(d->wake_fd);
		stop_faulty(d);
		if (p[1].revents & (POLLERR | POLLHUP)) {
			lose(d, "the kernel has given the device up, since it was not answered in time");
			break;
		}
		ret = p[1].revents & POLLIN ? vduse_answer(d) : 0;
		if (ret < 0) {
			lose(d, strerror(-ret));
			break;
		}
		if (ret)
			looks = CALL_LOOKS;
		if (looks) {
			looks--;
			all = vduse_rings_call(d, all) && all;
		}
	}
	return NULL;
}

/* In a signal handler */
static void memory_lost(struct memory_owner *o)
{
	vduse_give_up(container_of(o, struct vduse_device, owner), -ESTALE);
}

static int prepare(struct vduse_device *d, const struct vduse_config *config)
{
	d->config = *config;
	d->control_fd = d->fd = -1;
	d->owner.give_up = memory_lost;
	/* The kernel wants drivers that use the IOMMU's addresses, and none that write to configuration space. */
	d->dev.features |= UINT64_C(1) << VIRTIO_F_ACCESS_PLATFORM;
	d->dev.features &= ~(UINT64_C(1) << VIRTIO_BLK_F_CONFIG_WCE);
	d->wake_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	d->lost_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	d->vring = alloc_apart(config->num_queues, sizeof(*d->vring));
	if (!d->vring || d->wake_fd < 0 || d->lost_fd < 0)
		return complain(d, "cannot make it", d->vring ? -errno : -ENOMEM);
	for (unsigned int i = 0; i < config->num_queues; i++) {
		d->vring[i].device = d;
		d->vring[i].kick_fd = -1;
	}
	d->control_fd = vduse_control_open();
	return d->control_fd < 0 ? d->control_fd : 0;
}

static void release(struct vduse_device *d)
{
	for (unsigned int i = 0; d->vring && i < d->config.num_queues; i++)
		close_fd(&d->vring[i].kick_fd);
	free(d->vring);
	vduse_record_close(&d->record);
	close_fd(&d->fd);
	close_fd(&d->control_fd);
	close_fd(&d->wake_fd);
	close_fd(&d->lost_fd);
}

static int check_record(struct vduse_device *d, int ret, const struct vduse_identity *id)
{
	const struct vduse_identity *left;

	if (ret == -ENOENT)
		return refuse(d, -EEXIST, "another program has a device of that name");
	if (ret == -EPERM)
		return refuse(d, ret, "a device of that name belongs to another user");
	if (ret)
		return complain(d, "the record that an earlier target has left in /dev/shm", ret);
	left = vduse_record_identity(&d->record);
	if (left->keeps && id->keeps && !memcmp(left, id, sizeof(*id)))
		return 0;
	if (!left->keeps)
		return refuse(d, -EEXIST, "the target that served it is gone, and the data with it: remove it with 'vdpa dev del' first");
	return refuse(d, -EEXIST, "it was served with another --backend file, --size, --block-size, --read-only, --num-queues or --queue-size: give the same, or remove it with 'vdpa dev del' first");
}

/* There is a device of that name. Returns 0 if it was ours and not in use, and is gone now; 1 if it is to be taken over. */
static int find_left(struct vduse_device *d, const struct vduse_identity *id)
{
	int ret = vduse_record_open(&d->record, d->config.name);

	if (!ret && !vduse_destroy(d)) {
		vduse_record_close(&d->record);
		return 0;
	}
	if (!ret) {
		d->fd = vduse_open_file(d->config.name);
		if (d->fd == -EBUSY)
			return refuse(d, -EBUSY, "it is served by another process");
		if (d->fd < 0)
			return complain(d, "cannot open its file in /dev/vduse", d->fd);
	}
	ret = check_record(d, ret, id);
	if (!ret && fd_events(d->fd, POLLIN) & POLLERR)
		return refuse(d, -EIO, "the kernel has given it up, since no target answered in time: remove it with 'vdpa dev del' first");
	return ret ? ret : 1;
}

static int make(struct vduse_device *d, const struct vduse_identity *id)
{
	int ret = vduse_create(d);

	if (ret == -EEXIST)
		return ret;
	if (ret == -EACCES || ret == -EPERM)
		return complain(d, "cannot open its file in /dev/vduse (a rule of udev must make it yours)", ret);
	if (ret)
		return complain(d, "the kernel does not make the device", ret);
	ret = vduse_record_create(&d->record, d->config.name, id);
	if (!ret)
		return 0;
	close_fd(&d->fd);
	vduse_destroy(d);
	return complain(d, "cannot write its record in /dev/shm", ret);
}

static int make_or_find(struct vduse_device *d)
{
	struct vduse_identity id;
	int ret;

	vduse_identity_of(&id, d->dev.backend, d->config.num_queues, d->config.queue_size);
	ret = make(d, &id);
	if (ret == -EEXIST)
		ret = find_left(d, &id);
	else
		return ret;
	if (ret < 0)
		return ret;
	if (ret)
		return 1;
	ret = make(d, &id);
	return ret == -EEXIST ? complain(d, "cannot make it", ret) : ret;
}

/**
 * vduse_device_open - make a device and serve it, or take over what a killed target has left
 * @d: all zero but for what it is, @d->dev; the rest is filled in; must stay where it is
 * @config: how it is to be served, copied
 *
 * Return: 0 or a negative errno, reported, with no device left that was not there.
 */
int vduse_device_open(struct vduse_device *d, const struct vduse_config *config)
{
	int ret = prepare(d, config), taken_over;

	if (!ret)
		ret = make_or_find(d);
	if (ret < 0) {
		release(d);
		return ret;
	}
	taken_over = ret;
	vduse_memory_init(&d->mem, d->fd, &d->owner, config->max_memory);
	ret = taken_over ? vduse_take_over(d) : 0;
	if (!ret) {
		ret = -pthread_create(&d->thread, NULL, thread_main, d);
		if (ret)
			complain(d, "cannot start a thread", ret);
	}
	if (!ret)
		return 0;
	vduse_rings_stop(d, true);
	vduse_memory_destroy(&d->mem);
	close_fd(&d->fd);
	if (!taken_over)
		vduse_destroy(d);
	release(d);
	return ret;
}

/* A driver that has the device still has it, and a record for the target that comes. */
static void say_it_stays(const struct vduse_device *d)
{
	if (vduse_record_identity(&d->record)->keeps)
		options_error(NULL, NULL, "vduse %s: it stays, since it is on the vDPA bus; what is asked of it waits for a target with the same options (next time 'vdpa dev del %s' first)",
			      d->config.name, d->config.name);
	else
		options_error(NULL, NULL, "vduse %s: it stays, since it is on the vDPA bus, without its data; remove it with 'vdpa dev del %s' (next time before its target ends)",
			      d->config.name, d->config.name);
}

/**
 * vduse_device_close - finish what is in flight, and remove the device
 * @d: the device
 *
 * The kernel does not remove one that is on the vDPA bus.
 */
void vduse_device_close(struct vduse_device *d)
{
	int ret;

	atomic_store(&d->ending, true);
	eventfd_signal(d->wake_fd);
	pthread_join(d->thread, NULL);
	vduse_rings_stop(d, false);
	vduse_memory_destroy(&d->mem);
	close_fd(&d->fd);
	ret = vduse_destroy(d);
	if (!ret)
		vduse_record_remove(d->config.name);
	else if (ret == -EBUSY && !d->lost)
		say_it_stays(d);
	else if (ret != -EBUSY)
		complain(d, "cannot remove it", ret);
	release(d);
}
