/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef BASE_CPU_PAIR_H
#define BASE_CPU_PAIR_H

#include <pthread.h>
#include <stdbool.h>

bool cpu_pair_parse(const char *s, int cpus[2]);
int cpu_pair_enter(const int cpus[2], pthread_t *other, void *(*fn)(void *), void *arg);

#endif
