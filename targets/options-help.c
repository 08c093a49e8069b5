/* SPDX-License-Identifier: GPL-2.0-only */
/* What a table of options says: --help to people, --describe to scripts/manual */

#include <ctype.h>
#include <string.h>

#include "base/json.h"
#include "targets/options.h"

#define WIDTH		80
#define HELP_COLUMN	25

/* What stands for the value: its name, or the choices themselves */
static void format_arg(const struct option_desc *o, char *buf, size_t len)
{
	size_t at = 0;

	buf[0] = '\0';
	if (o->arg) {
		snprintf(buf, len, " %s", o->arg);
	} else if (o->type == OPT_ENUM) {
		for (unsigned int i = 0; o->names[i] && at < len; i++)
			at += (size_t)snprintf(buf + at, len - at, "%c%s",
					       i ? '|' : ' ', o->names[i]);
	}
}

static void format_help(const struct option_desc *o, char *buf, size_t len)
{
	if (o->def)
		snprintf(buf, len, "%s (default %s)", o->help, o->def);
	else
		snprintf(buf, len, "%s", o->help);
}

/* Prints words in lines that start at column @indent, the first being at @at already */
static void print_wrapped(FILE *f, const char *text, size_t at, size_t indent)
{
	fprintf(f, "%*s", (int)(indent - at), "");
	at = indent;
	while (*text) {
		size_t len = strcspn(text, " ");

		if (at > indent && at + 1 + len > WIDTH) {
			fprintf(f, "\n%*s", (int)indent, "");
			at = indent;
		}
		at += (size_t)fprintf(f, "%s%.*s", at > indent ? " " : "",
				      (int)len, text);
		text += len;
		text += strspn(text, " ");
	}
	fputc('\n', f);
}

static void print_option(FILE *f, const struct option_desc *o)
{
	char arg[128], help[512];
	size_t at;

	format_arg(o, arg, sizeof(arg));
	format_help(o, help, sizeof(help));

	at = (size_t)fprintf(f, "  --%s%s", o->name, arg);
	if (at >= HELP_COLUMN) {
		fputc('\n', f);
		at = 0;
	}
	print_wrapped(f, help, at, HELP_COLUMN);
}

void options_help(FILE *f, const struct options_program *program,
		  const struct option_desc *table)
{
	for (const char *const *u = program->usage; *u; u++)
		fprintf(f, "%s %s %s\n", u == program->usage ? "Usage:" : "      ",
			program->name, *u);
	fprintf(f, "\n%c%s.\n", toupper((unsigned char)*program->summary),
		program->summary + 1);

	for (const struct option_desc *o = table; o->type != OPT_END; o++) {
		if (o->type == OPT_TOPIC)
			fprintf(f, "\n%s:\n", o->help);
		else
			print_option(f, o);
	}

	fputc('\n', f);
	print_wrapped(f, program->note, 0, 0);
}

static void describe_option(struct json *w, const struct option_desc *o)
{
	json_open_object(w, NULL);
	if (o->type == OPT_TOPIC) {
		json_str(w, "topic", o->help);
		json_close_object(w);
		return;
	}
	json_str(w, "name", o->name);
	if (o->arg)
		json_str(w, "arg", o->arg);
	if (o->type == OPT_ENUM) {
		json_open_array(w, "choices");
		for (unsigned int i = 0; o->names[i]; i++)
			json_str(w, NULL, o->names[i]);
		json_close_array(w);
	}
	json_str(w, "help", o->help);
	if (o->def)
		json_str(w, "default", o->def);
	json_close_object(w);
}

void options_describe(FILE *f, const struct options_program *program,
		      const struct option_desc *table)
{
	struct json w;

	json_init(&w, f);
	json_open_object(&w, NULL);
	json_str(&w, "name", program->name);
	json_str(&w, "version", program->version);
	json_str(&w, "summary", program->summary);
	json_open_array(&w, "usage");
	for (const char *const *u = program->usage; *u; u++)
		json_str(&w, NULL, *u);
	json_close_array(&w);
	json_str(&w, "description", program->description);
	json_str(&w, "note", program->note);

	json_open_array(&w, "options");
	for (const struct option_desc *o = table; o->type != OPT_END; o++)
		describe_option(&w, o);
	json_close_array(&w);

	json_open_array(&w, "sections");
	for (const struct options_section *s = program->sections; s->title; s++) {
		json_open_object(&w, NULL);
		json_str(&w, "title", s->title);
		json_str(&w, "text", s->text);
		json_close_object(&w);
	}
	json_close_array(&w);
	json_close_object(&w);
	json_finish(&w);
}
