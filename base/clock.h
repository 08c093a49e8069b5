/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef BASE_CLOCK_H
#define BASE_CLOCK_H

#include <stdint.h>
#include <sys/time.h>
#include <time.h>
#include "base/cpu.h"

/**
 * clock_ns - read CLOCK_MONOTONIC
 *
 * One clock serves polling windows, due times and timerfds, so that they can be
 * compared; the vDSO makes it about 20 ns where the clock source is the TSC.
 *
 * Return: nanoseconds since an arbitrary start.
 */
static inline uint64_t clock_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
}

/**
 * clock_coarse_ns - read CLOCK_MONOTONIC as of the kernel's last tick
 *
 * For what is counted in seconds: a few ms late at most, and a third of the price.
 *
 * Return: as clock_ns().
 */
static inline uint64_t clock_coarse_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC_COARSE, &ts);
	return (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
}

/**
 * clock_burn - occupy the CPU
 * @ns: for how long
 */
static inline void clock_burn(uint64_t ns)
{
	uint64_t until = clock_ns() + ns;

	while (clock_ns() < until)
		cpu_relax();
}

/**
 * timeval_ns - what getrusage() tells, in the unit of everything else
 * @tv: a time
 *
 * Return: nanoseconds.
 */
static inline uint64_t timeval_ns(const struct timeval *tv)
{
	return tv->tv_sec * 1000000000ull + tv->tv_usec * 1000ull;
}

/**
 * ns_timespec - a time in the form that system calls take
 * @ns: nanoseconds
 *
 * Return: the same in seconds and nanoseconds.
 */
static inline struct timespec ns_timespec(uint64_t ns)
{
	return (struct timespec) { .tv_sec = ns / 1000000000, .tv_nsec = ns % 1000000000 };
}

#endif
