/* SPDX-License-Identifier: GPL-2.0-only */
/* Command lines of the targets: parsing, checking, and writing options back */

#include <assert.h>
#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <string.h>

#include "base/json.h"
#include "base/parse.h"
#include "targets/options.h"

/* A range in words, or a value of any but OPT_STR: the longest is a CPU list */
#define TEXT_MAX	4096

int options_error(const char *argv0, const char *option, const char *fmt, ...)
{
	const char *name = argv0 ? argv0 : program_invocation_name;
	const char *slash = strrchr(name, '/');
	char text[TEXT_MAX];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);

	fprintf(stderr, "%s: %s%s%s%s\n", slash ? slash + 1 : name,
		option ? "--" : "", option ? option : "", option ? ": " : "",
		text);
	return -EINVAL;
}

static bool takes_value(const struct option_desc *o)
{
	return o->type != OPT_FLAG && o->type != OPT_ACTION;
}

static void *member(const struct option_desc *o, void *dest)
{
	return (char *)dest + o->offset;
}

static const void *value_of(const struct option_desc *o, const void *values)
{
	return (const char *)values + o->offset;
}

static uint64_t max_of(const struct option_desc *o)
{
	if (o->max)
		return o->max;
	return o->type == OPT_U32 ? UINT32_MAX : UINT64_MAX;
}

/* A number the way people write it: with the largest unit that leaves it whole */
static void format_round(const struct option_desc *o, uint64_t v, char *buf,
			 size_t len)
{
	static const char *const sizes[] = { "", "K", "M", "G", "T", "P", "E" };
	static const char *const times[] = { "ns", "us", "ms", "s" };
	unsigned int i = 0;

	if (o->type == OPT_SIZE) {
		for (; v && v % 1024 == 0 && i < 6; i++)
			v /= 1024;
		snprintf(buf, len, "%" PRIu64 "%s", v, sizes[i]);
	} else if (o->type == OPT_TIME) {
		for (; v && v % 1000 == 0 && i < 3; i++)
			v /= 1000;
		snprintf(buf, len, "%" PRIu64 "%s", v, v ? times[i] : "");
	} else {
		snprintf(buf, len, "%" PRIu64, v);
	}
}

static void format_range(const struct option_desc *o, char *buf, size_t len)
{
	char min[32], max[32];

	format_round(o, o->min, min, sizeof(min));
	format_round(o, max_of(o), max, sizeof(max));
	snprintf(buf, len, "%s%s to %s", o->pow2 ? "a power of two, " : "",
		 min, max);
}

static void format_names(const struct option_desc *o, char *buf, size_t len)
{
	size_t at = 0;

	for (unsigned int i = 0; o->names[i] && at < len; i++)
		at += (size_t)snprintf(buf + at, len - at, "%s%s",
				       i ? ", " : "", o->names[i]);
}

static int report_value(const char *argv0, const struct option_desc *o,
			const char *s, int error)
{
	char text[TEXT_MAX] = "";

	switch (o->type) {
	case OPT_STR:
		return options_error(argv0, o->name, "the %s is empty", o->arg);
	case OPT_ENUM:
		format_names(o, text, sizeof(text));
		return options_error(argv0, o->name, "'%s' is not one of %s", s,
				     text);
	case OPT_CPUS:
		return options_error(argv0, o->name,
				     "'%s' is not a list of CPUs (such as 0,2-3)",
				     s);
	case OPT_CUSTOM:
		return options_error(argv0, o->name, "'%s' is not %s", s,
				     o->accepts);
	case OPT_DOUBLE:
		return options_error(argv0, o->name,
				     "'%s' is not a number from 0 up", s);
	default:
		break;
	}

	if (error == -ERANGE) {
		format_range(o, text, sizeof(text));
		return options_error(argv0, o->name,
				     "'%s' is out of range (%s)", s, text);
	}
	if (o->type == OPT_SIZE)
		return options_error(argv0, o->name,
			"'%s' is not a size (a number with K, M, G or T)", s);
	if (o->type == OPT_TIME)
		return options_error(argv0, o->name,
			"'%s' is not a time (a number with ns, us, ms or s)", s);

	format_range(o, text, sizeof(text));
	return options_error(argv0, o->name, "'%s' is not a number (%s)", s,
			     text);
}

static int parse_number(const struct option_desc *o, const char *s,
			uint64_t *value)
{
	uint64_t v = 0;
	int ret;

	if (o->type == OPT_SIZE)
		ret = parse_size(s, &v);
	else if (o->type == OPT_TIME)
		ret = parse_time_ns(s, &v);
	else
		ret = parse_u64(s, &v);
	if (ret)
		return ret;

	if (v < o->min || v > max_of(o) || (o->pow2 && (v & (v - 1))))
		return -ERANGE;
	*value = v;
	return 0;
}

static int parse_enum(const struct option_desc *o, const char *s,
		      unsigned int *value)
{
	for (unsigned int i = 0; o->names[i]; i++) {
		if (!strcmp(o->names[i], s)) {
			*value = i;
			return 0;
		}
	}
	return -EINVAL;
}

