/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef TARGETS_NBD_SERVER_H
#define TARGETS_NBD_SERVER_H

#include <pthread.h>
#include "targets/backend/channel.h"
#include "targets/listen.h"
#include "targets/nbd/disk.h"

/*
 * Clients served at once. For one more, the oldest of those that still shake hands loses its
 * place; without such one it is turned away.
 */
#define NBD_REFUSED_MAX		16

struct nbd_client;

/**
 * struct nbd_server - a socket on which clients find the export
 * @listener: where they come in; opened before nbd_server_start()
 * @disk: what is exported
 * @max_clients: how many may be served at once
 * @iothreads: who serves the connections
 * @nr_iothreads: how many they are
 * @lock: covers all below
 * @changed: a client has gone
 * @clients: those that have not gone, the latest first
 * @nr_clients: how many they are
 * @nr_leaving: those that have given way
 * @next_id: number of the next one
 * @next_iothread: who serves the next one
 */
struct nbd_server {
	struct listener listener;
	struct nbd_disk disk;
	unsigned int max_clients;
	struct iothread *iothreads;
	unsigned int nr_iothreads;

	pthread_mutex_t lock;
	pthread_cond_t changed;
	struct nbd_client *clients;
	unsigned int nr_clients;
	unsigned int nr_leaving;
	unsigned int next_id;
	unsigned int next_iothread;
};

void nbd_server_start(struct nbd_server *s);
void nbd_server_accept(struct nbd_server *s);
void nbd_server_close(struct nbd_server *s);

#endif
