/* SPDX-License-Identifier: GPL-2.0-only */
#include <linux/virtio_config.h>
#include <stdio.h>
#include "targets/daemon.h"
#include "targets/device/lost-memory.h"
#include "targets/vduse/device.h"
#include "targets/vhost-user/server.h"

/**
 * struct vhost_user_blk_target - the daemon and where its devices are served
 */
struct vhost_user_blk_target {
	struct daemon daemon;		/* first */
	struct server server[TARGET_SOCKETS_MAX];
	struct vduse_device vduse[TARGET_SOCKETS_MAX];
	char path[sizeof("/dev/vduse/") + TARGET_EXPORT_NAME_MAX];
};

static struct server *server(struct daemon *d, unsigned int i)
{
	return &((struct vhost_user_blk_target *)d)->server[i];
}

/* Those of --export come behind those of --socket, NULL for one of these. */
static struct vduse_device *vduse(struct daemon *d, unsigned int i)
{
	if (i < d->o.sockets.nr || !d->o.exports.nr)
		return NULL;
	return &((struct vhost_user_blk_target *)d)->vduse[i - d->o.sockets.nr];
}

/* The device as every client of it sees it at first */
static void describe(struct daemon *d, unsigned int i, struct blk_device *dev)
{
	blk_device_init(dev, &d->device[i].backend, d->o.block_size, d->o.read_only, d->o.num_queues);
	if (d->o.no_packed)
		dev->features &= ~(UINT64_C(1) << VIRTIO_F_RING_PACKED);
}

static int start_vduse(struct daemon *d, unsigned int i)
{
	struct vduse_device *device = vduse(d, i);
	const struct vduse_config config = {
		.name = d->o.exports.name[i - d->o.sockets.nr],
		.num_queues = d->o.num_queues,
		.queue_size = d->o.queue_size,
		.max_memory = d->o.max_client_memory,
		.iothreads = d->iothreads,
		.nr_iothreads = d->o.iothreads,
		.map = d->o.iothread_map.iothread,
		.nr_map = d->o.iothread_map.nr,
		.number = i,
	};
	int ret;

	describe(d, i, &device->dev);
	ret = vduse_device_open(device, &config);
	if (!ret)
		d->device[i].listen_fd = device->lost_fd;
	return ret;
}

static int start_listening(struct daemon *d, unsigned int i)
{
	struct daemon_device *device = &d->device[i];
	struct server *s = server(d, i);
	int ret;

	if (vduse(d, i))
		return start_vduse(d, i);
	describe(d, i, &s->dev);
	s->num_queues = d->o.num_queues;
	s->clients.max = d->o.max_clients;
	s->queue_size = d->o.queue_size;
	s->max_memory = d->o.max_client_memory;
	s->iothreads = d->iothreads;
	s->nr_iothreads = d->o.iothreads;
	s->map = d->o.iothread_map.iothread;
	s->nr_map = d->o.iothread_map.nr;
	/* So that devices of one queue do not all end up on the first iothread. */
	s->clients.next_id = i;
	ret = server_listen(s, device->socket);
	if (!ret)
		device->listen_fd = s->clients.listener.fd;
	return ret;
}

static void let_in(struct daemon *d, unsigned int i)
{
	/* The kernel has given the device up, as its thread has said. */
	if (vduse(d, i))
		d->lost = true;
	else
		server_accept(server(d, i));
}

static void stop_serving(struct daemon *d, unsigned int i)
{
	if (vduse(d, i))
		vduse_device_close(vduse(d, i));
	else
		server_close(server(d, i));
}

/* A vhost-user device has no URI; its socket is all there is to say. */
static struct run_place place(struct daemon *d)
{
	const char *socket = d->device[0].socket;
	struct vhost_user_blk_target *t = (struct vhost_user_blk_target *)d;

	if (d->o.exports.nr) {
		snprintf(t->path, sizeof(t->path), "/dev/vduse/%s", d->o.exports.name[0]);
		return (struct run_place) { .device = t->path };
	}
	return (struct run_place) { .socket = socket, .uri = socket };
}

static const struct daemon_ops ops = {
	.program = &vhost_user_blk_program,
	.listen = start_listening,
	.accept = let_in,
	.close = stop_serving,
	.place = place,
};

int main(int argc, char **argv)
{
	static struct vhost_user_blk_target t;

	lost_memory_catch();
	return daemon_main(&t.daemon, &ops, argc, argv);
}
