/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * poll-replay: what poll policies would have done in waits that were recorded
 *
 * Waits come as histograms on stdin, lines of "KIND FROM TO COUNT": KIND is 0 for waits
 * without requests in flight and 1 for those with, FROM and TO are ns. Waits are drawn from
 * them, kinds mixed as they were, and given to the very code that iothreads run.
 */

#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/parse.h"
#include "base/rng.h"
#include "targets/iothread/iothread.h"

#define BUCKETS_MAX	2048

/* struct bucket - So many waits up to here, all buckets before it included */
struct bucket {
	unsigned int kind;
	uint64_t from, to;
	uint64_t below;
};

static struct bucket bucket[BUCKETS_MAX];
static unsigned int nr_buckets;

/* struct outcome - What became of the waits under one policy, in ns where it is time */
struct outcome {
	uint64_t waits, covered, naps, sleeps;
	uint64_t polled_ns;
};

/* Returns NULL, or what is wrong with the line. */
static const char *take_line(const char *line)
{
	struct bucket *b = &bucket[nr_buckets];
	uint64_t count;

	if (nr_buckets == BUCKETS_MAX)
		return "more than 2048 lines";
	if (sscanf(line, "%u %" SCNu64 " %" SCNu64 " %" SCNu64, &b->kind, &b->from, &b->to, &count) != 4 ||
	    b->kind > 1 || b->to <= b->from)
		return "expected KIND FROM TO COUNT";
	if (!count)
		return NULL;
	b->below = count + (nr_buckets ? bucket[nr_buckets - 1].below : 0);
	nr_buckets++;
	return NULL;
}

static int read_waits(void)
{
	char line[128];

	for (unsigned int n = 1; fgets(line, sizeof(line), stdin); n++) {
		const char *wrong = take_line(line);

		if (wrong) {
			fprintf(stderr, "poll-replay: stdin, line %u: %s\n", n, wrong);
			return -EINVAL;
		}
	}
	if (!nr_buckets)
		fprintf(stderr, "poll-replay: no waits on stdin\n");
	return nr_buckets ? 0 : -EINVAL;
}

static uint64_t draw(struct rng *r, unsigned int *kind)
{
	uint64_t n = rng_below(r, bucket[nr_buckets - 1].below);
	unsigned int low = 0, high = nr_buckets - 1;

	while (low < high) {
		unsigned int middle = (low + high) / 2;

		if (bucket[middle].below > n)
			high = middle;
		else
			low = middle + 1;
	}
	*kind = bucket[low].kind;
	return bucket[low].from + rng_below(r, bucket[low].to - bucket[low].from);
}

/* A queue, which ends waits of kind 0, and the device, which ends those of kind 1 */
struct sources {
	struct event_source source[2];
	struct event_source *polled[2];
	unsigned int nr;
	bool is_polled[2];
};

static void start_polling(struct poll_policy *p, struct sources *s, unsigned int i)
{
	s->is_polled[i] = true;
	s->polled[s->nr++] = &s->source[i];
	if (p->ops->changed)
		p->ops->changed(p, s->polled, s->nr);
}

/* Count what the loop does in a wait of @ns; true when it has to be woken. */
static bool sleeps_in(const struct poll_policy *p, const struct sources *s, uint64_t ns, struct outcome *o)
{
	uint64_t window = s->nr ? p->window_ns : 0, nap = s->nr && window ? p->sleep_ns : 0;

	if (nap) {
		o->naps++;
		if (ns <= nap)
			return true;
		ns -= nap;
	}
	if (window == POLL_FOREVER || ns <= window) {
		o->polled_ns += ns;
		o->covered++;
		return false;
	}
	o->polled_ns += window;
	return true;
}

static struct outcome replay(const struct poll_config *config, uint64_t waits, uint64_t wakeup_ns, uint64_t seed)
{
	struct sources s = { .nr = 0 };
	struct outcome o = { .waits = waits };
	struct poll_policy p;
	struct rng r;

