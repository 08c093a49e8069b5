/* SPDX-License-Identifier: GPL-2.0-only */
#include <stdio.h>
#include <string.h>
#include "targets/daemon.h"
#include "targets/nbd/server.h"

#define LOOPBACK	"127.0.0.1"

/**
 * struct nbd_target - the daemon and its exports, one a socket
 */
struct nbd_target {
	struct daemon daemon;		/* first */
	struct nbd_server server[TARGET_SOCKETS_MAX];
	char description[64];
	char uri[PATH_MAX];
};

static struct nbd_server *server(struct daemon *d, unsigned int i)
{
	return &((struct nbd_target *)d)->server[i];
}

static const char *export_name(const struct daemon *d)
{
	return d->o.export ? d->o.export : "";
}

static const char *address(const struct daemon *d)
{
	return d->o.bind ? d->o.bind : LOOPBACK;
}

static int start_listening(struct daemon *d, unsigned int i)
{
	struct nbd_target *t = (struct nbd_target *)d;
	struct daemon_device *device = &d->device[i];
	struct nbd_server *s = server(d, i);
	int ret;

	snprintf(t->description, sizeof(t->description), "fio-dataplane, %s backend",
		 device->backend.ops->name);
	s->disk = (struct nbd_disk) {
		.backend = &device->backend,
		.name = export_name(d),
		.description = t->description,
		.block_size = d->o.block_size,
		.read_only = d->o.read_only,
	};
	s->clients.max = d->o.max_clients;
	s->iothreads = d->iothreads;
	s->nr_iothreads = d->o.iothreads;
	if (d->o.port)
		ret = listener_open_tcp(&s->clients.listener, address(d), d->o.port);
	else
		ret = listener_open_unix(&s->clients.listener, device->socket, false);
	if (ret)
		return ret;
	nbd_server_start(s);
	device->listen_fd = s->clients.listener.fd;
	return 0;
}

static void let_in(struct daemon *d, unsigned int i)
{
	nbd_server_accept(server(d, i));
}

static void stop_serving(struct daemon *d, unsigned int i)
{
	nbd_server_close(server(d, i));
}

/* Append a part of a URI; what has a meaning there, or no place, is escaped (RFC 3986). */
static void append_escaped(char *uri, size_t len, const char *s)
{
	static const char plain[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
				    "0123456789-._~/";
	size_t at = strlen(uri);

	for (; *s && at + 4 < len; s++)
		at += snprintf(uri + at, len - at, strchr(plain, *s) ? "%c" : "%%%02X",
			       (unsigned char)*s);
}

/* As in the "URI" document of the specification. */
static void make_uri(const struct daemon *d, char *uri, size_t len)
{
	bool is_ipv6 = strchr(address(d), ':');

	if (d->o.port)
		snprintf(uri, len, is_ipv6 ? "nbd://[%s]:%u/" : "nbd://%s:%u/", address(d),
			 d->o.port);
	else
		snprintf(uri, len, "nbd+unix:///");
	append_escaped(uri, len, export_name(d));
	if (d->o.port)
		return;
	strncat(uri, "?socket=", len - strlen(uri) - 1);
	append_escaped(uri, len, d->device[0].socket);
}

static struct run_place place(struct daemon *d)
{
	struct nbd_target *t = (struct nbd_target *)d;

	make_uri(d, t->uri, sizeof(t->uri));
	return (struct run_place) { .socket = d->device[0].socket, .uri = t->uri };
}

static const struct daemon_ops ops = {
	.program = &nbd_program,
	.listen = start_listening,
	.accept = let_in,
	.close = stop_serving,
	.place = place,
};

int main(int argc, char **argv)
{
	static struct nbd_target t;

	return daemon_main(&t.daemon, &ops, argc, argv);
}
