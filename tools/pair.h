/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What the tools share that send something to and fro between two CPUs: their command
 * line, two threads that stay where they are, and time in slices.
 */
#ifndef TOOLS_PAIR_H
#define TOOLS_PAIR_H

#include <errno.h>
#include <getopt.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/cpu.h"
#include "base/parse.h"

#define SLICES		15
#define EXIT_SKIP	77	/* what test runners take as "cannot be done here" */

/* The options of all, in a tool's table before its own */
#define PAIR_OPTIONS \
	{ "cpus", required_argument, NULL, 'c' }, \
	{ "ms", required_argument, NULL, 'm' }, \
	{ "help", no_argument, NULL, 'h' }

/**
 * struct pair_tool - a tool
 * @name: what it is called in messages
 * @help: what --help prints
 * @options: PAIR_OPTIONS and its own, for getopt_long()
 * @names: its options, for who gave another
 * @ms: how long it plays by default
 * @set: takes an option of its own; NULL, or what that accepts
 * @answer: the second CPU's thread, until @stop
 * @play: plays for so many ns on the first CPU; ns a round trip
 */
struct pair_tool {
	const char *name;
	const char *help;
	const struct option *options;
	const char *names;
	uint64_t ms;
	const char *(*set)(int option, const char *arg);
	void *(*answer)(void *unused);
	double (*play)(uint64_t ns);
	atomic_bool *stop;
};

/* struct pair - The CPUs, the first being where the clock is, and what was measured */
struct pair {
	int cpus[2];
	double slice[SLICES];	/* ns a round trip, in ascending order */
};

static inline int pair_usage(const struct pair_tool *tool, const char *option, const char *accepts)
{
	fprintf(stderr, "%s: %s: %s\n", tool->name, option, accepts);
	return EXIT_FAILURE;
}

static inline bool pair_cpus(const char *s, int cpus[2])
{
	int end = 0;

	return sscanf(s, "%4d,%4d%n", &cpus[0], &cpus[1], &end) == 2 && !s[end] &&
	       cpus[0] >= 0 && cpus[1] >= 0 && cpus[0] != cpus[1] &&
	       cpus[0] < CPU_SETSIZE && cpus[1] < CPU_SETSIZE;
}

static inline int pair_pin(pthread_t thread, int cpu)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(cpu, &set);
	return -pthread_setaffinity_np(thread, sizeof(set), &set);
}

static inline int pair_by_value(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

/* Returns 0, or -errno if a thread could not be made or put on its CPU. */
static inline int pair_measure(const struct pair_tool *tool, struct pair *pair, uint64_t ms)
{
	uint64_t ns = ms * 1000000 / (SLICES + 1);
	pthread_t other;
	int ret;

	ret = -pthread_create(&other, NULL, tool->answer, NULL);
	if (ret)
		return ret;
	ret = pair_pin(pthread_self(), pair->cpus[0]) ? : pair_pin(other, pair->cpus[1]);
	if (!ret) {
		/* The first slice is thrown away: the other thread has yet to arrive. */
		tool->play(ns);
		for (int i = 0; i < SLICES; i++)
			pair->slice[i] = tool->play(ns);
		qsort(pair->slice, SLICES, sizeof(*pair->slice), pair_by_value);
	}
	atomic_store(tool->stop, true);
	pthread_join(other, NULL);
	return ret;
}

/**
 * pair_main - read the command line and measure
 * @tool: which
 * @pair: the result
 *
 * Return: -1 when @pair is there to be printed; else the exit status, all being said.
 */
static inline int pair_main(const struct pair_tool *tool, struct pair *pair, int argc, char **argv)
{
	uint64_t ms = tool->ms;
	const char *accepts;
	int opt, at, ret;

	pair->cpus[0] = -1;
	opterr = 0;
	while ((opt = getopt_long(argc, argv, "", tool->options, &at)) != -1) {
		switch (opt) {
		case 'c':
			if (!pair_cpus(optarg, pair->cpus))
				return pair_usage(tool, "--cpus", "takes two different CPUs, A,B");
			break;
		case 'm':
			if (parse_u64(optarg, &ms) < 0 || ms < 1 || ms > 10000)
				return pair_usage(tool, "--ms", "takes 1 to 10000 milliseconds");
			break;
		case 'h':
			puts(tool->help);
			return EXIT_SUCCESS;
		case '?':
			return pair_usage(tool, argv[optind - 1], tool->names);
		default:
			accepts = tool->set(opt, optarg);
			if (!accepts)
				break;
			fprintf(stderr, "%s: --%s: %s\n", tool->name, tool->options[at].name, accepts);
			return EXIT_FAILURE;
		}
	}
	if (optind < argc)
		return pair_usage(tool, argv[optind], tool->names);
	if (pair->cpus[0] < 0)
		return pair_usage(tool, "--cpus", "is needed, two different CPUs, A,B");

	ret = pair_measure(tool, pair, ms);
	if (!ret)
		return -1;
	fprintf(stderr, "%s: cannot run on CPUs %d and %d: %s\n", tool->name, pair->cpus[0],
		pair->cpus[1], strerror(-ret));
	return EXIT_SKIP;
}

#endif
