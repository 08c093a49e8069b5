/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef TARGETS_NBD_SLOT_H
#define TARGETS_NBD_SLOT_H

#include <errno.h>
#include "base/cpu.h"
#include "targets/backend/request.h"

/* Requests of a connection in flight at once; more wait in the socket. */
#define NBD_SLOTS	256

/* Room every slot has for data; a request with more gets a buffer of its own. */
#define NBD_SMALL	(64u << 10)

/* Most memory of such buffers in a connection: two of the largest requests. */
#define NBD_LARGE_MAX	(65u << 20)

/* Data begins at a page, as O_DIRECT wants it. */
#define NBD_FRONT	4096u

/*
 * From one slot's memory to the next: an odd number of pages, or the data of all would
 * compete for the same few sets of the cache.
 */
#define NBD_SLOT_STRIDE	(NBD_FRONT + NBD_SMALL)

struct nbd_conn;

/**
 * struct nbd_slot - a request of a connection
 * @r: as the channel sees it; first, so that its done() finds the slot
 * @iov: its memory
 * @conn: the connection
 * @next: in the list of free ones, of those done, or of those being sent
 * @cookie: to send back, as it came
 * @type: NBD_CMD_*
 * @why: what is wrong with the request, or NULL
 * @buf: room for its data, valid after nbd_slot_room()
 * @large: buffer of more than NBD_SMALL bytes, kept for the next large request
 * @large_size: its size
 * @in_flight: given to the channel
 */
struct nbd_slot {
	struct blk_request r;
	struct iovec iov;
	struct nbd_conn *conn;
	struct nbd_slot *next;
	uint64_t cookie;
	uint16_t type;
	bool in_flight;
	const char *why;
	char *buf;
	char *large;
	size_t large_size;
};

/**
 * struct nbd_slots - the slots of a connection
 * @slot: all NBD_SLOTS
 * @free: those used before and free again, last in first out, as the cache still holds the last
 * @touched: how many have ever been used; the rest takes no memory
 * @memory: NBD_SMALL bytes for each, and before them a page for what precedes the data in
 *	a reply
 * @large_bytes: in large buffers
 * @puts: slots given back so far
 */
struct nbd_slots {
	struct nbd_slot *slot;
	struct nbd_slot *free;
	unsigned int touched;
	char *memory;
	size_t large_bytes;
	uint64_t puts;
};

int nbd_slots_init(struct nbd_slots *s);
void nbd_slots_destroy(struct nbd_slots *s);
int nbd_slot_large_room(struct nbd_slots *s, struct nbd_slot *slot, size_t len);

/**
 * nbd_slot_get - take a free slot
 * @s: the slots
 * @conn: their connection
 *
 * Return: the slot, or NULL when all are in use.
 */
static inline struct nbd_slot *nbd_slot_get(struct nbd_slots *s, struct nbd_conn *conn)
{
	struct nbd_slot *slot = s->free;

	if (likely(slot)) {
		s->free = slot->next;
		return slot;
	}
	if (s->touched == NBD_SLOTS)
		return NULL;
	slot = &s->slot[s->touched++];
	slot->conn = conn;
	slot->r.iov = &slot->iov;
	slot->r.nr_iov = 1;
	return slot;
}

/**
 * nbd_slot_put - give a slot back
 * @s: the slots
 * @slot: the slot
 */
static inline void nbd_slot_put(struct nbd_slots *s, struct nbd_slot *slot)
{
	slot->next = s->free;
	s->free = slot;
	s->puts++;
}

/**
 * nbd_slot_room - see to it that a slot has room for data
 * @s: the slots
 * @slot: one of them; its @buf is set
 * @len: bytes
 *
 * In front of the data there is room for what precedes it in a reply.
 *
 * Return: 0; -EAGAIN when other requests must end first; -ENOMEM.
 */
static inline int nbd_slot_room(struct nbd_slots *s, struct nbd_slot *slot, size_t len)
{
	if (unlikely(len > NBD_SMALL))
		return nbd_slot_large_room(s, slot, len);
	slot->buf = s->memory + (size_t)(slot - s->slot) * NBD_SLOT_STRIDE + NBD_FRONT;
	return 0;
}

#endif
