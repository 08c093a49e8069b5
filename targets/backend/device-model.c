/* SPDX-License-Identifier: GPL-2.0-only */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <unistd.h>
#include "base/clock.h"
#include "base/container.h"
#include "base/fd.h"
#include "targets/backend/backend.h"
#include "targets/options.h"

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

static bool is_timed(const struct model_config *config)
{
	return config->delay.kind != DELAY_NONE || config->throttled || config->byte_ticks ||
	       config->byte_ticks_write || config->delay_write.kind != DELAY_NONE;
}

/**
 * model_byte_ticks - what a byte adds to a service time
 * @bandwidth: bytes a second, or 0 for a time that does not depend on the size
 *
 * Return: ns << MODEL_TICK_SHIFT.
 */
uint64_t model_byte_ticks(uint64_t bandwidth)
{
	return bandwidth ? (1000000000ull << MODEL_TICK_SHIFT) / bandwidth : 0;
}

/**
 * model_is_set - whether the emulated device does anything beside answering
 * @config: its settings
 *
 * Return: true if so: then a channel needs a model.
 */
bool model_is_set(const struct model_config *config)
{
	return is_timed(config) || config->request_cost_ns ||
	       config->extra_notify || config->error_rate > 0 || config->fail_after;
}

static void notify_nobody(struct device_model *m)
{
	for (unsigned int i = 0; i < m->config.extra_notify; i++)
		/* Full after 2^64 - 2 of them: nothing to handle. */
		eventfd_signal(m->extra_fd);
}

/**
 * model_charge - have the iothread pay for a request, as it would a block layer
 * @m: the model
 */
void model_charge(struct device_model *m)
{
	if (m->config.request_cost_ns)
		clock_burn(m->config.request_cost_ns);
	notify_nobody(m);
}

static bool draw_error(struct device_model *m)
{
	const struct model_config *config = &m->config;

	if (config->fail_after && m->answered == config->fail_after)
		return true;
	m->answered++;
	return config->error_rate > 0 && rng_double(&m->rng) < config->error_rate;
}

/* Draw when the device is done with a request that comes now. */
static uint64_t draw_due(struct device_model *m, const struct blk_request *r)
{
	const struct model_config *config = &m->config;
	bool writes = r->kind == REQ_WRITE || r->kind == REQ_DISCARD || r->kind == REQ_WRITE_ZEROES;
	uint64_t service_ns = delay_draw(writes && config->delay_write.kind != DELAY_NONE ? &config->delay_write : &config->delay, &m->rng);

	service_ns += ((unsigned __int128)(writes ? config->byte_ticks_write : config->byte_ticks) * r->len) >> MODEL_TICK_SHIFT;
	if (r->backend->throttle)
		return throttle_due(r->backend->throttle, r->taken_ns, service_ns, r->len);
	return r->taken_ns + service_ns;
}

/**
 * model_accepts - draw what becomes of a request
 * @m: the model
 * @r: the request, with its taken_ns; model_holds() is to be asked about it once it is done
 *
 * Return: false when it is to fail with -EIO instead of being carried out.
 */
bool model_accepts(struct device_model *m, struct blk_request *r)
{
	r->delayed = false;
	if (m->timed)
		r->deadline.due_ns = draw_due(m, r);
	return !draw_error(m);
}

static void wait_until_due(struct device_model *m, struct blk_request *r)
{
	if (r->deadline.due_ns > m->latest_ns)
		r->deadline.due_ns = m->latest_ns;
	r->delayed = true;
	deadline_add(&m->deadlines, &r->deadline);
}

/**
 * model_holds - whether a request that is done has to wait for its service time
 * @m: the model
 * @r: the request
 *
 * What took longer than its service time is late enough.
 *
 * Return: true when it has to; @m->over is called for it later, never from inside this call.
 */
bool model_holds(struct device_model *m, struct blk_request *r)
{
	if (!m->timed || r->deadline.due_ns <= clock_ns())
		return false;
	wait_until_due(m, r);
	return true;
}

