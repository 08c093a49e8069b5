/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef TARGETS_VHOST_USER_SERVER_H
#define TARGETS_VHOST_USER_SERVER_H

#include "targets/clients.h"
#include "targets/device/queue.h"

/* Most front ends that may be served at once */
#define SESSIONS_MAX	256

/**
 * struct server - a socket on which front ends find the device
 * @clients: the sessions; up to SESSIONS_MAX, set before server_listen()
 * @dev: the device every session starts from
 * @num_queues: most queues of a session
 * @queue_size: most entries of a queue
 * @max_memory: most bytes that a front end may share
 * @iothreads: who serves the queues
 * @nr_iothreads: how many they are
 * @map: the iothread of each queue, starting over after @nr_map
 * @nr_map: entries of @map; 0 for round robin over devices and queues
 * @closing: no queue is started any more; covered by the clients' lock
 */
struct server {
	struct clients clients;
	struct blk_device dev;
	unsigned int num_queues;
	unsigned int queue_size;
	uint64_t max_memory;
	struct iothread *iothreads;
	unsigned int nr_iothreads;
	const uint16_t *map;
	unsigned int nr_map;
	bool closing;
};

int server_listen(struct server *s, const char *path);
void server_accept(struct server *s);
void server_close(struct server *s);

#endif
