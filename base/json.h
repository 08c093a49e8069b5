/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A small JSON writer onto a stream: it keeps track of nesting, commas and
 * indentation. Everywhere, @key is the member's name inside an object and must
 * be NULL inside an array and at the top.
 */
#ifndef BASE_JSON_H
#define BASE_JSON_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "base/counter.h"

/* How deep objects and arrays may nest; going beyond is a bug and asserted */
#define JSON_DEPTH	16

struct hist;

/* struct json - State of one document being written */
struct json {
	FILE *f;
	unsigned int depth;
	struct {
		bool array;
		bool filled;
	} level[JSON_DEPTH + 1];
};

/**
 * json_init() - Start a document
 * @w:	Writer
 * @f:	Stream to write to, stays the caller's
 */
void json_init(struct json *w, FILE *f);

/**
 * json_finish() - End a document: newline and flush
 * @w:	Writer, with everything closed
 *
 * Return: 0, or -EIO when anything failed to be written (-ENOSPC if known)
 */
int json_finish(struct json *w);

void json_open_object(struct json *w, const char *key);
void json_close_object(struct json *w);
void json_open_array(struct json *w, const char *key);
void json_close_array(struct json *w);

void json_u64(struct json *w, const char *key, uint64_t v);
void json_i64(struct json *w, const char *key, int64_t v);
void json_bool(struct json *w, const char *key, bool v);

/**
 * json_double() - Write a number with as many digits as it takes to read it back
 * @w:		Writer
 * @key:	Name, or NULL
 * @v:		Value; infinity and NaN, which JSON lacks, become null
 */
void json_double(struct json *w, const char *key, double v);

/**
 * json_str() - Write a string, escaped
 * @w:		Writer
 * @key:	Name, or NULL
 * @s:		String, or NULL for null; bytes that are no UTF-8 (a file name
 *		may hold anything) become U+FFFD
 */
void json_str(struct json *w, const char *key, const char *s);

/**
 * json_hist() - Write a histogram's filled buckets as [[lowest value, count], ...]
 * @w:		Writer
 * @key:	Name, or NULL
 * @h:		Histogram, may be counting meanwhile
 */
void json_hist(struct json *w, const char *key, const struct hist *h);

/* The same for a counter, which may be counting meanwhile */
static inline void json_counter(struct json *w, const char *key, const counter_t *c)
{
	json_u64(w, key, counter_get(c));
}

#endif /* BASE_JSON_H */
