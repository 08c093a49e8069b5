/* SPDX-License-Identifier: GPL-2.0-only */
#include <stddef.h>
#include <sys/mman.h>
#include "base/clock.h"
#include "targets/backend/throttle.h"

/* A millionth request a second lasts no whole number of ns, so time has a finer tick here. */
#define TICK_SHIFT	10

static uint64_t ticks(uint64_t amount, uint64_t a_second)
{
	return (unsigned __int128)amount * (1000000000ull << TICK_SHIFT) / a_second;
}

/**
 * throttle_is_set - whether there is anything that a device cannot exceed
 * @config: its settings
 *
 * Return: true if so.
 */
bool throttle_is_set(const struct throttle_config *config)
{
	return config->parallel || config->iops || config->bandwidth;
}

static size_t bytes(const struct throttle_config *config)
{
	return sizeof(struct throttle) + config->parallel * sizeof(uint64_t);
}

/**
 * throttle_new - make a device, idle
 * @config: what it cannot exceed, copied
 *
 * Processes forked later share it.
 *
 * Return: the device, or NULL without memory for it.
 */
struct throttle *throttle_new(const struct throttle_config *config)
{
	struct throttle *t = mmap(NULL, bytes(config), PROT_READ | PROT_WRITE,
				 MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	pthread_mutexattr_t attr;

	if (t == MAP_FAILED)
		return NULL;
	t->config = *config;
	t->start_ns = clock_ns();
	pthread_mutexattr_init(&attr);
	pthread_mutexattr_setpshared(&attr, PTHREAD_PROCESS_SHARED);
	pthread_mutex_init(&t->lock, &attr);
	pthread_mutexattr_destroy(&attr);
	return t;
}

/**
 * throttle_free - undo throttle_new()
 * @t: the device, or NULL
 */
void throttle_free(struct throttle *t)
{
	if (t)
		munmap(t, bytes(&t->config));
}

static uint64_t later(uint64_t a, uint64_t b)
{
	return a > b ? a : b;
}

/* The unit that is free first is taken until @end. */
static void occupy_unit(struct throttle *t, uint64_t end)
{
	unsigned int i = 0, n = t->config.parallel;

	for (;;) {
		unsigned int child = 2 * i + 1;

		if (child < n && child + 1 < n && t->unit[child + 1] < t->unit[child])
			child++;
		if (child >= n || t->unit[child] >= end)
			break;
		t->unit[i] = t->unit[child];
		i = child;
	}
	t->unit[i] = end;
}

/**
 * throttle_due - when the device will be done with a request that comes now
 * @t: the device
 * @now_ns: clock_ns()
 * @service_ns: how long it works on it when it has nothing else to do
 * @len: bytes to move
 *
 * May be called from any thread.
 *
 * Return: when, by clock_ns(); not before @now_ns + @service_ns.
 */
uint64_t throttle_due(struct throttle *t, uint64_t now_ns, uint64_t service_ns, uint64_t len)
{
	uint64_t at = (now_ns - t->start_ns) << TICK_SHIFT;

	pthread_mutex_lock(&t->lock);
	if (t->config.iops) {
		at = later(at, t->door);
		t->door = at + ticks(1, t->config.iops);
	}
	if (t->config.parallel) {
		at = later(at, t->unit[0]) + (service_ns << TICK_SHIFT);
		occupy_unit(t, at);
	} else {
		at += service_ns << TICK_SHIFT;
	}
	if (t->config.bandwidth) {
		at = later(at, t->bus) + ticks(len, t->config.bandwidth);
		t->bus = at;
	}
	pthread_mutex_unlock(&t->lock);
	return t->start_ns + (at >> TICK_SHIFT);
}
