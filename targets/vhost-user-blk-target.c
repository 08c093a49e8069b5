/* SPDX-License-Identifier: GPL-2.0-only */
#include <stdio.h>
#include "targets/daemon.h"
#include "targets/vhost-user/lost-memory.h"
#include "targets/vhost-user/server.h"

/**
 * struct vhost_user_blk_target - the daemon and the device it serves
 */
struct vhost_user_blk_target {
	struct daemon daemon;		/* first */
	struct server server;
};

static struct server *server(struct daemon *d)
{
	return &((struct vhost_user_blk_target *)d)->server;
}

static int start_listening(struct daemon *d)
{
	struct server *s = server(d);
	int ret;

	blk_device_init(&s->dev, &d->backend, d->o.block_size, d->o.read_only, d->o.num_queues);
	s->num_queues = d->o.num_queues;
	s->queue_size = d->o.queue_size;
	s->lanes = d->lanes;
	s->nr_lanes = d->o.iothreads;
	ret = server_listen(s, d->socket);
	if (!ret)
		d->listen_fd = s->listener.fd;
	return ret;
}

static void let_in(struct daemon *d)
{
	server_accept(server(d));
}

static void stop_serving(struct daemon *d)
{
	server_close(server(d));
}

/* A vhost-user device has no URI; its socket is all there is to say. */
static void uri(const struct daemon *d, char *uri, size_t len)
{
	snprintf(uri, len, "%s", d->socket);
}

static const struct daemon_ops ops = {
	.program = &vhost_user_blk_program,
	.listen = start_listening,
	.accept = let_in,
	.close = stop_serving,
	.uri = uri,
};

int main(int argc, char **argv)
{
	static struct vhost_user_blk_target t;

	lost_memory_catch();
	return daemon_main(&t.daemon, &ops, argc, argv);
}
