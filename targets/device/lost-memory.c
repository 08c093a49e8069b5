/* SPDX-License-Identifier: GPL-2.0-only */
#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/mman.h>
#include "targets/device/lost-memory.h"

/*
 * A driver can take pages away from memory that is mapped here: by truncating its file, by
 * filling the file system it lies on, or by naming an address of VDUSE's that nobody has given
 * out. The next access to such a page raises SIGBUS. The thread must go on, since other drivers
 * depend on it, until the queues have been stopped.
 *
 * So replace everything that the owner has mapped by private zeroes at once: there can be no
 * second fault, the rings read as broken, and the driver never sees an answer to a request that
 * was served from zeroes.
 */

/* Mappings of all owners together: 256 front ends, each with all of its regions and a record */
#define WATCHED_MAX	(256 * (GUEST_MEMORY_REGIONS + 1))

/**
 * struct watched - a mapping of memory that a driver may take away
 * @owner: whose it is, NULL in a free slot
 * @map: where it starts
 * @len: bytes to replace; huge pages are replaced as a whole or not at all
 */
struct watched {
	struct memory_owner *owner;
	char *map;
	size_t len;
};

/*
 * A spinlock, because the handler takes it as well. It cannot interrupt a holder: SIGBUS
 * comes from access to shared memory, which no holder of the lock accesses.
 */
static atomic_flag lock = ATOMIC_FLAG_INIT;
static struct watched watched[WATCHED_MAX];

static struct sigaction previous;

static void lock_watched(void)
{
	/* acquire: pairs with the release in unlock_watched() */
	while (atomic_flag_test_and_set_explicit(&lock, memory_order_acquire))
		sched_yield();
}

static void unlock_watched(void)
{
	/* release: pairs with the acquire in lock_watched() */
	atomic_flag_clear_explicit(&lock, memory_order_release);
}

static struct memory_owner *find_owner(const char *addr)
{
	for (unsigned int i = 0; i < WATCHED_MAX; i++) {
		const struct watched *w = &watched[i];

		if (w->owner && (size_t)(addr - w->map) < w->len)
			return w->owner;
	}
	return NULL;
}

static bool replace_all(const struct memory_owner *o)
{
	for (unsigned int i = 0; i < WATCHED_MAX; i++) {
		const struct watched *w = &watched[i];

		if (w->owner == o &&
		    mmap(w->map, w->len, PROT_READ | PROT_WRITE,
			 MAP_FIXED | MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0) == MAP_FAILED)
			return false;
	}
	return true;
}

/*
 * The owner cannot go meanwhile: its queues are stopped before it and its memory are freed,
 * and stopping them waits for the iothread that is in here.
 */
static bool survive(const char *addr)
{
	struct memory_owner *o;
	bool ok = false;

	lock_watched();
	o = find_owner(addr);
	if (o) {
		/* Record the reason first, or another iothread could report the zeroes as a broken ring. */
		o->give_up(o);
		ok = replace_all(o);
	}
	unlock_watched();
	return ok;
}

/* Any SIGBUS that is not a missing page of a driver has the effect it had before. */
static void on_sigbus(int sig, siginfo_t *info, void *context)
{
	int saved = errno;

	(void)context;
	if (info->si_code != BUS_ADRERR || !survive(info->si_addr)) {
		sigaction(SIGBUS, &previous, NULL);
		/* A fault happens again by itself, a signal that was sent does not. */
		if (info->si_code <= 0)
			raise(sig);
	}
	errno = saved;
}

/**
 * lost_memory_catch - drop drivers that take their memory away, from here on
 *
 * Takes the SIGBUS handler of the process.
 */
void lost_memory_catch(void)
{
	struct sigaction sa = { .sa_sigaction = on_sigbus, .sa_flags = SA_SIGINFO };

	sigemptyset(&sa.sa_mask);
	sigaction(SIGBUS, &sa, &previous);
}

/**
 * lost_memory_watch - be prepared for the loss of a region's pages
 * @o: whose it is
 * @r: the region, mapped and not yet used
 *
 * Return: 0, or -ENOSPC when more regions are mapped than can be watched.
 */
int lost_memory_watch(struct memory_owner *o, const struct guest_region *r)
{
	int ret = -ENOSPC;

	lock_watched();
	for (unsigned int i = 0; i < WATCHED_MAX && ret; i++) {
		if (watched[i].owner)
			continue;
		watched[i] = (struct watched) { .owner = o, .map = r->map, .len = r->map_len };
		ret = 0;
	}
	unlock_watched();
	return ret;
}

/**
 * lost_memory_forget - end lost_memory_watch(), before a region is unmapped
 * @r: the region, not in use any more; it need not have been watched
 */
void lost_memory_forget(const struct guest_region *r)
{
	lock_watched();
	for (unsigned int i = 0; i < WATCHED_MAX; i++) {
		if (watched[i].owner && watched[i].map == r->map)
			watched[i].owner = NULL;
	}
	unlock_watched();
}
