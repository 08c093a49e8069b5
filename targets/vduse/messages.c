/* SPDX-License-Identifier: GPL-2.0-only */
/* What the kernel asks of a device, in the device's thread; see the kernel's Documentation/userspace-api/vduse.rst */

#include <errno.h>
#include <linux/virtio_config.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>
#include "targets/device/fault.h"
#include "targets/options.h"
#include "targets/vduse/device.h"

static int complain(const struct vduse_device *d, const char *what, int ret)
{
	options_error(NULL, NULL, "vduse %s: %s: %s", d->config.name, what, strerror(-ret));
	return ret;
}

/* Find out what the driver has negotiated, and check it: the kernel does not. */
static int take_features(struct vduse_device *d)
{
	uint64_t features;

	if (ioctl(d->fd, VDUSE_DEV_GET_FEATURES, &features))
		return complain(d, "VDUSE_DEV_GET_FEATURES", -errno);
	if (features & ~d->dev.features) {
		options_error(NULL, NULL, "vduse %s: the driver wants features that were not offered (%#llx)",
			      d->config.name, (unsigned long long)(features & ~d->dev.features));
		return -EINVAL;
	}
	d->features = features;
	blk_device_negotiated(&d->dev, features);
	return 0;
}

static int start(struct vduse_device *d, bool recover)
{
	int ret = vduse_rings_start(d, recover), refused = vduse_memory_refused(&d->mem);

	if (!ret)
		return 0;
	if (ret == -EFAULT || refused)
		options_error(NULL, NULL, "vduse %s: cannot start the driver's queues: %s", d->config.name,
			      queue_fault(refused ? refused : ret));
	else if (ret == -EUCLEAN)
		options_error(NULL, NULL, "vduse %s: the record of requests in flight is damaged", d->config.name);
	else
		complain(d, "cannot start the driver's queues", ret);
	return ret;
}

/* The driver has let the device go, and all that it had. */
static void reset(struct vduse_device *d)
{
	vduse_rings_stop(d, true);
	vduse_memory_drop(&d->mem, 0, UINT64_MAX);
	d->features = 0;
	d->faulty = false;
	atomic_store(&d->fault, 0);
}

static int set_status(struct vduse_device *d, uint8_t status)
{
	bool was_ok = vduse_record_status(&d->record) & VIRTIO_CONFIG_S_DRIVER_OK;
	int ret = 0;

	if (!status)
		reset(d);
	else if (status & VIRTIO_CONFIG_S_FEATURES_OK && !was_ok)
		ret = take_features(d);
	if (!ret && status & VIRTIO_CONFIG_S_DRIVER_OK && !was_ok)
		ret = start(d, false);
	if (!ret)
		vduse_record_set_status(&d->record, status);
	return ret;
}

/* What is mapped there has changed in the kernel; what was there before must not be used any more. */
static int update_iotlb(struct vduse_device *d, const struct vduse_iova_range *range)
{
	int ret;

	vduse_rings_pause(d);
	vduse_memory_drop(&d->mem, range->start, range->last);
	ret = vduse_rings_resume(d);
	if (ret)
		vduse_give_up(d, ret);
	return 0;
}

static int handle(struct vduse_device *d, const struct vduse_dev_request *req, struct vduse_dev_response *resp)
{
	switch (req->type) {
	case VDUSE_GET_VQ_STATE:
		resp->vq_state.index = req->vq_state.index;
		return vduse_ring_state(d, &resp->vq_state);
	case VDUSE_SET_STATUS:
		return set_status(d, req->s.status);
	case VDUSE_UPDATE_IOTLB:
		return update_iotlb(d, &req->iova);
	default:
		options_error(NULL, NULL, "vduse %s: the kernel asks for something unknown (%u)", d->config.name,
			      req->type);
		return -ENOSYS;
	}
}

/**
 * vduse_answer - take a message from the kernel, act on it, and answer it
 * @d: the device
 *
 * Return: 1 with a message, 0 without one, or a negative errno.
 */
int vduse_answer(struct vduse_device *d)
{
	struct vduse_dev_request req;
	struct vduse_dev_response resp = { 0 };
	ssize_t n = read(d->fd, &req, sizeof(req));

	if (n < 0)
		return errno == EAGAIN || errno == EINTR ? 0 : -errno;
	if (n != sizeof(req))
		return -EPROTO;
	resp.request_id = req.request_id;
	resp.result = handle(d, &req, &resp) ? VDUSE_REQ_RESULT_FAILED : VDUSE_REQ_RESULT_OK;
	n = write(d->fd, &resp, sizeof(resp));
	/* Whoever asked may have been killed meanwhile. */
	return n < 0 && errno != ENOENT ? -errno : 1;
}

/**
 * vduse_take_over - go on where a target that was killed, or ended, has left a driver
 * @d: the device, its record open
 *
 * Return: 0 or a negative errno, reported.
 */
int vduse_take_over(struct vduse_device *d)
{
	uint8_t status = vduse_record_status(&d->record);
	int ret = 0;

	if (status & VIRTIO_CONFIG_S_FEATURES_OK)
		ret = take_features(d);
	if (!ret && status & VIRTIO_CONFIG_S_DRIVER_OK)
		ret = start(d, true);
	return ret;
}
