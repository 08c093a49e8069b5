/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Numbers as people write them: sizes, times, CPU lists. Every function wants
 * the whole string to be the number, touches the result only on success, and
 * returns -EINVAL for text that is no such number, -ERANGE for one too large.
 */
#ifndef BASE_PARSE_H
#define BASE_PARSE_H

#include <sched.h>
#include <stdint.h>

/**
 * parse_u64() - Read a plain decimal number
 * @s:		Text, digits only
 * @value:	Result
 *
 * Return: 0, -EINVAL or -ERANGE
 */
int parse_u64(const char *s, uint64_t *value);

/**
 * parse_double() - Read a finite decimal number, with or without an exponent
 * @s:		Text
 * @value:	Result
 *
 * Return: 0, -EINVAL (infinity, NaN and hexadecimal included) or -ERANGE
 */
int parse_double(const char *s, double *value);

/**
 * parse_size() - Read a size: digits, then K, M, G or T, then B or iB
 * @s:		Text; letters in either case, factors of 1024
 * @bytes:	Result in bytes
 *
 * Return: 0, -EINVAL or -ERANGE
 */
int parse_size(const char *s, uint64_t *bytes);

/**
 * parse_time_ns() - Read a time: a number with ns, us, ms or s
 * @s:		Text; a number without a unit is nanoseconds, decimals are
 *		taken as long as they come to whole nanoseconds ("1.5us")
 * @ns:		Result in nanoseconds
 *
 * Return: 0, -EINVAL or -ERANGE
 */
int parse_time_ns(const char *s, uint64_t *ns);

/**
 * parse_cpu_list() - Read a list of CPUs such as "0,2-3"
 * @s:		Text, numbers and ascending ranges
 * @set:	Result, never empty
 *
 * Return: 0, -EINVAL, or -ERANGE for a CPU number a cpu_set_t cannot hold
 */
int parse_cpu_list(const char *s, cpu_set_t *set);

/**
 * format_cpu_list() - Write a set of CPUs the way parse_cpu_list() reads it
 * @set:	CPUs; an empty set gives an empty string
 * @buf:	Result, cut at @len
 * @len:	Size of @buf in bytes
 */
void format_cpu_list(const cpu_set_t *set, char *buf, size_t len);

#endif /* BASE_PARSE_H */
