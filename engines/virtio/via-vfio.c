/* SPDX-License-Identifier: GPL-2.0-only */
#include <linux/virtio_config.h>
#include <linux/virtio_ids.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include "base/fd.h"
#include "engines/glue/glue.h"
#include "engines/transport/virtio-pci.h"
#include "engines/virtio/device.h"

/*
 * A virtio-blk device on PCI, somebody else's hardware or hypervisor, which the kernel's VFIO lets
 * us drive. Its queues are notified by a store, and call by MSI-X where a job sleeps.
 */

/* Features of the platform that we take where they are offered; x86 keeps a device's order anyway. */
#if defined(__x86_64__) || defined(__i386__)
#define PLATFORM_FEATURES	(1ull << VIRTIO_F_ACCESS_PLATFORM | 1ull << VIRTIO_F_ORDER_PLATFORM)
#else
#define PLATFORM_FEATURES	(1ull << VIRTIO_F_ACCESS_PLATFORM)
#endif

#define FIELD(member) \
	{ offsetof(struct virtio_blk_config, member), sizeof(((struct virtio_blk_config *)0)->member) }

/* Those that blk_limits_read() looks at, and the number of queues. */
static const struct virtio_field config_fields[] = {
	FIELD(capacity), FIELD(size_max), FIELD(seg_max), FIELD(blk_size), FIELD(num_queues),
	FIELD(max_discard_sectors),
};

/**
 * struct vfio_device - the transport's own part of a device
 * @pci: the device on its bus
 * @virtio: the same as virtio sees it
 * @config_fd: eventfd, written when the configuration changes or the device fails; -1 without
 */
struct vfio_device {
	struct vfio_pci pci;
	struct virtio_pci virtio;
	int config_fd;
};

static const char *key(const struct virtio_options *o)
{
	return o->device && *o->device ? o->device : NULL;
}

static int report(struct thread_data *td, const struct shared_device *dev, int err,
		  const struct why *why)
{
	return shared_device_fail(td, dev, err, why->text);
}

static int read_limits(struct shared_device *dev, struct virtio_pci *d)
{
	struct virtio_blk_config config = { 0 };
	int ret;

	ret = virtio_pci_read_config(d, &config, config_fields,
				     sizeof(config_fields) / sizeof(*config_fields));
	if (ret)
		return ret;
	shared_device_describe(dev, &config, d->features, d->max_queues);
	if (!dev->max_queues)
		return why_not(&d->why, EPROTO, "it says that it has no queue");
	dev->max_queue_size = virtio_pci_queue_size(d, 0);
	return 0;
}

/* Without ACCESS_PLATFORM a device does not go through the IOMMU, and would write anywhere (6.1). */
static int meet(struct shared_device *dev, const struct virtio_options *o)
{
	struct vfio_device *v = dev->priv;
	struct virtio_pci *d = &v->virtio;
	uint64_t needed = 1ull << VIRTIO_F_VERSION_1 | 1ull << VIRTIO_F_ACCESS_PLATFORM;
	int ret;

	ret = virtio_pci_find(d, VIRTIO_ID_BLOCK, v->pci.config, v->pci.bar);
	if (ret)
		return ret;
	d->timeout_ms = o->job.stuck_timeout * 1000;
	ret = virtio_pci_negotiate(d, PLATFORM_FEATURES | blk_driver_features(o->packed, o->event_idx, o->indirect),
				   needed);
	if (ret == -EOPNOTSUPP && !(d->features >> VIRTIO_F_ACCESS_PLATFORM & 1))
		return why_not(&d->why, EOPNOTSUPP, "it does not offer VIRTIO_F_ACCESS_PLATFORM, so that its DMA would go past the IOMMU to anywhere in memory (iommu_platform=on of QEMU)");
	return ret ? ret : read_limits(dev, d);
}

/* What makes peer_fd readable is looked at in vfio_gone(). */
static int watch(struct shared_device *dev, struct thread_data *td, int fd)
{
	struct epoll_event event = { .events = EPOLLIN };

	if (dev->peer_fd < 0)
		dev->peer_fd = epoll_create1(EPOLL_CLOEXEC);
	if (dev->peer_fd < 0 || epoll_ctl(dev->peer_fd, EPOLL_CTL_ADD, fd, &event))
		return glue_fail(td, errno, "cannot watch vfio-pci device %s: %s", dev->key, strerror(errno));
	return 0;
}

