/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef TARGETS_VHOST_USER_SERVER_H
#define TARGETS_VHOST_USER_SERVER_H

#include <pthread.h>
#include "targets/device/queue.h"
#include "targets/listen.h"

/*
 * Front ends that may be served at once. For one more, the oldest of those that have said nothing yet loses
 * its place; without such one it is turned away.
 */
#define SESSIONS_MAX	256

struct session;

/**
 * struct server - a socket on which front ends find the device
 * @listener: the socket
 * @dev: the device every session starts from
 * @max_sessions: front ends served at once, up to SESSIONS_MAX
 * @num_queues: most queues of a session
 * @queue_size: most entries of a queue
 * @max_memory: most bytes that a front end may share
 * @iothreads: who serves the queues
 * @nr_iothreads: how many they are
 * @map: the iothread of each queue, starting over after @nr_map
 * @nr_map: entries of @map; 0 for round robin over devices and queues
 * @lock: covers all below, and what sessions say that it does
 * @changed: a session has stopped a queue, or gone
 * @sessions: those that have not gone, the latest first
 * @nr_sessions: how many they are
 * @nr_leaving: those that have given way
 * @closing: no queue is started any more
 * @next_id: number of the next one
 */
struct server {
	struct listener listener;
	struct blk_device dev;
	unsigned int max_sessions;
	unsigned int num_queues;
	unsigned int queue_size;
	uint64_t max_memory;
	struct iothread *iothreads;
	unsigned int nr_iothreads;
	const uint16_t *map;
	unsigned int nr_map;

	pthread_mutex_t lock;
	pthread_cond_t changed;
	struct session *sessions;
	unsigned int nr_sessions;
	unsigned int nr_leaving;
	bool closing;
	unsigned int next_id;
};

int server_listen(struct server *s, const char *path);
void server_accept(struct server *s);
bool server_heard(struct session *s);
bool server_may_run(struct session *s);
void server_stopped(struct session *s);
void server_close(struct server *s);

#endif
