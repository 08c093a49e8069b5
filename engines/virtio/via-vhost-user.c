/* SPDX-License-Identifier: GPL-2.0-only */
#include "engines/transport/vhost-user.h"
#include "engines/virtio/device.h"

/* A device in another process, which every job reaches over one connection. */

static const char *key(const struct virtio_options *o)
{
	return o->socket && *o->socket ? o->socket : NULL;
}

static int report(const struct thread_data *td, const char *what, const struct shared_device *dev,
		  int err)
{
	log_err("%s: cannot %s vhost-user device %s: %s\n", td->o.name, what, dev->key,
		strerror(-err));
	return err;
}

static int meet(struct shared_device *dev, struct vu_front *f, const struct virtio_options *o)
{
	struct virtio_blk_config config = { 0 };
	int ret;

	ret = vu_front_negotiate(f, blk_driver_features(o->packed, o->event_idx, o->indirect));
	if (!ret)
		ret = vu_front_get_config(f, &config, BLK_CONFIG_BYTES);
	if (ret)
		return ret;
	blk_limits_read(&dev->limits, &config, f->features);
	dev->features = f->features;
	dev->max_queues = f->max_queues;
	dev->peer_fd = f->sock;
	return 0;
}

static int vu_open(struct shared_device *dev, struct thread_data *td)
{
	const struct virtio_options *o = td->eo;
	struct vu_front *f = calloc(1, sizeof(*f));
	int ret;

	if (!f)
		return report(td, "connect to", dev, -ENOMEM);
	ret = vu_front_connect(f, o->socket, o->stuck_timeout * 1000);
	if (ret) {
		free(f);
		return report(td, "connect to", dev, ret);
	}
	dev->priv = f;
	ret = meet(dev, f, o);
	return ret ? report(td, "agree with", dev, ret) : 0;
}

static int vu_start(struct shared_device *dev, struct thread_data *td)
{
	struct vu_front *f = dev->priv;
	int ret;

	ret = vu_front_share_memory(f, dev->arena.fd, dev->arena.base, dev->arena.size);
	for (unsigned int i = 0; i < dev->nr_queues && !ret; i++) {
		struct shared_queue *q = &dev->queue[i];
		struct vq_driver ring;

		blk_queue_ring(&ring, q->mem, dev->queue_size, dev->features);
		ret = vu_front_start_queue(f, i, dev->queue_size, &ring, q->kick_fd, q->call_fd);
	}
	if (ret != -EREMOTEIO)
		return ret ? report(td, "start the queues of", dev, ret) : 0;
	log_err("%s: vhost-user device %s refuses %u queues of %u entries, see queue_size= and iodepth=\n",
		td->o.name, dev->key, dev->nr_queues, dev->queue_size);
	return ret;
}

static void vu_close(struct shared_device *dev)
{
	struct vu_front *f = dev->priv;

	if (f)
		vu_front_close(f);
	free(f);
}

const struct virtio_transport via_vhost_user = {
	.name = "vhost-user",
	.key = key,
	.key_help = "socket=, the path of a vhost-user-blk socket",
	.open = vu_open,
	.start = vu_start,
	.close = vu_close,
};