static void expired(struct deadlines *ds, struct deadline *d)
{
	struct blk_request *r = container_of(d, struct blk_request, deadline);

	r->delayed = false;
	container_of(ds, struct device_model, deadlines)->over(r);
}

/**
 * model_cancel - drop a request whose submitter is gone
 * @m: the model
 * @r: the request
 *
 * Return: true when it only waited for its service time and will not be done; false when it
 * is being carried out, and will not wait afterwards.
 */
bool model_cancel(struct device_model *m, struct blk_request *r)
{
	if (!r->delayed) {
		r->deadline.due_ns = 0;
		return false;
	}
	deadline_remove(&m->deadlines, &r->deadline);
	r->delayed = false;
	return true;
}

/**
 * model_hurry - bring the end of a request's service time forward
 * @m: the model
 * @r: the request, not done yet
 * @until_ns: its latest end, by clock_ns()
 */
void model_hurry(struct device_model *m, struct blk_request *r, uint64_t until_ns)
{
	if (!m->timed || r->deadline.due_ns <= until_ns)
		return;
	if (r->delayed)
		deadline_remove(&m->deadlines, &r->deadline);
	r->deadline.due_ns = until_ns;
	if (r->delayed)
		deadline_add(&m->deadlines, &r->deadline);
}

/**
 * model_hurry_all - the same for all requests, and those to come
 * @m: the model
 * @until_ns: the latest end of all service times, by clock_ns()
 */
void model_hurry_all(struct device_model *m, uint64_t until_ns)
{
	m->latest_ns = until_ns;
	if (m->timed)
		deadlines_limit(&m->deadlines, until_ns);
}

/**
 * model_reserve - make room for requests, so that waiting never allocates
 * @m: the model
 * @more: requests that may be in flight at once, beside all reserved before
 *
 * Return: 0 or -ENOMEM.
 */
int model_reserve(struct device_model *m, unsigned int more)
{
	return m->timed ? deadlines_reserve(&m->deadlines, more) : 0;
}

/**
 * model_release - give room back
 * @m: the model
 * @fewer: what model_reserve() was given
 */
void model_release(struct device_model *m, unsigned int fewer)
{
	if (m->timed)
		deadlines_release(&m->deadlines, fewer);
}

static int start_deadlines(struct device_model *m)
{
	int ret = deadlines_init(&m->deadlines, expired);

	if (ret)
		return ret;
	ret = iothread_add_source(m->it, &m->deadlines.source);
	if (ret)
		deadlines_destroy(&m->deadlines);
	return ret;
}

static int start(struct device_model *m)
{
	if (m->config.extra_notify) {
		m->extra_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
		if (m->extra_fd < 0)
			return -errno;
	}
	return m->timed ? start_deadlines(m) : 0;
}

/**
 * model_open - make an iothread's part of the emulated device
 * @it: the iothread; called in it, as is all else
 * @config: what is wanted, copied
 * @over: called for each request that model_holds() has kept, when its service time is over
 *
 * Return: the model, or NULL, reported.
 */
struct device_model *model_open(struct iothread *it, const struct model_config *config,
				void (*over)(struct blk_request *r))
{
	struct device_model *m = calloc(1, sizeof(*m));
	int ret = -ENOMEM;

	if (m) {
		*m = (struct device_model) {
			.config = *config,
			.it = it,
			.over = over,
			.timed = is_timed(config),
			.latest_ns = UINT64_MAX,
			.extra_fd = -1,
		};
		rng_seed(&m->rng, it->index);
		ret = start(m);
	}
	if (!ret)
		return m;
	options_error(NULL, NULL, "%s: emulated device: %s", it->name, strerror(-ret));
	if (m && m->extra_fd >= 0)
		close(m->extra_fd);
	free(m);
	return NULL;
}

/**
 * model_close - undo model_open()
 * @m: the model, with no request waiting
 */
void model_close(struct device_model *m)
{
	if (m->timed) {
		iothread_remove_source(m->it, &m->deadlines.source);
		deadlines_destroy(&m->deadlines);
	}
	if (m->extra_fd >= 0)
		close(m->extra_fd);
	free(m);
}
