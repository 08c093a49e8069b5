/* SPDX-License-Identifier: GPL-2.0-only */
#include <errno.h>
#include <fcntl.h>
#include <linux/vhost.h>
#include <linux/virtio_config.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/resource.h>
#include <unistd.h>
#include "engines/transport/arena.h"
#include "engines/transport/vhost-vdpa.h"

/*
 * A virtio device by the kernel's vhost-vdpa: ioctls in place of a transport's registers, and messages
 * for its IOTLB (drivers/vhost/vdpa.c and linux/vhost.h). This knows nothing of disks.
 */

#define NEEDED_BACKEND	(1ull << VHOST_BACKEND_F_IOTLB_MSG_V2)

static int ask(struct vdpa *v, unsigned long request, void *arg, const char *what)
{
	if (!ioctl(v->fd, request, arg))
		return 0;
	return why_not(&v->why, errno, "%s: %s", what, strerror(errno));
}

static int open_file(struct vdpa *v, const char *path)
{
	v->fd = open(path, O_RDWR | O_CLOEXEC);
	if (v->fd >= 0)
		return 0;
	switch (errno) {
	case EBUSY:
		return why_not(&v->why, EBUSY, "another process has it open");
	case ENOENT:
		return why_not(&v->why, ENOENT, "there is no such file (modprobe vhost-vdpa; 'vdpa dev show' lists devices)");
	case EACCES:
	case EPERM:
		return why_not(&v->why, errno, "no permission to open it: be root, or let root give you the file");
	case EIO:
		/* The kernel resets it on opening. */
		return why_not(&v->why, EIO, "it cannot be reset: the daemon behind it is gone, or does not answer");
	default:
		return why_not(&v->why, errno, "cannot open it: %s", strerror(errno));
	}
}

/* Kernels before 5.19 do not tell; the attempt does then. */
static void read_sizes(struct vdpa *v)
{
	uint32_t n;

	v->max_queues = ioctl(v->fd, VHOST_VDPA_GET_VQS_COUNT, &n) ? 0 : n;
	v->config_size = ioctl(v->fd, VHOST_VDPA_GET_CONFIG_SIZE, &n) ? 0 : n;
}

static int agree_on_messages(struct vdpa *v)
{
	uint64_t features;
	int ret = ask(v, VHOST_GET_BACKEND_FEATURES, &features, "VHOST_GET_BACKEND_FEATURES");

	if (ret)
		return ret;
	if (~features & NEEDED_BACKEND)
		return why_not(&v->why, EOPNOTSUPP, "its vhost-vdpa takes no IOTLB messages");
	features = NEEDED_BACKEND;
	return ask(v, VHOST_SET_BACKEND_FEATURES, &features, "VHOST_SET_BACKEND_FEATURES");
}

static int set_status(struct vdpa *v, uint8_t status)
{
	v->status = status;
	return ask(v, VHOST_VDPA_SET_STATUS, &v->status, "VHOST_VDPA_SET_STATUS");
}

/**
 * vdpa_open - open a device and reset it
 * @v: filled in; to be closed with vdpa_close() whatever is returned
 * @path: of its file, such as /dev/vhost-vdpa-0
 *
 * Return: 0, or a negative errno with @v->why.
 */
int vdpa_open(struct vdpa *v, const char *path)
{
	uint16_t num = 0;
	int ret;

	*v = (struct vdpa) { .fd = -1 };
	ret = open_file(v, path);
	if (ret)
		return ret;
	if (ioctl(v->fd, VHOST_VDPA_GET_DEVICE_ID, &v->id))
		return why_not(&v->why, ENOTTY, "it is no vhost-vdpa device");
	ret = ask(v, VHOST_SET_OWNER, NULL, "VHOST_SET_OWNER");
	if (!ret)
		ret = agree_on_messages(v);
	if (!ret)
		ret = set_status(v, 0);
	if (!ret)
		ret = ask(v, VHOST_VDPA_GET_VRING_NUM, &num, "VHOST_VDPA_GET_VRING_NUM");
	v->max_queue_size = num;
	read_sizes(v);
	return ret;
}

/**
 * vdpa_negotiate - agree on features
 * @v: opened
 * @wanted: features that the driver takes where they are offered
 * @needed: those of them that it cannot do without
 *
 * VIRTIO 1.2, 3.1.1, steps 2 to 6.
 *
 * Return: 0, or a negative errno with @v->why.
 */
