/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef BASE_POLL_WINDOW_H
#define BASE_POLL_WINDOW_H

#include <stdint.h>

/**
 * struct poll_window - how long to poll before blocking, adapted as QEMU does
 * @ns: the window now; 0 means block at once
 * @max_ns: the longest window allowed; 0 turns polling off
 * @grow: factor applied when a longer window would have caught the event; 0 means 2
 * @shrink: divisor applied when no allowed window would have; 0 means back to 0
 */
struct poll_window {
	uint64_t ns;
	uint64_t max_ns;
	uint64_t grow;
	uint64_t shrink;
};

uint64_t poll_window_after(const struct poll_window *rule, uint64_t ns, uint64_t waited_ns);
void poll_window_update(struct poll_window *w, uint64_t waited_ns);

#endif
