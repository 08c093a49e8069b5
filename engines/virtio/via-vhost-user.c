/* SPDX-License-Identifier: GPL-2.0-only */
#include <sys/socket.h>
#include "engines/glue/glue.h"
#include "engines/transport/vhost-user.h"
#include "engines/virtio/device.h"
#include "engines/virtio/keeper.h"

/* A device in another process, which every job reaches over one connection. */

/* A device that is coming back has so long for each answer; fio's end waits for it. */
#define REBUILD_TIMEOUT_MS	2000

/**
 * struct vu_device - the transport's own part of a device
 * @front: the connection
 * @wanted: features the driver asked for
 * @kept: the device's record of requests in flight, with reconnect=1
 * @keeper: who connects anew, with reconnect=1
 */
struct vu_device {
	struct vu_front front;
	uint64_t wanted;
	struct vu_kept kept;
	struct keeper keeper;
};

static const char *key(const struct virtio_options *o)
{
	return o->socket && *o->socket ? o->socket : NULL;
}

static int report(struct thread_data *td, const char *what, const struct shared_device *dev,
		  int err)
{
	if (err == -EOPNOTSUPP)
		return glue_fail(td, EOPNOTSUPP, "vhost-user device %s keeps no record of requests in flight (VHOST_USER_PROTOCOL_F_INFLIGHT_SHMFD), which reconnect=1 needs",
				 dev->key);
	return glue_fail(td, -err, "cannot %s vhost-user device %s: %s", what, dev->key, strerror(-err));
}

static int meet(struct vu_front *f, uint64_t wanted, bool reconnect, struct blk_limits *limits)
{
	struct virtio_blk_config config = { 0 };
	int ret;

	ret = vu_front_negotiate(f, wanted, reconnect);
	if (!ret)
		ret = vu_front_get_config(f, &config, BLK_CONFIG_BYTES);
	if (!ret)
		blk_limits_read(limits, &config, f->features);
	return ret;
}

static int vu_open(struct shared_device *dev, struct thread_data *td)
{
	const struct virtio_options *o = td->eo;
	struct vu_device *v = calloc(1, sizeof(*v));
	int ret;

	if (!v)
		return report(td, "connect to", dev, -ENOMEM);
	v->kept.fd = -1;
	v->wanted = blk_driver_features(o->packed, o->event_idx, o->indirect);
	ret = vu_front_connect(&v->front, o->socket, o->job.stuck_timeout * 1000);
	if (ret) {
		free(v);
		return report(td, "connect to", dev, ret);
	}
	dev->priv = v;
	ret = meet(&v->front, v->wanted, o->reconnect, &dev->limits);
	if (ret)
		return report(td, "agree with", dev, ret);
	dev->features = v->front.features;
	dev->max_queues = v->front.max_queues;
	dev->peer_fd = v->front.sock;
	return 0;
}

/* Give the device everything it needs; the same when it is another than before. */
static int start_queues(struct shared_device *dev, struct vu_front *f)
{
	struct blk_shape shape = shared_device_shape(dev);
	struct vu_device *v = dev->priv;
	int ret = 0;

	if (v->kept.fd >= 0)
		ret = vu_front_set_inflight(f, &v->kept);
	if (!ret)
		ret = vu_front_share_memory(f, dev->arena.fd, dev->arena.base, dev->arena.size);
	for (unsigned int i = 0; i < dev->nr_queues && !ret; i++) {
		struct shared_queue *q = &dev->queue[i];
		struct vq_driver ring;

		blk_queue_ring(&ring, q->mem, &shape);
		ret = vu_front_start_queue(f, i, dev->queue_size, &ring, q->kick_fd, q->call_fd);
	}
	return ret;
}

static bool same_device(const struct shared_device *dev, const struct vu_front *f,
			const struct blk_limits *l)
{
	return f->features == dev->features && f->max_queues >= dev->nr_queues &&
	       l->capacity == dev->limits.capacity && l->block_size == dev->limits.block_size &&
	       l->max_transfer >= dev->limits.max_transfer &&
	       l->max_segments >= dev->limits.max_segments &&
	       l->max_discard >= dev->limits.max_discard;
}

/* In the keeper: the device has gone, and this may be one in its place. */
static int rebuild(struct shared_device *dev)
{
	struct vu_device *v = dev->priv;
	struct blk_limits limits;
	struct vu_front f;
	int ret;

	/* A device that only lost its mind must not serve the queues beside the next; jobs have the socket too. */
	shutdown(v->front.sock, SHUT_RDWR);
	ret = vu_front_connect(&f, dev->key, REBUILD_TIMEOUT_MS);
	if (ret)
		return ret;
	ret = meet(&f, v->wanted, true, &limits);
	if (!ret && !same_device(dev, &f, &limits))
		ret = -EMEDIUMTYPE;
	if (!ret)
		ret = start_queues(dev, &f);
	if (ret) {
		vu_front_close(&f);
		return ret;
	}
	vu_front_close(&v->front);
	v->front = f;
	return 0;
}

static int start_keeper(struct shared_device *dev, unsigned int wait_s)
{
	struct vu_device *v = dev->priv;

	dev->link = mmap(NULL, sizeof(*dev->link), PROT_READ | PROT_WRITE,
			 MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (dev->link == MAP_FAILED) {
		dev->link = NULL;
		return -errno;
	}
	v->keeper = (struct keeper) {
		.dev = dev,
		.wait_ns = wait_s * 1000000000ull,
		.sock = &v->front.sock,
		.rebuild = rebuild,
		.link = dev->link,
	};
	return keeper_start(&v->keeper);
}

static int vu_start(struct shared_device *dev, struct thread_data *td)
{
	const struct virtio_options *o = td->eo;
	struct vu_device *v = dev->priv;
	int ret = 0;

	if (o->reconnect)
		ret = vu_front_get_inflight(&v->front, dev->nr_queues, dev->queue_size, &v->kept);
	if (!ret)
		ret = start_queues(dev, &v->front);
	if (!ret && o->reconnect)
		ret = start_keeper(dev, o->job.stuck_timeout);
	if (ret != -ERANGE)
		return ret ? report(td, "start the queues of", dev, ret) : 0;
	return glue_fail(td, -ret, "vhost-user device %s refuses a queue of %u entries; its --queue-size may be smaller: lower iodepth= or set queue_size=",
			 dev->key, dev->queue_size);
}

static void vu_close(struct shared_device *dev)
{
	struct vu_device *v = dev->priv;

	if (!v)
		return;
	keeper_stop(&v->keeper);
	vu_front_close(&v->front);
	if (v->kept.fd >= 0)
		close(v->kept.fd);
	if (dev->link)
		munmap(dev->link, sizeof(*dev->link));
	free(v);
}

const struct virtio_transport via_vhost_user = {
	.name = "vhost-user",
	.key = key,
	.key_help = "socket=, the path of a vhost-user-blk socket",
	.reconnects = true,
	.open = vu_open,
	.start = vu_start,
	.close = vu_close,
};
