/* SPDX-License-Identifier: GPL-2.0-only */
#include <stddef.h>
#include <sys/mman.h>
#include "base/clock.h"
#include "targets/backend/ceiling.h"

/* A millionth request a second lasts no whole number of ns, so time has a finer tick here. */
#define TICK_SHIFT	10

static uint64_t ticks(uint64_t amount, uint64_t a_second)
{
	return (unsigned __int128)amount * (1000000000ull << TICK_SHIFT) / a_second;
}

/**
 * ceiling_is_set - whether there is anything that a device cannot exceed
 * @config: its settings
 *
 * Return: true if so.
 */
bool ceiling_is_set(const struct ceiling_config *config)
{
	return config->parallel || config->iops || config->bandwidth;
}

static size_t bytes(const struct ceiling_config *config)
{
	return sizeof(struct ceiling) + config->parallel * sizeof(uint64_t);
}

/**
 * ceiling_new - make a device, idle
 * @config: what it cannot exceed, copied
 *
 * Processes forked later share it.
 *
 * Return: the device, or NULL without memory for it.
 */
struct ceiling *ceiling_new(const struct ceiling_config *config)
{
	struct ceiling *c = mmap(NULL, bytes(config), PROT_READ | PROT_WRITE,
				 MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	pthread_mutexattr_t attr;

	if (c == MAP_FAILED)
		return NULL;
	c->config = *config;
	c->start_ns = clock_ns();
	pthread_mutexattr_init(&attr);
	pthread_mutexattr_setpshared(&attr, PTHREAD_PROCESS_SHARED);
	pthread_mutex_init(&c->lock, &attr);
	pthread_mutexattr_destroy(&attr);
	return c;
}

/**
 * ceiling_free - undo ceiling_new()
 * @c: the device, or NULL
 */
void ceiling_free(struct ceiling *c)
{
	if (c)
		munmap(c, bytes(&c->config));
}

static uint64_t later(uint64_t a, uint64_t b)
{
	return a > b ? a : b;
}

/* The unit that is free first is taken until @end. */
static void occupy_unit(struct ceiling *c, uint64_t end)
{
	unsigned int i = 0, n = c->config.parallel;

	for (;;) {
		unsigned int child = 2 * i + 1;

		if (child < n && child + 1 < n && c->unit[child + 1] < c->unit[child])
			child++;
		if (child >= n || c->unit[child] >= end)
			break;
		c->unit[i] = c->unit[child];
		i = child;
	}
	c->unit[i] = end;
}

/**
 * ceiling_due - when the device will be done with a request that comes now
 * @c: the device
 * @now_ns: clock_ns()
 * @service_ns: how long it works on it when it has nothing else to do
 * @len: bytes to move
 *
 * May be called from any thread.
 *
 * Return: when, by clock_ns(); not before @now_ns + @service_ns.
 */
uint64_t ceiling_due(struct ceiling *c, uint64_t now_ns, uint64_t service_ns, uint64_t len)
{
	uint64_t t = (now_ns - c->start_ns) << TICK_SHIFT;

	pthread_mutex_lock(&c->lock);
	if (c->config.iops) {
		t = later(t, c->door);
		c->door = t + ticks(1, c->config.iops);
	}
	if (c->config.parallel) {
		t = later(t, c->unit[0]) + (service_ns << TICK_SHIFT);
		occupy_unit(c, t);
	} else {
		t += service_ns << TICK_SHIFT;
	}
	if (c->config.bandwidth) {
		t = later(t, c->bus) + ticks(len, c->config.bandwidth);
		c->bus = t;
	}
	pthread_mutex_unlock(&c->lock);
	return c->start_ns + (t >> TICK_SHIFT);
}
