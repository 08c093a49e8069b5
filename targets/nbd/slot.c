/* SPDX-License-Identifier: GPL-2.0-only */
#include <errno.h>
#include <sys/mman.h>
#include "targets/nbd/slot.h"

/* Map memory: it is zeroed, so that no client sees another's data, and takes pages as they are used. */
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
		.memory = map((size_t)NBD_SLOTS * NBD_SLOT_STRIDE),
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
		munmap(s->memory, (size_t)NBD_SLOTS * NBD_SLOT_STRIDE);
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
	size += NBD_FRONT;
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
 * nbd_slot_large_room - see to it that a slot has room for more than NBD_SMALL bytes
 * @s: the slots
 * @slot: one of them; its @buf is set
 * @len: bytes
 *
 * Return: 0; -EAGAIN when other requests must end first; -ENOMEM.
 */
int nbd_slot_large_room(struct nbd_slots *s, struct nbd_slot *slot, size_t len)
{
	if (slot->large_size < NBD_FRONT + len) {
		int ret = get_large(s, slot, len);

		if (ret)
			return ret;
	}
	slot->buf = slot->large + NBD_FRONT;
	return 0;
}
