/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef TARGETS_LISTEN_H
#define TARGETS_LISTEN_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/* Clients let in before the caller looks at what else there is to do, such as a signal to end */
#define LISTENER_BATCH	16

/**
 * struct listener - a socket on which clients find the target
 * @fd: listening, not blocking
 * @name: its path or its address, for messages
 * @is_unix: @name is a file, removed at the end
 * @dev: which file that is
 * @ino: and its number there
 * @no_rights: clients cannot send descriptors
 * @starved: no descriptor was left for the last client that came, which has been said
 */
struct listener {
	int fd;
	char name[128];
	bool is_unix;
	dev_t dev;
	ino_t ino;
	bool no_rights;
	bool starved;
};

int listener_open_unix(struct listener *l, const char *path, bool takes_rights);
int listener_open_tcp(struct listener *l, const char *address, uint16_t port);
int listener_accept(struct listener *l);
void listener_say_full(const struct listener *l);
void listener_turn_away(struct listener *l, int sock, int err);
void listener_close(struct listener *l);
void listener_raise_fd_limit(unsigned long need);

#endif
