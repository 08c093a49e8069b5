/* SPDX-License-Identifier: GPL-2.0-only */
#include <sched.h>
#include <stdio.h>
#include "base/cpu-pair.h"

/**
 * cpu_pair_parse - read two CPUs
 * @s: "A,B"
 * @cpus: set to them, in that order
 *
 * Return: whether they are two, and different.
 */
bool cpu_pair_parse(const char *s, int cpus[2])
{
	int end = 0;

	return sscanf(s, "%4d,%4d%n", &cpus[0], &cpus[1], &end) == 2 && !s[end] &&
	       cpus[0] >= 0 && cpus[1] >= 0 && cpus[0] != cpus[1] &&
	       cpus[0] < CPU_SETSIZE && cpus[1] < CPU_SETSIZE;
}

static cpu_set_t only(int cpu)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(cpu, &set);
	return set;
}

/**
 * cpu_pair_enter - put the calling thread on one CPU and a new one on the other
 * @cpus: the CPUs: the caller's first
 * @other: set to the new thread
 * @fn: what it runs; it is on its CPU from the start
 * @arg: argument of @fn
 *
 * Return: 0 or a negative errno.
 */
int cpu_pair_enter(const int cpus[2], pthread_t *other, void *(*fn)(void *), void *arg)
{
	cpu_set_t here = only(cpus[0]), there = only(cpus[1]);
	pthread_attr_t attr;
	int ret;

	ret = pthread_setaffinity_np(pthread_self(), sizeof(here), &here);
	if (ret)
		return -ret;
	ret = pthread_attr_init(&attr);
	if (ret)
		return -ret;
	ret = pthread_attr_setaffinity_np(&attr, sizeof(there), &there);
	if (!ret)
		ret = pthread_create(other, &attr, fn, arg);
	pthread_attr_destroy(&attr);
	return -ret;
}
