/* SPDX-License-Identifier: GPL-2.0-only */
#include "base/parse.h"
#include "targets/iothread/iothread.h"

static const char *const kind_names[REQ_KINDS] = {
	[REQ_READ] = "read",
	[REQ_WRITE] = "write",
	[REQ_FLUSH] = "flush",
	[REQ_DISCARD] = "discard",
	[REQ_WRITE_ZEROES] = "write_zeroes",
	[REQ_GET_ID] = "get_id",
	[REQ_CACHE] = "cache",
	[REQ_BLOCK_STATUS] = "block_status",
	[REQ_UNSUPPORTED] = "unsupported",
};

static void json_counter(struct json *w, const char *key, const counter_t *c)
{
	json_u64(w, key, counter_get(c));
}

static void traffic(struct json *w, const struct iothread_stats *s)
{
	json_open_object(w, "requests");
	for (unsigned int i = 0; i < REQ_KINDS; i++)
		json_counter(w, kind_names[i], &s->requests[i]);
	json_close_object(w);
	json_counter(w, "errors", &s->errors);

	json_open_object(w, "bytes");
	json_counter(w, "read", &s->bytes[REQ_READ]);
	json_counter(w, "write", &s->bytes[REQ_WRITE]);
	json_counter(w, "discard", &s->bytes[REQ_DISCARD]);
	json_counter(w, "write_zeroes", &s->bytes[REQ_WRITE_ZEROES]);
	json_close_object(w);

	json_hist(w, "batch", &s->batch);
	json_hist(w, "service_ns", &s->service_ns);
}

/* The two counters are not of one instant, so the difference can be off by one below 0. */
static uint64_t suppressed_calls(const struct iothread_stats *s)
{
	uint64_t calls = counter_get(&s->calls), batches = counter_get(&s->batches);

	return batches > calls ? batches - calls : 0;
}

/* null for one without an end */
static void window(struct json *w, const char *key, const counter_t *c)
{
	if (counter_get(c) == POLL_FOREVER)
		json_str(w, key, NULL);
	else
		json_counter(w, key, c);
}

static void polling(struct json *w, const struct iothread_stats *s)
{
	json_counter(w, "turns", &s->turns);
	json_counter(w, "poll_ns", &s->poll_ns);
	json_counter(w, "poll_hits", &s->poll_hits);
	json_counter(w, "poll_misses", &s->poll_misses);
	json_counter(w, "yields", &s->yields);
	json_counter(w, "waits", &s->waits);
	json_counter(w, "wakeups", &s->wakeups);
	json_counter(w, "sleeps", &s->sleeps);

	json_open_object(w, "window_ns");
	window(w, "now", &s->window_now);
	window(w, "min", &s->window_min);
	window(w, "max", &s->window_max);
	json_close_object(w);

	json_open_object(w, "source_window_ns");
	json_counter(w, "min", &s->source_window_min);
	json_counter(w, "max", &s->source_window_max);
	json_close_object(w);

	json_open_object(w, "notifications");
	json_counter(w, "received", &s->kicks);
	json_counter(w, "noticed", &s->noticed);
	json_counter(w, "sent", &s->calls);
	json_u64(w, "suppressed", suppressed_calls(s));
	json_close_object(w);
}

/**
 * iothread_stats_json - write one iothread's figures as an object
 * @w: the writer, inside an array
 * @it: the iothread; it may go on counting meanwhile
 */
void iothread_stats_json(struct json *w, const struct iothread *it)
{
	const struct iothread_stats *s = &it->stats;
	char cpus[256] = "";

	format_cpu_list(&it->cpus, cpus, sizeof(cpus));
	json_open_object(w, NULL);
	json_str(w, "name", it->name);
	json_counter(w, "tid", &s->tid);
	json_str(w, "cpus", *cpus ? cpus : NULL);
	polling(w, s);
	traffic(w, s);

	json_open_object(w, "cpu");
	json_counter(w, "user_ns", &s->user_ns);
	json_counter(w, "system_ns", &s->system_ns);
	json_close_object(w);

	json_open_object(w, "switches");
	json_counter(w, "voluntary", &s->voluntary);
	json_counter(w, "involuntary", &s->involuntary);
	json_close_object(w);
	json_close_object(w);
}
