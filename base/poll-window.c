/* SPDX-License-Identifier: GPL-2.0-only */
#include "base/poll-window.h"

/* QEMU's first step from 0; docs/poll-policies.md says where it comes from. */
#define FIRST_WINDOW_NS	4000

/**
 * poll_window_after - the window that follows from a wait
 * @rule: limits and factors; its own window plays no part
 * @ns: the window so far
 * @waited_ns: time from the start of the wait to the event in ns, polling and
 *	sleeping together, handlers excluded
 *
 * The rule of QEMU since 2.9, adjust_polling_time() in util/aio-posix.c: a wait within the
 * window changes nothing; one longer than the maximum shrinks the window, because
 * polling that long is not wanted; one in between grows it.
 *
 * Return: the window in ns.
 */
uint64_t poll_window_after(const struct poll_window *rule, uint64_t ns, uint64_t waited_ns)
{
	uint64_t grow = rule->grow ? rule->grow : 2;

	if (waited_ns <= ns)
		return ns;

	if (waited_ns > rule->max_ns)
		return rule->shrink ? ns / rule->shrink : 0;

	/* A wait of exactly the maximum leaves the window alone, as in QEMU. */
	if (ns >= rule->max_ns || waited_ns == rule->max_ns)
		return ns;

	if (!ns)
		return FIRST_WINDOW_NS < rule->max_ns ? FIRST_WINDOW_NS : rule->max_ns;
	return ns <= rule->max_ns / grow ? ns * grow : rule->max_ns;
}

/**
 * poll_window_update - adapt a window to the wait that has just ended
 * @w: the window
 * @waited_ns: as in poll_window_after()
 */
void poll_window_update(struct poll_window *w, uint64_t waited_ns)
{
	w->ns = poll_window_after(w, w->ns, waited_ns);
}