int vdpa_negotiate(struct vdpa *v, uint64_t wanted, uint64_t needed)
{
	uint64_t offered;
	int ret = set_status(v, VIRTIO_CONFIG_S_ACKNOWLEDGE | VIRTIO_CONFIG_S_DRIVER);

	if (!ret)
		ret = ask(v, VHOST_GET_FEATURES, &offered, "VHOST_GET_FEATURES");
	if (ret)
		return ret;
	if (~offered & needed)
		return why_not(&v->why, EOPNOTSUPP, "it does not offer features %#llx",
			       (unsigned long long)(~offered & needed));
	v->features = offered & wanted;
	ret = ask(v, VHOST_SET_FEATURES, &v->features, "VHOST_SET_FEATURES");
	if (!ret)
		ret = set_status(v, v->status | VIRTIO_CONFIG_S_FEATURES_OK);
	if (ret)
		return ret;
	ret = vdpa_status(v);
	if (ret < 0)
		return why_not(&v->why, -ret, "VHOST_VDPA_GET_STATUS: %s", strerror(-ret));
	if (!(ret & VIRTIO_CONFIG_S_FEATURES_OK))
		return why_not(&v->why, EOPNOTSUPP, "it refuses features %#llx", (unsigned long long)v->features);
	return 0;
}

/**
 * vdpa_read_config - read its configuration space
 * @v: negotiated
 * @config: where to; what the device does not have is zero
 * @len: bytes
 *
 * Return: 0, or a negative errno with @v->why.
 */
int vdpa_read_config(struct vdpa *v, void *config, size_t len)
{
	size_t has = v->config_size && v->config_size < len ? v->config_size : len;
	struct vhost_vdpa_config *c = calloc(1, sizeof(*c) + has);
	int ret;

	if (!c)
		return why_not(&v->why, ENOMEM, "no memory");
	c->len = has;
	ret = ask(v, VHOST_VDPA_GET_CONFIG, c, "VHOST_VDPA_GET_CONFIG");
	if (!ret) {
		memset(config, 0, len);
		memcpy(config, c->buf, has);
	}
	free(c);
	return ret;
}

/*
 * What is pinned counts against RLIMIT_MEMLOCK, root's too, who may lift it. The kernel says EFAULT then, as
 * of all that goes wrong with a message.
 */
static bool lift_limit(struct rlimit *limit, size_t size)
{
	struct rlimit more = *limit;

	more.rlim_cur += size;
	if (more.rlim_max < more.rlim_cur)
		more.rlim_max = more.rlim_cur;
	return !setrlimit(RLIMIT_MEMLOCK, &more);
}

static int send_mapping(struct vdpa *v, void *base, size_t size, uint64_t iova)
{
	struct vhost_msg_v2 msg = {
		.type = VHOST_IOTLB_MSG_V2,
		.iotlb = {
			.iova = iova,
			.size = size,
			.uaddr = (uintptr_t)base,
			.perm = VHOST_ACCESS_RW,
			.type = VHOST_IOTLB_UPDATE,
		},
	};
	struct rlimit limit;
	bool lifted;
	ssize_t n;
	int err;

	n = write(v->fd, &msg, sizeof(msg));
	if (n == sizeof(msg))
		return 0;
	if (n >= 0)
		return why_not(&v->why, EIO, "it takes a part of an IOTLB message");
	err = errno;
	if (getrlimit(RLIMIT_MEMLOCK, &limit) || limit.rlim_cur == RLIM_INFINITY)
		return why_not(&v->why, err, "the kernel does not map %zu MiB of memory for it", size >> 20);
	lifted = lift_limit(&limit, size);
	if (lifted && write(v->fd, &msg, sizeof(msg)) == sizeof(msg))
		return 0;
	return why_not(&v->why, lifted ? err : ENOMEM, "the kernel does not map %zu MiB of memory for it%s", size >> 20,
		       lifted ? "" : ", which may be more than it lets you pin (ulimit -l)");
}

/**
 * vdpa_map_memory - let the device see memory
 * @v: negotiated
 * @base: the memory, a shared mapping of a file, aligned to ARENA_ALIGN
 * @size: bytes
 * @iova: set to the address that the device has it at
 *
 * The kernel pins all of it, unless the device is software that goes by virtual addresses.
 *
 * Return: 0, or a negative errno with @v->why.
 */
