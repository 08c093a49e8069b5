/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef ENGINES_GLUE_BACKOFF_H
#define ENGINES_GLUE_BACKOFF_H

#include <stdbool.h>

#define BACKOFF_MISSES	8
#define BACKOFF_SKIP_MIN	16
#define BACKOFF_SKIP_MAX	4096

/**
 * struct backoff - whether polling before a sleep has been of use
 * @misses: times in a row that nothing was found
 * @skip: waits left in which not to poll
 * @next: how many there will be the next time
 *
 * A job that polls on the CPU that its device's thread needs makes the wait longer than any
 * window. QEMU's rule does not know: the next short wait makes the window grow again.
 */
struct backoff {
	unsigned int misses;
	unsigned int skip;
	unsigned int next;
};

/**
 * backoff_skips - a wait begins
 * @v: the job's, zeroed in the beginning
 *
 * Return: whether to sleep without polling.
 */
static inline bool backoff_skips(struct backoff *v)
{
	if (!v->skip)
		return false;
	v->skip--;
	return true;
}

/**
 * backoff_note - a window is over
 * @v: the job's
 * @found: what is waited for came in it
 */
static inline void backoff_note(struct backoff *v, bool found)
{
	if (found) {
		v->misses = 0;
		v->next = 0;
		return;
	}
	if (++v->misses < BACKOFF_MISSES)
		return;
	v->misses = 0;
	v->next = v->next ? v->next * 2 : BACKOFF_SKIP_MIN;
	if (v->next > BACKOFF_SKIP_MAX)
		v->next = BACKOFF_SKIP_MAX;
	v->skip = v->next;
}

#endif
