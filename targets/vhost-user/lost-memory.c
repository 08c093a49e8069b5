/* SPDX-License-Identifier: GPL-2.0-only */
#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/mman.h>
#include "targets/vhost-user/lost-memory.h"
#include "targets/vhost-user/session.h"

/*
 * A front end can take pages away from a file that is mapped here: by truncating it, or
 * by filling the file system it lies on. The next access to such a page raises SIGBUS.
 * The thread must go on, since other front ends depend on it, until the session's own thread
 * has stopped the queues.
 *
 * So replace everything that the session shares by private zeroes at once: there can be no
 * second fault, the rings read as broken, and the front end never sees an answer to a
 * request that was served from zeroes.
 */

/**
 * struct watched - a mapping of memory that a front end may take away
 * @owner: the session, NULL in a free slot
 * @map: where it starts
 * @len: bytes to replace; huge pages are replaced as a whole or not at all
 */
struct watched {
	struct session *owner;
	char *map;
	size_t len;
};

/*
 * A spinlock, because the handler takes it as well. It cannot interrupt a holder: SIGBUS
 * comes from access to shared memory, which no holder of the lock accesses.
 */
static atomic_flag lock = ATOMIC_FLAG_INIT;
static struct watched watched[SESSIONS_MAX * (GUEST_MEMORY_REGIONS + 1)];
static const unsigned int nr_watched = SESSIONS_MAX * (GUEST_MEMORY_REGIONS + 1);

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

static struct session *find_owner(const char *addr)
{
	for (unsigned int i = 0; i < nr_watched; i++) {
		const struct watched *w = &watched[i];

		if (w->owner && (size_t)(addr - w->map) < w->len)
			return w->owner;
	}
	return NULL;
}

static bool replace_all(const struct session *s)
{
	for (unsigned int i = 0; i < nr_watched; i++) {
		const struct watched *w = &watched[i];

		if (w->owner == s &&
		    mmap(w->map, w->len, PROT_READ | PROT_WRITE,
			 MAP_FIXED | MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0) == MAP_FAILED)
			return false;
	}
	return true;
}

/*
 * The session cannot go meanwhile: its queues are stopped before it and its memory are freed,
 * and stopping them waits for the iothread that is in here.
 */
static bool survive(const char *addr)
{
	struct session *s;
	bool ok = false;

	lock_watched();
	s = find_owner(addr);
	if (s) {
		/* Record the reason first, or another iothread could report the zeroes as a broken ring. */
		session_give_up(s, -ESTALE);
		ok = replace_all(s);
	}
	unlock_watched();
	return ok;
}

/* Any SIGBUS that is not a missing page of a front end has the effect it had before. */
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
 * lost_memory_catch - drop front ends that take their memory away, from here on
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
 * @s: the session that shares it
 * @r: the region, mapped and not yet used
 *
 * Return: 0, or -ENOSPC when more regions are mapped than front ends may have.
 */
int lost_memory_watch(struct session *s, const struct guest_region *r)
{
	int ret = -ENOSPC;

	lock_watched();
	for (unsigned int i = 0; i < nr_watched && ret; i++) {
		if (watched[i].owner)
			continue;
		watched[i] = (struct watched) { .owner = s, .map = r->map, .len = r->map_len };
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
	for (unsigned int i = 0; i < nr_watched; i++) {
		if (watched[i].owner && watched[i].map == r->map)
			watched[i].owner = NULL;
	}
	unlock_watched();
}