static int vfio_open(struct shared_device *dev, struct thread_data *td)
{
	const struct virtio_options *o = td->eo;
	struct vfio_device *v = calloc(1, sizeof(*v));
	int ret;

	dev->peer_fd = -1;
	if (!v)
		return glue_fail(td, ENOMEM, "no memory for vfio-pci device %s", dev->key);
	dev->priv = v;
	v->config_fd = -1;
	ret = vfio_pci_open(&v->pci, dev->key);
	if (ret)
		return report(td, dev, ret, &v->pci.why);
	ret = meet(dev, o);
	if (ret)
		return report(td, dev, ret, &v->virtio.why);
	return v->pci.request_fd < 0 ? 0 : watch(dev, td, v->pci.request_fd);
}

/* Vectors of the queues, then one for the configuration if there is one left. */
static int set_vectors(struct shared_device *dev, struct thread_data *td)
{
	struct vfio_device *v = dev->priv;
	unsigned int n = dev->nr_queues;
	int fds[n + 1], ret;

	if (v->pci.vectors < n)
		return glue_fail(td, ENOSPC, "vfio-pci device %s has %u MSI-X vectors, %u are needed for jobs that sleep, one for each queue: wait_mode=spin needs none",
				 dev->key, v->pci.vectors, n);
	for (unsigned int i = 0; i < n; i++)
		fds[i] = dev->queue[i].call_fd;
	if (v->pci.vectors > n) {
		v->config_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
		if (v->config_fd < 0)
			return glue_fail(td, errno, "eventfd: %s", strerror(errno));
		ret = watch(dev, td, v->config_fd);
		if (ret)
			return ret;
		fds[n] = v->config_fd;
	}
	ret = vfio_pci_set_vectors(&v->pci, fds, n + (v->config_fd >= 0));
	if (ret)
		return report(td, dev, ret, &v->pci.why);
	if (v->config_fd >= 0)
		ret = virtio_pci_set_config_vector(&v->virtio, n);
	return ret ? report(td, dev, ret, &v->virtio.why) : 0;
}

static int start_queue(struct shared_device *dev, unsigned int index)
{
	const struct vq_parts parts = shared_queue_parts(dev, index);
	struct vfio_device *v = dev->priv;

	return virtio_pci_start_queue(&v->virtio, index, &(struct virtio_pci_queue) {
		.num = dev->queue_size,
		.desc = (uintptr_t)parts.desc + dev->guest_offset,
		.driver = (uintptr_t)parts.driver + dev->guest_offset,
		.device = (uintptr_t)parts.device + dev->guest_offset,
		.vector = dev->calls ? index : VIRTIO_MSI_NO_VECTOR,
	}, &dev->queue[index].doorbell);
}

static int vfio_start(struct shared_device *dev, struct thread_data *td)
{
	struct vfio_device *v = dev->priv;
	uint64_t iova;
	int ret;

	ret = vfio_pci_map_memory(&v->pci, dev->arena.base, dev->arena.size, &iova);
	if (ret)
		return report(td, dev, ret, &v->pci.why);
	dev->guest_offset = iova - (uintptr_t)dev->arena.base;
	ret = dev->calls ? set_vectors(dev, td) : 0;
	if (ret)
		return ret;
	for (unsigned int i = 0; i < dev->nr_queues && !ret; i++)
		ret = start_queue(dev, i);
	if (ret)
		return report(td, dev, ret, &v->virtio.why);
	virtio_pci_driver_ok(&v->virtio);
	return 0;
}

/* In a job. A change of the configuration that is no failure, as a new size, is of no interest. */
static int vfio_gone(struct shared_device *dev, unsigned int index, const char **why)
{
	struct vfio_device *v = dev->priv;
	uint64_t count;
	int ret;

	(void)index;
	if (v->pci.request_fd >= 0 && fd_events(v->pci.request_fd, POLLIN)) {
		*why = "the kernel wants it back (an unbind, or it is being removed)";
		return -ENODEV;
	}
	ret = virtio_status_fault(virtio_pci_status(&v->virtio), why);
	if (ret)
		return ret;
	if (v->config_fd >= 0 && read(v->config_fd, &count, sizeof(count)) < 0 && errno != EAGAIN)
		return -errno;
	return 0;
}

/* The reset is said; closing the device, as the end of a process does, has it made by the kernel. */
static void vfio_close(struct shared_device *dev)
{
	struct vfio_device *v = dev->priv;

	if (!v)
		return;
	if (v->virtio.common)
		virtio_pci_reset(&v->virtio);
	vfio_pci_close(&v->pci);
	if (dev->peer_fd >= 0)
		close(dev->peer_fd);
	if (v->config_fd >= 0)
		close(v->config_fd);
	free(v);
}

const struct virtio_transport via_vfio = {
	.name = "vfio-pci",
	.key = key,
	.key_help = "device=, the PCI address of a virtio-blk device, such as 0000:00:04.0",
	.open = vfio_open,
	.start = vfio_start,
	.gone = vfio_gone,
	.close = vfio_close,
};
