/* SPDX-License-Identifier: GPL-2.0-only */
#include "base/poll-window.h"

/* QEMU's first step from 0; docs/poll-policies.md says where it comes from. */
#define FIRST_WINDOW_NS	4000

/**
 * poll_window_update - adapt the window to the wait that has just ended
 * @w: the window
 * @waited_ns: time from the start of the wait to the event in ns, polling and
 *	sleeping together, handlers excluded
 *
 * The rule of QEMU 2.9 to 9.x, aio_poll() in util/aio-posix.c: a wait within the
 * window changes nothing; one longer than the maximum shrinks the window, because
 * polling that long is not wanted; one in between grows it.
 */
void poll_window_update(struct poll_window *w, uint64_t waited_ns)
{
	if (waited_ns <= w->ns)
		return;

	if (waited_ns > w->max_ns) {
		w->ns = w->shrink ? w->ns / w->shrink : 0;
		return;
	}

	/* A wait of exactly the maximum leaves the window alone, as in QEMU. */
	if (w->ns >= w->max_ns || waited_ns == w->max_ns)
		return;

	w->ns = w->ns ? w->ns * (w->grow ? w->grow : 2) : FIRST_WINDOW_NS;
	if (w->ns > w->max_ns)
		w->ns = w->max_ns;
}
