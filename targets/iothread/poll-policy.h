/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef TARGETS_IOTHREAD_POLL_POLICY_H
#define TARGETS_IOTHREAD_POLL_POLICY_H

#include <stdbool.h>
#include <stdint.h>
#include "base/poll-window.h"

enum poll_mode {
	POLL_OFF,
	POLL_BUSY,
	POLL_FIXED,
	POLL_ADAPTIVE,
};

/* A window that never ends. */
#define POLL_FOREVER	UINT64_MAX

/**
 * struct poll_policy - how long an iothread polls before it sleeps
 * @mode: which policy (docs/poll-policies.md)
 * @window: its window, adapted by POLL_ADAPTIVE only
 */
struct poll_policy {
	enum poll_mode mode;
	struct poll_window window;
};

void poll_policy_init(struct poll_policy *p, enum poll_mode mode, uint64_t max_ns,
		      uint64_t grow, uint64_t shrink);

/**
 * poll_policy_window - how long to poll now
 * @p: the policy
 *
 * Return: ns; 0 for not one pass, POLL_FOREVER for always.
 */
static inline uint64_t poll_policy_window(const struct poll_policy *p)
{
	return p->window.ns;
}

/**
 * poll_policy_adapts - whether the policy learns from waits
 * @p: the policy
 *
 * Return: true when poll_policy_waited() must be called, so that the loop has to
 * read the clock around each wait.
 */
static inline bool poll_policy_adapts(const struct poll_policy *p)
{
	return p->mode == POLL_ADAPTIVE && p->window.max_ns;
}

/**
 * poll_policy_waited - learn from a wait that has just ended
 * @p: the policy
 * @waited_ns: how long no source had work, polling and sleeping together; time spent
 *	in handlers is no waiting
 */
static inline void poll_policy_waited(struct poll_policy *p, uint64_t waited_ns)
{
	poll_window_update(&p->window, waited_ns);
}

#endif
