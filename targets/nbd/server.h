/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef TARGETS_NBD_SERVER_H
#define TARGETS_NBD_SERVER_H

#include "targets/clients.h"
#include "targets/iothread/iothread.h"
#include "targets/nbd/disk.h"

/**
 * struct nbd_server - a socket on which clients find the export
 * @clients: who is served there; its listener and @clients.max come first
 * @disk: what is exported
 * @iothreads: who serves the connections
 * @nr_iothreads: how many they are
 * @next_iothread: who serves the next one; covered by the clients' lock, as the next
 * @closing: clients are to finish
 */
struct nbd_server {
	struct clients clients;
	struct nbd_disk disk;
	struct iothread *iothreads;
	unsigned int nr_iothreads;
	unsigned int next_iothread;
	bool closing;
};

void nbd_server_start(struct nbd_server *s);
void nbd_server_accept(struct nbd_server *s);
void nbd_server_close(struct nbd_server *s);

#endif
