/* SPDX-License-Identifier: GPL-2.0-only */
/* The kernel's VDUSE driver: making and removing devices */

#include <errno.h>
#include <fcntl.h>
#include <linux/virtio_config.h>
#include <linux/virtio_ids.h>
#include <stdlib.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>
#include "base/clock.h"
#include "targets/options.h"
#include "targets/vduse/device.h"

#define CONTROL		"/dev/vduse/control"

/* A rule of udev may take so long to give a new file to its owner. */
#define PATIENCE_NS	UINT64_C(5000000000)
#define LOOK_US		10000

/**
 * vduse_control_open - open the way to the driver
 *
 * Return: a descriptor or a negative errno, reported.
 */
int vduse_control_open(void)
{
	uint64_t version = VDUSE_API_VERSION;
	int fd = open(CONTROL, O_RDWR | O_CLOEXEC), err;

	if (fd >= 0 && !ioctl(fd, VDUSE_SET_API_VERSION, &version))
		return fd;
	err = -errno;
	if (fd >= 0)
		close(fd);
	if (err == -ENOENT || err == -ENXIO || err == -ENODEV)
		options_error(NULL, "export", "no " CONTROL ": the kernel's VDUSE driver is missing (modprobe vduse; Linux 5.15 or newer)");
	else if (err == -EACCES || err == -EPERM)
		options_error(NULL, "export", "cannot open " CONTROL ": %s (be root, or make it yours)", strerror(-err));
	else
		options_error(NULL, "export", CONTROL ": %s", strerror(-err));
	return err;
}

static int setup_queues(const struct vduse_device *d)
{
	for (unsigned int i = 0; i < d->config.num_queues; i++) {
		struct vduse_vq_config vq = { .index = i, .max_size = (__u16)d->config.queue_size };

		if (ioctl(d->fd, VDUSE_VQ_SETUP, &vq))
			return -errno;
	}
	return 0;
}

static int create(const struct vduse_device *d)
{
	const struct virtio_blk_config *space = &d->dev.config;
	struct vduse_dev_config *c = calloc(1, sizeof(*c) + sizeof(*space));
	int ret;

	if (!c)
		return -ENOMEM;
	snprintf(c->name, sizeof(c->name), "%s", d->config.name);
	c->device_id = VIRTIO_ID_BLOCK;
	c->features = d->dev.features;
	c->vq_num = d->config.num_queues;
	c->vq_align = (__u32)sysconf(_SC_PAGESIZE);
	c->config_size = sizeof(*space);
	memcpy(c->config, space, sizeof(*space));
	ret = ioctl(d->control_fd, VDUSE_CREATE_DEV, c) ? -errno : 0;
	free(c);
	return ret;
}

/**
 * vduse_open_file - open a device's own file
 * @name: the device
 *
 * The file comes a moment after the device, and is an unprivileged user's by a rule of udev.
 *
 * Return: a descriptor, or a negative errno: -EBUSY when another program has it open.
 */
int vduse_open_file(const char *name)
{
	uint64_t until = clock_ns() + PATIENCE_NS;
	char path[VDUSE_NAME_MAX + 16];
	int fd;

	snprintf(path, sizeof(path), "/dev/vduse/%s", name);
	while ((fd = open(path, O_RDWR | O_CLOEXEC | O_NONBLOCK)) < 0 &&
	       (errno == ENOENT || errno == EACCES || errno == EPERM) && clock_ns() < until)
		usleep(LOOK_US);
	return fd < 0 ? -errno : fd;
}

/**
 * vduse_destroy - remove the device
 * @d: the device; its file is closed
 *
 * Return: 0, or a negative errno: -EBUSY while it is on the vDPA bus, or served.
 */
int vduse_destroy(const struct vduse_device *d)
{
	char name[VDUSE_NAME_MAX] = "";

	snprintf(name, sizeof(name), "%s", d->config.name);
	return ioctl(d->control_fd, VDUSE_DESTROY_DEV, name) ? -errno : 0;
}

/**
 * vduse_create - make the device, and open its file
 * @d: the device; its fd is set
 *
 * Return: 0, or a negative errno, with no device left that was not there: -EEXIST when there is
 * one of that name.
 */
int vduse_create(struct vduse_device *d)
{
	int ret = create(d);

	if (ret)
		return ret;
	d->fd = vduse_open_file(d->config.name);
	ret = d->fd < 0 ? d->fd : setup_queues(d);
	if (!ret)
		return 0;
	if (d->fd >= 0)
		close(d->fd);
	d->fd = -1;
	vduse_destroy(d);
	return ret;
}
