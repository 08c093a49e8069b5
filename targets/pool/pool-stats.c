/* SPDX-License-Identifier: GPL-2.0-only */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include "base/json.h"
#include "targets/pool/worker.h"

struct usage {
	uint64_t user_ns;
	uint64_t system_ns;
	uint64_t voluntary;
	uint64_t involuntary;
};

/* A worker asleep cannot be asked, and waking it would count: the kernel is asked instead. */
static FILE *open_task(const struct pool_worker *w, const char *name)
{
	char path[64];

	snprintf(path, sizeof(path), "/proc/self/task/%" PRIu64 "/%s", counter_get(&w->tid), name);
	return fopen(path, "re");
}

/* Fields 14 and 15 of proc(5)'s stat; the second may contain blanks and brackets. */
static bool read_ticks(const struct pool_worker *w, uint64_t *user, uint64_t *system)
{
	FILE *f = open_task(w, "stat");
	char line[1024] = "", *rest;
	bool ok;

	if (!f)
		return false;
	ok = fgets(line, sizeof(line), f) && (rest = strrchr(line, ')')) &&
	     sscanf(rest + 1, " %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %" SCNu64 " %" SCNu64,
		    user, system) == 2;
	fclose(f);
	return ok;
}

/* The clock of the thread has ns, but only their sum; ticks say how it is divided. */
static void add_cpu(const struct pool_worker *w, struct usage *u)
{
	uint64_t user, system, ns;
	struct timespec ts;
	clockid_t clock;

	if (pthread_getcpuclockid(w->thread, &clock) || clock_gettime(clock, &ts) ||
	    !read_ticks(w, &user, &system))
		return;
	ns = ts.tv_sec * 1000000000ull + ts.tv_nsec;
	system = system ? ns * ((double)system / (user + system)) : 0;
	u->user_ns += ns - system;
	u->system_ns += system;
}

static void add_switches(const struct pool_worker *w, struct usage *u)
{
	FILE *f = open_task(w, "status");
	char line[256];
	uint64_t n;

	if (!f)
		return;
	while (fgets(line, sizeof(line), f)) {
		if (sscanf(line, "voluntary_ctxt_switches: %" SCNu64, &n) == 1)
			u->voluntary += n;
		else if (sscanf(line, "nonvoluntary_ctxt_switches: %" SCNu64, &n) == 1)
			u->involuntary += n;
	}
	fclose(f);
}

static void worker_json(struct json *j, const struct pool_worker *w)
{
	/* No thread goes or comes with the pool's lock held, so none is counted twice. */
	struct usage u = {
		.user_ns = counter_get(&w->user_ns),
		.system_ns = counter_get(&w->system_ns),
		.voluntary = counter_get(&w->voluntary),
		.involuntary = counter_get(&w->involuntary),
	};

	if (w->state == WORKER_RUNNING && counter_get(&w->tid)) {
		add_cpu(w, &u);
		add_switches(w, &u);
	}
	json_open_object(j, NULL);
	json_str(j, "name", w->name);
	json_u64(j, "tid", counter_get(&w->tid));
	json_bool(j, "running", w->state == WORKER_RUNNING);
	json_u64(j, "starts", counter_get(&w->starts));
	json_u64(j, "requests", counter_get(&w->requests));
	json_u64(j, "sleeps", counter_get(&w->sleeps));
	json_u64(j, "wakeups", counter_get(&w->wakeups));

	json_open_object(j, "cpu");
	json_u64(j, "user_ns", u.user_ns);
	json_u64(j, "system_ns", u.system_ns);
	json_close_object(j);

	json_open_object(j, "switches");
	json_u64(j, "voluntary", u.voluntary);
	json_u64(j, "involuntary", u.involuntary);
	json_close_object(j);
	json_close_object(j);
}

/**
 * pool_stats_json - write what each worker has done, an object each
 * @j: the writer, inside an array
 * @p: the pool, running; called from any thread
 *
 * Figures are of a place in the pool: of all the threads that it has had, "starts" of them.
 * Places that never had one are left out.
 */
void pool_stats_json(struct json *j, struct pool *p)
{
	pthread_mutex_lock(&p->lock);
	for (unsigned int i = 0; i < p->config.max_threads; i++) {
		if (counter_get(&p->worker[i].starts))
			worker_json(j, &p->worker[i]);
	}
	pthread_mutex_unlock(&p->lock);
}
