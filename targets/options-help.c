/* SPDX-License-Identifier: GPL-2.0-only */
/* What a table of options says to people: --help and the man page */

#include <ctype.h>
#include <string.h>

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

/* Text for roff, where a leading dot or quote would be a request */
static void print_roff(FILE *f, const char *s, size_t len)
{
	if (len && (*s == '.' || *s == '\''))
		fputs("\\&", f);
	for (size_t i = 0; i < len; i++) {
		if (s[i] == '\\')
			fputs("\\e", f);
		else if (s[i] == '-')
			fputs("\\-", f);
		else
			fputc(s[i], f);
	}
}

static void print_roff_string(FILE *f, const char *s)
{
	print_roff(f, s, strlen(s));
}

/* Paragraphs divided by empty lines; lines with a tab in front are kept as they are */
static void print_roff_text(FILE *f, const char *s)
{
	bool example = false;

	while (*s) {
		size_t len = strcspn(s, "\n");
		bool tab = *s == '\t';

		if (tab != example && len) {
			fputs(tab ? ".PP\n.nf\n.RS\n" : ".RE\n.fi\n.PP\n", f);
			example = tab;
		}
		if (len) {
			print_roff(f, s + tab, len - tab);
			fputc('\n', f);
		} else if (!example) {
			fputs(".PP\n", f);
		}
		s += len;
		if (*s)
			s++;
	}
	if (example)
		fputs(".RE\n.fi\n", f);
}

static void print_roff_option(FILE *f, const struct option_desc *o)
{
	char arg[128], help[512];

	format_arg(o, arg, sizeof(arg));
	format_help(o, help, sizeof(help));

	fputs(".TP\n\\fB\\-\\-", f);
	print_roff_string(f, o->name);
	fputs("\\fR", f);
	if (*arg) {
		/* Choices are typed as they stand, a name is replaced */
		fputs(o->arg ? " \\fI" : " \\fB", f);
		print_roff_string(f, arg + 1);
		fputs("\\fR", f);
	}
	fputc('\n', f);
	print_roff_string(f, help);
	fputs(".\n", f);
}

static void print_roff_head(FILE *f, const struct options_program *program)
{
	fputs(".TH \"", f);
	for (const char *c = program->name; *c; c++)
		fputc(toupper((unsigned char)*c), f);
	fprintf(f, "\" 1 \"\" \"fio-dataplane %s\" \"User Commands\"\n",
		program->version);

	fputs(".SH NAME\n", f);
	print_roff_string(f, program->name);
	fputs(" \\- ", f);
	print_roff_string(f, program->summary);

	fputs("\n.SH SYNOPSIS\n", f);
	for (const char *const *u = program->usage; *u; u++) {
		if (u != program->usage)
			fputs(".br\n", f);
		fputs("\\fB", f);
		print_roff_string(f, program->name);
		fputs("\\fR ", f);
		print_roff_string(f, *u);
		fputc('\n', f);
	}
}

void options_man(FILE *f, const struct options_program *program,
		 const struct option_desc *table)
{
	fputs(".\\\" SPDX-License-Identifier: GPL-2.0-only\n", f);
	print_roff_head(f, program);

	fputs(".SH DESCRIPTION\n", f);
	print_roff_text(f, program->description);

	fputs(".SH OPTIONS\n", f);
	print_roff_text(f, program->note);
	fputc('\n', f);
	for (const struct option_desc *o = table; o->type != OPT_END; o++) {
		if (o->type == OPT_TOPIC)
			fprintf(f, ".SS %s\n", o->help);
		else
			print_roff_option(f, o);
	}

	for (const struct options_section *s = program->sections; s->title; s++) {
		fprintf(f, ".SH %s\n", s->title);
		print_roff_text(f, s->text);
	}
}
