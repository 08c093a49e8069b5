/* SPDX-License-Identifier: GPL-2.0-only */
/* A socket, those who are served on it with a thread each, and who finds no place */
#ifndef TARGETS_CLIENTS_H
#define TARGETS_CLIENTS_H

#include <pthread.h>
#include "targets/listen.h"

/* Most clients at once that are served no more, but told that there is no place for them */
#define CLIENTS_REFUSED_MAX	16

struct clients;

/**
 * struct client - one of those served on a socket, with a thread of its own
 * @all: the clients of that socket
 * @next: the one that came before it; covered by @all->lock, as all below are
 * @sock: the connection
 * @id: its number
 * @unproven: it has yet to earn its place, and loses it when all are taken: see client_keeps_place()
 * @gave_way: it has lost its place
 * @refused: it never had one, and is only told so
 */
struct client {
	struct clients *all;
	struct client *next;
	int sock;
	unsigned int id;
	bool unproven;
	bool gave_way;
	bool refused;
};

/**
 * struct client_ops - what a protocol does with its clients
 * @thread_name: of their threads
 * @stack_size: of their threads, in bytes; 0 for what is usual
 * @new: make room for a client of @all on @sock; NULL without memory
 * @serve: in its thread, until it has gone or is to go
 * @refuse: in its thread, tell it that there is no place for it; NULL where a protocol has no way
 * @free: give back what @new made and @serve left; the socket is closed afterwards
 */
struct client_ops {
	const char *thread_name;
	size_t stack_size;
	struct client *(*new)(struct clients *all, int sock);
	void (*serve)(struct client *c);
	void (*refuse)(struct client *c);
	void (*free)(struct client *c);
};

/**
 * struct clients - those who are served on a socket
 * @listener: where they come in; opened before clients_start()
 * @ops: what is done with them
 * @max: how many may be served at once
 * @next_id: number of the next one
 * @lock: covers all below, and what the protocol says that it does
 * @changed: a client has gone, or something that the protocol waits for has happened
 * @first: those that have not gone, the latest first
 * @nr: how many they are
 * @nr_leaving: those of them that have no place
 */
struct clients {
	struct listener listener;
	const struct client_ops *ops;
	unsigned int max;
	unsigned int next_id;

	pthread_mutex_t lock;
	pthread_cond_t changed;
	struct client *first;
	unsigned int nr;
	unsigned int nr_leaving;
};

void clients_start(struct clients *all, unsigned int fds_each, unsigned int fds_besides);
void clients_accept(struct clients *all);
bool client_keeps_place(struct client *c);
bool clients_wait(struct clients *all, uint64_t until_ns);
void client_dropped(const struct client *c, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));

#endif
