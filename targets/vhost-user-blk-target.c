/* SPDX-License-Identifier: GPL-2.0-only */
#include "targets/daemon.h"
#include "targets/vhost-user/lost-memory.h"
#include "targets/vhost-user/server.h"

/**
 * struct vhost_user_blk_target - the daemon and where its devices are served
 */
struct vhost_user_blk_target {
	struct daemon daemon;		/* first */
	struct server server[TARGET_SOCKETS_MAX];
};

static struct server *server(struct daemon *d, unsigned int i)
{
	return &((struct vhost_user_blk_target *)d)->server[i];
}

static int start_listening(struct daemon *d, unsigned int i)
{
	struct daemon_device *device = &d->device[i];
	struct server *s = server(d, i);
	int ret;

	blk_device_init(&s->dev, &device->backend, d->o.block_size, d->o.read_only, d->o.num_queues);
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
	server_accept(server(d, i));
}

static void stop_serving(struct daemon *d, unsigned int i)
{
	server_close(server(d, i));
}

/* A vhost-user device has no URI; its socket is all there is to say. */
static struct run_place place(struct daemon *d)
{
	const char *socket = d->device[0].socket;

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
