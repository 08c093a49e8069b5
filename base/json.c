/* SPDX-License-Identifier: GPL-2.0-only */
/* A small JSON writer onto a stream */

#include <assert.h>
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>

#include "base/hist.h"
#include "base/json.h"

void json_init(struct json *w, FILE *f)
{
	*w = (struct json){ .f = f };
}

int json_finish(struct json *w)
{
	assert(w->depth == 0 && w->level[0].filled);

	errno = 0;
	fputc('\n', w->f);
	if (fflush(w->f) || ferror(w->f))
		return errno ? -errno : -EIO;
	return 0;
}

static void new_line(struct json *w)
{
	fprintf(w->f, "\n%*s", (int)w->depth * 2, "");
}

/*
 * Bytes of the UTF-8 sequence at @s, 0 if it is none: overlong forms,
 * surrogates and anything past U+10FFFF are refused.
 */
static unsigned int utf8_len(const unsigned char *s)
{
	unsigned int len;

	if (s[0] < 0x80)
		return 1;
	if (s[0] < 0xc2 || s[0] > 0xf4)
		return 0;
	len = s[0] < 0xe0 ? 2 : s[0] < 0xf0 ? 3 : 4;

	/* The terminating zero is no continuation, so this stops at the end */
	for (unsigned int i = 1; i < len; i++) {
		if ((s[i] & 0xc0) != 0x80)
			return 0;
	}

	if ((s[0] == 0xe0 && s[1] < 0xa0) || (s[0] == 0xed && s[1] > 0x9f) ||
	    (s[0] == 0xf0 && s[1] < 0x90) || (s[0] == 0xf4 && s[1] > 0x8f))
		return 0;
	return len;
}

static void write_string(FILE *f, const char *string)
{
	const unsigned char *s = (const unsigned char *)string;

	fputc('"', f);
	while (*s) {
		unsigned int len = utf8_len(s);

		if (!len) {
			fputs("\\ufffd", f);
			len = 1;
		} else if (*s == '"' || *s == '\\') {
			fprintf(f, "\\%c", *s);
		} else if (*s == '\n') {
			fputs("\\n", f);
		} else if (*s == '\t') {
			fputs("\\t", f);
		} else if (*s < 0x20) {
			fprintf(f, "\\u%04x", *s);
		} else {
			fwrite(s, 1, len, f);
		}
		s += len;
	}
	fputc('"', f);
}

/* What precedes every value: comma, line, and the name inside an object */
static void begin_value(struct json *w, const char *key)
{
	if (w->depth == 0) {
		assert(!w->level[0].filled && !key);
		w->level[0].filled = true;
		return;
	}

	assert(w->level[w->depth].array == !key);
	if (w->level[w->depth].filled)
		fputc(',', w->f);
	w->level[w->depth].filled = true;

	new_line(w);
	if (key) {
		write_string(w->f, key);
		fputs(": ", w->f);
	}
}

static void json_open(struct json *w, const char *key, bool array)
{
	begin_value(w, key);
	fputc(array ? '[' : '{', w->f);

	assert(w->depth < JSON_DEPTH);
	w->depth++;
	w->level[w->depth].array = array;
	w->level[w->depth].filled = false;
}

static void json_close(struct json *w, bool array)
{
	bool filled = w->level[w->depth].filled;

	assert(w->depth > 0 && w->level[w->depth].array == array);
	w->depth--;
	if (filled)
		new_line(w);
	fputc(array ? ']' : '}', w->f);
}

void json_open_object(struct json *w, const char *key)
{
	json_open(w, key, false);
}

void json_close_object(struct json *w)
{
	json_close(w, false);
}

void json_open_array(struct json *w, const char *key)
{
	json_open(w, key, true);
}

void json_close_array(struct json *w)
{
	json_close(w, true);
}

void json_u64(struct json *w, const char *key, uint64_t v)
{
	begin_value(w, key);
	fprintf(w->f, "%" PRIu64, v);
}

void json_i64(struct json *w, const char *key, int64_t v)
{
	begin_value(w, key);
	fprintf(w->f, "%" PRId64, v);
}

void json_bool(struct json *w, const char *key, bool v)
{
	begin_value(w, key);
	fputs(v ? "true" : "false", w->f);
}

void json_double(struct json *w, const char *key, double v)
{
	char buf[40];

	begin_value(w, key);
	if (!isfinite(v)) {
		fputs("null", w->f);
		return;
	}

	/* 15 digits are enough for most, 17 for all */
	snprintf(buf, sizeof(buf), "%.15g", v);
	if (strtod(buf, NULL) != v)
		snprintf(buf, sizeof(buf), "%.17g", v);
	fputs(buf, w->f);
}

void json_str(struct json *w, const char *key, const char *s)
{
	begin_value(w, key);
	if (s)
		write_string(w->f, s);
	else
		fputs("null", w->f);
}

void json_hist(struct json *w, const char *key, const struct hist *h)
{
	json_open_array(w, key);
	for (unsigned int i = 0; i < HIST_BUCKETS; i++) {
		uint64_t count = hist_count(h, i);

		if (!count)
			continue;
		/* A pair stays on one line */
		begin_value(w, NULL);
		fprintf(w->f, "[%" PRIu64 ", %" PRIu64 "]", hist_lo(i), count);
	}
	json_close_array(w);
}
