/* SPDX-License-Identifier: GPL-2.0-only */
#include <limits.h>
#include <linux/virtio_config.h>
#include <linux/virtio_ids.h>
#include <sys/eventfd.h>
#include "engines/glue/glue.h"
#include "engines/transport/vhost-vdpa.h"
#include "engines/virtio/device.h"

/*
 * A virtio-blk device of the kernel's vDPA bus, hardware or a VDUSE daemon's, by its vhost-vdpa file. Kicks
 * and calls are eventfds.
 */

static const char *key(const struct virtio_options *o)
{
	return o->device && *o->device ? o->device : NULL;
}

static int report(struct thread_data *td, const struct shared_device *dev, int err)
{
	const struct vdpa *v = dev->priv;

	return shared_device_fail(td, dev, err, v->why.text);
}

static int read_limits(struct shared_device *dev, struct vdpa *v)
{
	struct virtio_blk_config config;
	int ret = vdpa_read_config(v, &config, BLK_CONFIG_BYTES);

	if (ret)
		return ret;
	shared_device_describe(dev, &config, v->features, v->max_queues ? v->max_queues : UINT_MAX);
	if (!dev->max_queues)
		return why_not(&v->why, EPROTO, "it says that it has no queue");
	dev->max_queue_size = v->max_queue_size;
	return 0;
}

/* A device that is no PCI one may need ACCESS_PLATFORM (VDUSE does); ours are IOTLB addresses anyway. */
static int meet(struct shared_device *dev, const struct virtio_options *o)
{
	uint64_t wanted = 1ull << VIRTIO_F_ACCESS_PLATFORM | blk_driver_features(o->packed, o->event_idx, o->indirect);
	struct vdpa *v = dev->priv;
	int ret;

	if (v->id != VIRTIO_ID_BLOCK)
		return why_not(&v->why, ENODEV, "it is no disk (virtio device %u, a disk is %u)", v->id, VIRTIO_ID_BLOCK);
	ret = vdpa_negotiate(v, wanted, 1ull << VIRTIO_F_VERSION_1);
	return ret ? ret : read_limits(dev, v);
}

static int vdpa_transport_open(struct shared_device *dev, struct thread_data *td)
{
	const struct virtio_options *o = td->eo;
	struct vdpa *v = calloc(1, sizeof(*v));
	int ret;

	dev->peer_fd = -1;
	if (!v)
		return glue_fail(td, ENOMEM, "no memory for vhost-vdpa device %s", dev->key);
	v->fd = -1;
	dev->priv = v;
	ret = vdpa_open(v, dev->key);
	if (!ret)
		ret = meet(dev, o);
	return ret ? report(td, dev, ret) : 0;
}

static int start_queue(struct shared_device *dev, unsigned int index)
{
	const struct shared_queue *q = &dev->queue[index];
	const struct vq_parts parts = shared_queue_parts(dev, index);

	return vdpa_start_queue(dev->priv, index, &(struct vdpa_queue) {
		.num = dev->queue_size,
		.desc = (uintptr_t)parts.desc + dev->guest_offset,
		.driver = (uintptr_t)parts.driver + dev->guest_offset,
		.device = (uintptr_t)parts.device + dev->guest_offset,
		.kick_fd = q->kick_fd,
		.call_fd = dev->calls ? q->call_fd : -1,
	});
}

/* A job that sleeps hears of it, as one that polls looks at the status: see vdpa_gone(). */
static int watch_config(struct shared_device *dev)
{
	struct vdpa *v = dev->priv;

	dev->peer_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (dev->peer_fd < 0)
		return why_not(&v->why, errno, "eventfd: %s", strerror(errno));
	return vdpa_call_on_config(v, dev->peer_fd);
}

static int vdpa_transport_start(struct shared_device *dev, struct thread_data *td)
{
	uint64_t iova;
	int ret = vdpa_map_memory(dev->priv, dev->arena.base, dev->arena.size, &iova);

	if (!ret && dev->calls)
		ret = watch_config(dev);
	if (ret)
		return report(td, dev, ret);
	dev->guest_offset = iova - (uintptr_t)dev->arena.base;
	for (unsigned int i = 0; i < dev->nr_queues && !ret; i++)
		ret = start_queue(dev, i);
	if (!ret)
		ret = vdpa_driver_ok(dev->priv);
	return ret ? report(td, dev, ret) : 0;
}

/* In a job. A change of the configuration that is no failure, as a new size, is of no interest. */
static int vdpa_gone(struct shared_device *dev, unsigned int index, const char **why)
{
	int status = vdpa_status(dev->priv), ret;
	uint64_t count;

	(void)index;
	if (status < 0) {
		*why = "the kernel no longer has it";
		return status;
	}
	ret = virtio_status_fault(status, why);
	if (ret)
		return ret;
	if (dev->peer_fd >= 0 && read(dev->peer_fd, &count, sizeof(count)) < 0 && errno != EAGAIN)
		return -errno;
	return 0;
}

static void vdpa_transport_close(struct shared_device *dev)
{
	if (!dev->priv)
		return;
	vdpa_close(dev->priv);
	if (dev->peer_fd >= 0)
		close(dev->peer_fd);
	free(dev->priv);
}

const struct virtio_transport via_vdpa = {
	.name = "vhost-vdpa",
	.key = key,
	.key_help = "device=, the file of a vhost-vdpa device, such as /dev/vhost-vdpa-0",
	.open = vdpa_transport_open,
	.start = vdpa_transport_start,
	.gone = vdpa_gone,
	.close = vdpa_transport_close,
};
