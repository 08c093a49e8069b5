/* SPDX-License-Identifier: GPL-2.0-only */
#include <errno.h>
#include <sys/mman.h>
#include "base/cpu.h"
#include "targets/nbd/slot.h"

/* Data begins at a page, as O_DIRECT wants it. */
#define FRONT	4096u

/*
 * From one slot's memory to the next: an odd number of pages, or the data of all would
 * compete for the same few sets of the cache.
 */
#define STRIDE	(FRONT + NBD_SMALL)

/* Mapped: zeroed, so that no client sees what is not its own, and taking memory as it is used. */
static void *map(size_t len)
{
	void *p = mmap(NULL, len, PROT_READ | PROT_WRITE,
		       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	return p == MAP_FAILED ? NULL : p;
}

/**
 * nbd_slots_init - prepare the slots of a connection
 * @s: filled in
 *
 * Return: 0 or -ENOMEM.
 */
int nbd_slots_init(struct nbd_slots *s)
{
	*s = (struct nbd_slots) {
		.slot = map(NBD_SLOTS * sizeof(*s->slot)),
		.memory = map((size_t)NBD_SLOTS * STRIDE),
	};
	if (s->slot && s->memory)
		return 0;
	nbd_slots_destroy(s);
	return -ENOMEM;
}

static void drop_large(struct nbd_slots *s, struct nbd_slot *slot)
{
	if (!slot->large)
		return;
	munmap(slot->large, slot->large_size);
	s->large_bytes -= slot->large_size;
	slot->large = NULL;
	slot->large_size = 0;
}

/**
 * nbd_slots_destroy - give the memory of slots back
 * @s: the slots, none of them in use
 */
void nbd_slots_destroy(struct nbd_slots *s)
{
	for (unsigned int i = 0; i < s->touched; i++)
		drop_large(s, &s->slot[i]);
	if (s->slot)
		munmap(s->slot, NBD_SLOTS * sizeof(*s->slot));
	if (s->memory)
		munmap(s->memory, (size_t)NBD_SLOTS * STRIDE);
}

/**
 * nbd_slot_get - take a free slot
 * @s: the slots
 * @conn: whom they belong to
 *
 * Return: the slot, or NULL when all are in use.
 */
struct nbd_slot *nbd_slot_get(struct nbd_slots *s, struct nbd_conn *conn)
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
void nbd_slot_put(struct nbd_slots *s, struct nbd_slot *slot)
{
	slot->next = s->free;
	s->free = slot;
	s->puts++;
}

static bool make_room(struct nbd_slots *s, size_t len)
{
	for (struct nbd_slot *f = s->free; f && s->large_bytes + len > NBD_LARGE_MAX; f = f->next)
		drop_large(s, f);
	return s->large_bytes + len <= NBD_LARGE_MAX;
}

static int get_large(struct nbd_slots *s, struct nbd_slot *slot, size_t len)
{
	size_t size = 2 * NBD_SMALL;

	while (size < len)
		size *= 2;
	size += FRONT;
	drop_large(s, slot);
	if (!make_room(s, size))
		return -EAGAIN;
	slot->large = map(size);
	if (!slot->large)
		return -ENOMEM;
	slot->large_size = size;
	s->large_bytes += size;
	return 0;
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
int nbd_slot_room(struct nbd_slots *s, struct nbd_slot *slot, size_t len)
{
	if (likely(len <= NBD_SMALL)) {
		slot->buf = s->memory + (size_t)(slot - s->slot) * STRIDE + FRONT;
		return 0;
	}
	if (slot->large_size < FRONT + len) {
		int ret = get_large(s, slot, len);

		if (ret)
			return ret;
	}
	slot->buf = slot->large + FRONT;
	return 0;
}