int vdpa_map_memory(struct vdpa *v, void *base, size_t size, uint64_t *iova)
{
	struct vhost_vdpa_iova_range range = { .last = UINT64_MAX };
	int ret = ask(v, VHOST_VDPA_GET_IOVA_RANGE, &range, "VHOST_VDPA_GET_IOVA_RANGE");

	if (ret)
		return ret;
	/* Not 0, which would be a ring that a device may take for none. */
	*iova = (range.first + ARENA_ALIGN) / ARENA_ALIGN * ARENA_ALIGN;
	if (*iova < range.first || *iova > range.last || range.last - *iova < size - 1)
		return why_not(&v->why, ENOSPC, "it addresses no more than %#llx to %#llx, %zu MiB are needed",
			       (unsigned long long)range.first, (unsigned long long)range.last, size >> 20);
	return send_mapping(v, base, size, *iova);
}

static int set_eventfd(struct vdpa *v, unsigned long request, unsigned int index, int fd, const char *what)
{
	return ask(v, request, &(struct vhost_vring_file) { .index = index, .fd = fd }, what);
}

/* VIRTIO 1.2, 2.8.1: both wrap counters of a packed ring begin with 1, here in bits 15 and 31. */
static unsigned int first_base(const struct vdpa *v)
{
	return v->features >> VIRTIO_F_RING_PACKED & 1 ? 0x80008000 : 0;
}

/**
 * vdpa_start_queue - tell the device where a virtqueue is, and enable it
 * @v: its memory mapped
 * @index: which
 * @q: where
 *
 * Return: 0, or a negative errno with @v->why.
 */
int vdpa_start_queue(struct vdpa *v, unsigned int index, const struct vdpa_queue *q)
{
	struct vhost_vring_state num = { .index = index, .num = q->num };
	struct vhost_vring_state base = { .index = index, .num = first_base(v) };
	struct vhost_vring_state enable = { .index = index, .num = 1 };
	struct vhost_vring_addr addr = {
		.index = index,
		.desc_user_addr = q->desc,
		.avail_user_addr = q->driver,
		.used_user_addr = q->device,
	};
	int ret = ask(v, VHOST_SET_VRING_NUM, &num, "VHOST_SET_VRING_NUM");

	if (!ret)
		ret = ask(v, VHOST_SET_VRING_BASE, &base, "VHOST_SET_VRING_BASE");
	if (!ret)
		ret = ask(v, VHOST_SET_VRING_ADDR, &addr, "VHOST_SET_VRING_ADDR");
	if (!ret)
		ret = set_eventfd(v, VHOST_SET_VRING_KICK, index, q->kick_fd, "VHOST_SET_VRING_KICK");
	if (!ret && q->call_fd >= 0)
		ret = set_eventfd(v, VHOST_SET_VRING_CALL, index, q->call_fd, "VHOST_SET_VRING_CALL");
	return ret ? ret : ask(v, VHOST_VDPA_SET_VRING_ENABLE, &enable, "VHOST_VDPA_SET_VRING_ENABLE");
}

/**
 * vdpa_call_on_config - have the device say that its configuration changes, or that it has failed
 * @v: negotiated
 * @fd: eventfd, written then
 *
 * Return: 0, or a negative errno with @v->why.
 */
int vdpa_call_on_config(struct vdpa *v, int fd)
{
	return ask(v, VHOST_VDPA_SET_CONFIG_CALL, &fd, "VHOST_VDPA_SET_CONFIG_CALL");
}

/**
 * vdpa_driver_ok - let the device begin
 * @v: its queues started
 *
 * Return: 0, or a negative errno with @v->why.
 */
int vdpa_driver_ok(struct vdpa *v)
{
	int ret = set_status(v, v->status | VIRTIO_CONFIG_S_DRIVER_OK);

	if (ret)
		return ret;
	/* The kernel does not pass on that a daemon refuses, or does not answer. */
	ret = vdpa_status(v);
	if (ret < 0)
		return why_not(&v->why, -ret, "VHOST_VDPA_GET_STATUS: %s", strerror(-ret));
	return ret & VIRTIO_CONFIG_S_DRIVER_OK ? 0 : why_not(&v->why, EIO, "it does not start");
}

/**
 * vdpa_status - read the device's status
 * @v: opened; from any process that has its file
 *
 * Return: VIRTIO_CONFIG_S_... bits or a negative errno.
 */
int vdpa_status(const struct vdpa *v)
{
	uint8_t status;

	return ioctl(v->fd, VHOST_VDPA_GET_STATUS, &status) ? -errno : status;
}

/**
 * vdpa_close - reset the device and let it go
 * @v: vdpa_open() was called
 */
void vdpa_close(struct vdpa *v)
{
	uint8_t none = 0;

	if (v->fd < 0)
		return;
	(void)!ioctl(v->fd, VHOST_VDPA_SET_STATUS, &none);
	close(v->fd);
}
