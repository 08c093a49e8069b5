/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * rtt: how far apart two CPUs are, as the time a cache line takes to go from one
 * to the other and back. A polled pair cannot be faster than this.
 */

#include "tools/pair.h"

#define RALLY		64

/* Odd: sent by the first CPU and not yet answered. Even: answered. */
static struct {
	_Alignas(2 * CACHE_LINE) _Atomic uint64_t turn;
	_Alignas(2 * CACHE_LINE) atomic_bool stop;
} ball;

/* return_ball() - The second CPU: answer each odd turn with the next even one */
static void *return_ball(void *arg)
{
	uint64_t turn;

	(void)arg;
	while (!atomic_load_explicit(&ball.stop, memory_order_relaxed)) {
		turn = atomic_load_explicit(&ball.turn, memory_order_acquire);
		if (turn & 1)
			atomic_store_explicit(&ball.turn, turn + 1, memory_order_release);
		else
			cpu_relax();
	}
	return NULL;
}

/*
 * play() - Send the ball back and forth for a while
 * @ns:		How long
 *
 * Return: ns a round trip, in the quickest rally: one in which a thread lost its
 * CPU to somebody else says nothing about distance, and takes a thousand times as long.
 */
static double play(uint64_t ns)
{
	uint64_t start = clock_ns(), now = start, before, best = UINT64_MAX;
	uint64_t turn = atomic_load(&ball.turn);

	while (now - start < ns) {
		/* The clock costs a good part of a round trip: read it seldom. */
		for (int i = 0; i < RALLY; i++) {
			atomic_store_explicit(&ball.turn, ++turn, memory_order_release);
			turn++;
			while (atomic_load_explicit(&ball.turn, memory_order_acquire) != turn)
				cpu_relax();
		}
		before = now;
		now = clock_ns();
		if (now - before < best)
			best = now - before;
	}
	return (double)best / RALLY;
}

static bool json;

static const char *set(int option, const char *arg)
{
	(void)option;
	(void)arg;
	json = true;
	return NULL;
}

int main(int argc, char **argv)
{
	static const struct option options[] = {
		PAIR_OPTIONS,
		{ "json", no_argument, NULL, 'j' },
		{ 0 },
	};
	static const struct pair_tool tool = {
		.name = "rtt",
		.help = "usage: rtt --cpus A,B [--ms 50] [--json]\n"
			"Print the time a cache line takes from CPU A to CPU B and back.",
		.options = options,
		.names = "options are --cpus A,B, --ms N and --json",
		.ms = 50,
		.set = set,
		.answer = return_ball,
		.play = play,
		.stop = &ball.stop,
	};
	struct pair p;
	int ret = pair_main(&tool, &p, argc, argv);

	if (ret >= 0)
		return ret;
	/* The lower quartile: on a busy host most slices never had both threads on their CPUs. */
	printf(json ? "{\"cpus\":[%d,%d],\"rtt_ns\":%.1f,\"min_ns\":%.1f,\"max_ns\":%.1f}\n"
		    : "CPUs %d and %d: %.1f ns a round trip (%.1f to %.1f)\n",
	       p.cpus[0], p.cpus[1], p.slice[SLICES / 4], p.slice[0], p.slice[SLICES - 1]);
	return EXIT_SUCCESS;
}