	rng_seed(&r, seed);
	poll_policy_init(&p, config);
	for (unsigned int i = 0; i < 2; i++)
		if (p.ops->at_once && p.ops->at_once(&s.source[i]))
			start_polling(&p, &s, i);
	for (uint64_t n = 0; n < waits; n++) {
		unsigned int kind;
		uint64_t ns = draw(&r, &kind);

		if (p.begins)
			p.ops->begin(&p, kind);
		if (sleeps_in(&p, &s, ns, &o)) {
			o.sleeps++;
			ns += wakeup_ns;
		}
		s.source[kind].ready = true;
		s.source[!kind].ready = false;
		if (!s.is_polled[kind] && p.ops->joins && p.ops->joins(&p, &s.source[kind], 0))
			start_polling(&p, &s, kind);
		if (p.learns)
			p.ops->learn(&p, s.polled, s.nr, ns);
	}
	return o;
}

/* event_source_ops.put_off is asked for by fixed-1024, which polls no thread pool. */
static int find_policy(const char *name)
{
	for (int i = 0; poll_names[i]; i++)
		if (!strcmp(poll_names[i], name))
			return i == POLL_RATE || i == POLL_FIXED_1024 ? -1 : i;
	return -1;
}

/* "adaptive:32768" */
static int play(char *text, uint64_t waits, uint64_t wakeup_ns, uint64_t seed)
{
	char *window = strchr(text, ':');
	struct poll_config config = { 0 };
	struct outcome o;
	int mode;

	if (window)
		*window++ = '\0';
	mode = find_policy(text);
	if (mode < 0 || !window || parse_time_ns(window, &config.max_ns)) {
		fprintf(stderr, "poll-replay: %s: expected POLICY:MAX_NS, a policy other than rate and fixed-1024\n", text);
		return -EINVAL;
	}
	config.mode = (enum poll_mode)mode;
	o = replay(&config, waits, wakeup_ns, seed);
	printf("%s %" PRIu64 " %.6f %.6f %.6f %.1f\n", text, config.max_ns, (double)o.covered / o.waits,
	       (double)o.naps / o.waits, (double)o.sleeps / o.waits, (double)o.polled_ns / o.waits);
	return 0;
}

static const char help[] =
	"usage: poll-replay [--waits 100000] [--wakeup TIME] [--seed N] POLICY:MAX_NS... <WAITS\n"
	"Print, for each policy, its window, the shares of waits that it covers, that begin with a nap and that end with a wake-up, and the ns it polls a wait.\n"
	"WAITS has lines of KIND FROM TO COUNT: 0 or 1 for requests in flight, ns, ns, waits.";

int main(int argc, char **argv)
{
	static const struct option options[] = {
		{ "waits", required_argument, NULL, 'n' },
		{ "wakeup", required_argument, NULL, 'w' },
		{ "seed", required_argument, NULL, 's' },
		{ "help", no_argument, NULL, 'h' },
		{ 0 },
	};
	uint64_t waits = 100000, wakeup_ns = 0, seed = 1;
	int opt, bad = 0;

	while (!bad && (opt = getopt_long(argc, argv, "", options, NULL)) != -1) {
		switch (opt) {
		case 'n':
			bad = parse_u64(optarg, &waits) || !waits || waits > 100000000;
			break;
		case 'w':
			bad = parse_time_ns(optarg, &wakeup_ns);
			break;
		case 's':
			bad = parse_u64(optarg, &seed);
			break;
		case 'h':
			puts(help);
			return EXIT_SUCCESS;
		default:
			bad = 1;
		}
	}
	if (bad || optind == argc) {
		fprintf(stderr, "poll-replay: expected [--waits 1 to 100000000] [--wakeup TIME] [--seed N] POLICY:MAX_NS...\n");
		return EXIT_FAILURE;
	}
	if (read_waits())
		return EXIT_FAILURE;
	for (int i = optind; i < argc; i++)
		if (play(argv[i], waits, wakeup_ns, seed))
			return EXIT_FAILURE;
	return EXIT_SUCCESS;
}