static int parse_positive(const char *s, double *value)
{
	double v;
	int ret = parse_double(s, &v);

	if (ret)
		return ret;
	if (v < 0)
		return -ERANGE;
	*value = v;
	return 0;
}

/* Returns 0 or negative errno, and leaves the member alone on failure */
static int set_value(const struct option_desc *o, void *dest, const char *s)
{
	void *value = member(o, dest);
	uint64_t number;
	int ret;

	switch (o->type) {
	case OPT_STR:
		if (!*s)
			return -EINVAL;
		*(const char **)value = s;
		return 0;
	case OPT_SIZE:
	case OPT_TIME:
		return parse_number(o, s, value);
	case OPT_U32:
		ret = parse_number(o, s, &number);
		if (!ret)
			*(uint32_t *)value = (uint32_t)number;
		return ret;
	case OPT_DOUBLE:
		return parse_positive(s, value);
	case OPT_ENUM:
		return parse_enum(o, s, value);
	case OPT_CPUS:
		return parse_cpu_list(s, value);
	case OPT_CUSTOM:
		return o->parse(s, value);
	default:
		assert(!takes_value(o));
		return -EINVAL;
	}
}

static void set_defaults(const struct option_desc *table, void *dest)
{
	for (const struct option_desc *o = table; o->type != OPT_END; o++) {
		int ret = o->def ? set_value(o, dest, o->def) : 0;

		/* A default the option itself refuses is a bug in the table */
		assert(!ret);
		(void)ret;
	}
}

static const struct option_desc *find(const struct option_desc *table,
				      const char *name, size_t len)
{
	for (const struct option_desc *o = table; o->type != OPT_END; o++) {
		if (o->name && strlen(o->name) == len &&
		    !memcmp(o->name, name, len))
			return o;
	}
	return NULL;
}

/* Reads the option at argv[*at] and moves *at to its last word */
static int parse_one(const struct option_desc *table, void *dest,
		     char **argv, int *at)
{
	const char *word = argv[*at], *name = word + 2, *s;
	size_t len = strcspn(name, "=");
	const struct option_desc *o = find(table, name, len);
	int ret;

	if (!o)
		return options_error(argv[0], NULL,
				     "%.*s: no such option, --help lists them",
				     (int)len + 2, word);

	s = name[len] ? name + len + 1 : NULL;
	if (!takes_value(o)) {
		if (s)
			return options_error(argv[0], o->name,
					     "takes no value");
		*(bool *)member(o, dest) = true;
		return 0;
	}

	if (!s) {
		s = argv[*at + 1];
		/* The next option is hardly meant as a value, but =--x would be */
		if (!s || !strncmp(s, "--", 2))
			return options_error(argv[0], o->name, "needs a value");
		(*at)++;
	}
	if (o->once && *(const char **)member(o, dest))
		return options_error(argv[0], o->name, "may be given only once");

	ret = set_value(o, dest, s);
	return ret ? report_value(argv[0], o, s, ret) : 0;
}

int options_parse(const struct option_desc *table, void *dest, int argc,
		  char **argv)
{
	set_defaults(table, dest);

	for (int i = 1; i < argc; i++) {
		int ret;

		if (strncmp(argv[i], "--", 2) || !argv[i][2])
			return options_error(argv[0], NULL,
				"'%s': not an option, --help lists them",
				argv[i]);
		ret = parse_one(table, dest, argv, &i);
		if (ret)
			return ret;
	}
	return 0;
}

/* The value as the program would read it again, or NULL for one never set */
static const char *format_value(const struct option_desc *o, const void *value,
				char *buf, size_t len)
{
	switch (o->type) {
	case OPT_STR:
		return *(const char *const *)value;
	case OPT_SIZE:
	case OPT_TIME:
		/* Below what it accepts: never set */
		if (!o->def && *(const uint64_t *)value < o->min)
			return NULL;
		snprintf(buf, len, "%" PRIu64, *(const uint64_t *)value);
		return buf;
	case OPT_U32:
		snprintf(buf, len, "%" PRIu32, *(const uint32_t *)value);
		return buf;
	case OPT_DOUBLE:
		snprintf(buf, len, "%.15g", *(const double *)value);
		return buf;
	case OPT_ENUM:
		return o->names[*(const unsigned int *)value];
	case OPT_CPUS:
		format_cpu_list(value, buf, len);
		return *buf ? buf : NULL;
	case OPT_CUSTOM:
		o->format(value, buf, len);
		return *buf ? buf : NULL;
	default:
		return NULL;
	}
}

void options_json(struct json *w, const struct option_desc *table,
		  const void *values)
{
	char buf[TEXT_MAX];

	for (const struct option_desc *o = table; o->type != OPT_END; o++) {
		const void *value = value_of(o, values);
		const char *text;

		if (o->type == OPT_FLAG) {
			json_bool(w, o->name, *(const bool *)value);
			continue;
		}
		text = format_value(o, value, buf, sizeof(buf));
		if (text)
			json_str(w, o->name, text);
	}
}
