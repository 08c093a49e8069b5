/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef TARGETS_STATS_H
#define TARGETS_STATS_H

#include <stdio.h>
#include "base/counter.h"
#include "base/hist.h"
#include "base/json.h"

enum request_kind {
	REQ_READ,
	REQ_WRITE,
	REQ_FLUSH,
	REQ_DISCARD,
	REQ_WRITE_ZEROES,
	REQ_GET_ID,
	REQ_CACHE,		/* NBD: read ahead */
	REQ_BLOCK_STATUS,	/* NBD: where are holes */
	REQ_UNSUPPORTED,
	REQ_KINDS
};

/**
 * struct iothread_stats - what one iothread counts about itself
 *
 * Written by its thread, read by any.
 */
struct iothread_stats {
	counter_t turns;		/* of the event loop */
	counter_t poll_ns;
	counter_t poll_hits;		/* polling phases that found work */
	counter_t poll_misses;		/* polling phases that ran out */
	counter_t yields;		/* polling for ever, to others that wanted the CPU */
	counter_t waits;		/* for events, however long; most may be there already */
	counter_t wakeups;		/* waits that ended with work */
	counter_t sleeps;		/* waits in which the thread slept: as iothread_sample() saw it */
	counter_t window_now;
	counter_t window_min;
	counter_t window_max;
	counter_t source_window_min;	/* of those polled now, where each source has a window */
	counter_t source_window_max;
	counter_t kicks;		/* notifications that drivers sent: as iothread_sample() saw them */
	counter_t noticed;		/* of drivers and clients, that ended a wait */
	counter_t calls;		/* notifications sent */
	counter_t batches;		/* returned to drivers, with or without a call */
	counter_t requests[REQ_KINDS];
	counter_t bytes[REQ_KINDS];
	counter_t errors;
	struct hist batch;		/* requests taken from a queue at once */
	struct hist service_ns;		/* taken to returned, of requests not done at once */
	counter_t tid;
	counter_t user_ns;		/* CPU time and switches: as iothread_sample() saw them */
	counter_t system_ns;
	counter_t voluntary;
	counter_t involuntary;
};

struct iothread;

void iothread_stats_json(struct json *w, const struct iothread *it);

#endif
