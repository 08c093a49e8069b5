/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * rtt: how far apart two CPUs are, as the time a cache line takes to go from one
 * to the other and back. A polled pair cannot be faster than this.
 */

#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/cpu-pair.h"
#include "base/cpu.h"
#include "base/parse.h"

#define SLICES		15
#define RALLY		64
#define EXIT_SKIP	77	/* what test runners take as "cannot be done here" */

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

static int by_value(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

/*
 * measure() - Round trips between two CPUs
 * @cpus:	The CPUs
 * @ms:		Time to spend, in ms
 * @slice:	Result, ns a round trip in each slice, in ascending order
 *
 * Return: 0, or -errno if a thread could not be made or put on its CPU
 */
static int measure(int cpus[2], uint64_t ms, double slice[SLICES])
{
	uint64_t ns = ms * 1000000 / (SLICES + 1);
	pthread_t other;
	int ret = cpu_pair_enter(cpus, &other, return_ball, NULL);

	if (ret < 0)
		return ret;

	/* The first slice is thrown away: the other thread has yet to arrive. */
	for (int i = -1; i < SLICES; i++) {
		double rtt = play(ns);

		if (i >= 0)
			slice[i] = rtt;
	}
	atomic_store(&ball.stop, true);
	pthread_join(other, NULL);
	qsort(slice, SLICES, sizeof(*slice), by_value);
	return 0;
}

static int usage(const char *option, const char *accepts)
{
	fprintf(stderr, "rtt: %s: %s\n", option, accepts);
	return EXIT_FAILURE;
}

int main(int argc, char **argv)
{
	static const struct option options[] = {
		{ "cpus", required_argument, NULL, 'c' },
		{ "ms", required_argument, NULL, 'm' },
		{ "json", no_argument, NULL, 'j' },
		{ "help", no_argument, NULL, 'h' },
		{ 0 },
	};
	double slice[SLICES];
	int cpus[2] = { -1, -1 };
	bool json = false;
	uint64_t ms = 50;
	cpu_set_t usable;
	int opt, ret;

	opterr = 0;
	while ((opt = getopt_long(argc, argv, "", options, NULL)) != -1) {
		switch (opt) {
		case 'c':
			if (!cpu_pair_parse(optarg, cpus))
				return usage("--cpus", "takes two different CPUs, A,B");
			break;
		case 'm':
			if (parse_u64(optarg, &ms) < 0 || ms < 1 || ms > 10000)
				return usage("--ms", "takes 1 to 10000 milliseconds");
			break;
		case 'j':
			json = true;
			break;
		case 'h':
			puts("usage: rtt --cpus A,B [--ms 50] [--json]\n"
			     "Print the time a cache line takes from CPU A to CPU B and back.");
			return EXIT_SUCCESS;
		default:
			return usage(argv[optind - 1], "options are --cpus A,B, --ms N and --json");
		}
	}
	if (optind < argc)
		return usage(argv[optind], "options are --cpus A,B, --ms N and --json");
	if (cpus[0] < 0)
		return usage("--cpus", "is needed, two different CPUs, A,B");

	if (sched_getaffinity(0, sizeof(usable), &usable) == 0 && CPU_COUNT(&usable) < 2) {
		fprintf(stderr, "rtt: this process may use only one CPU\n");
		return EXIT_SKIP;
	}
	ret = measure(cpus, ms, slice);
	if (ret < 0) {
		fprintf(stderr, "rtt: cannot run on CPUs %d and %d: %s\n", cpus[0], cpus[1],
			strerror(-ret));
		return EXIT_SKIP;
	}

	/* The lower quartile: on a busy host most slices never had both threads on their CPUs. */
	printf(json ? "{\"cpus\":[%d,%d],\"rtt_ns\":%.1f,\"min_ns\":%.1f,\"max_ns\":%.1f}\n"
		    : "CPUs %d and %d: %.1f ns a round trip (%.1f to %.1f)\n",
	       cpus[0], cpus[1], slice[SLICES / 4], slice[0], slice[SLICES - 1]);
	return EXIT_SUCCESS;
}
