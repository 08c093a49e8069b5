/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Command lines of the targets. A table describes every option once; parsing,
 * checking, --help, the man page, completion in a shell and the options in the
 * statistics all follow from it.
 */
#ifndef TARGETS_OPTIONS_H
#define TARGETS_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

struct json;

/* Each with the type of the member that holds its value */
enum option_type {
	OPT_END,	/* last entry of a table */
	OPT_TOPIC,	/* no option, a heading: @help is its text */
	OPT_FLAG,	/* bool, takes no value */
	OPT_ACTION,	/* bool, takes no value, says nothing about the target: --help */
	OPT_STR,	/* const char *, points into argv, never empty */
	OPT_SIZE,	/* uint64_t, bytes */
	OPT_TIME,	/* uint64_t, nanoseconds */
	OPT_U32,	/* uint32_t */
	OPT_DOUBLE,	/* double, not negative */
	OPT_ENUM,	/* unsigned int or an enum, index into @names */
	OPT_CPUS,	/* cpu_set_t */
	OPT_CUSTOM,	/* whatever @parse and @format agree on */
};

/**
 * struct option_desc - One option
 * @type:	What its value is
 * @name:	Name without the dashes
 * @arg:	Name of the value in the help; an OPT_ENUM without one shows its names
 * @help:	What it does, without full stop; the default is added
 * @def:	Default, as a user would write it; NULL leaves the member zero
 * @offset:	Where the value goes in the program's struct of options
 * @once:	A second one is an error, not a correction of the first (OPT_STR)
 * @pow2:	OPT_SIZE, OPT_U32: only powers of two are accepted
 * @min:	OPT_SIZE, OPT_TIME, OPT_U32: least value
 * @max:	OPT_SIZE, OPT_TIME, OPT_U32: greatest value, 0 for the type's own
 * @names:	OPT_ENUM: the values, NULL at the end
 * @parse:	OPT_CUSTOM: reads a value, returns 0 or negative errno
 * @format:	OPT_CUSTOM: writes it back; nothing for a value never set
 * @accepts:	OPT_CUSTOM: completes the sentence "VALUE is not ..."
 */
struct option_desc {
	enum option_type type;
	const char *name;
	const char *arg;
	const char *help;
	const char *def;
	size_t offset;
	bool once;
	bool pow2;
	uint64_t min;
	uint64_t max;
	const char *const *names;
	int (*parse)(const char *s, void *value);
	void (*format)(const void *value, char *buf, size_t len);
	const char *accepts;
};

/* struct options_section - A part of the man page beyond the options */
struct options_section {
	const char *title;
	const char *text;
};

/**
 * struct options_program - What help and man page say about the program itself
 * @name:	Program
 * @version:	Its version
 * @summary:	One line, without full stop
 * @usage:	Ways to call it, what follows the name; NULL at the end
 * @description: Paragraphs divided by empty lines
 * @note:	A paragraph on all options, such as the units they take
 * @sections:	More of the man page, a title of NULL at the end; lines that
 *		start with a tab are printed as they are
 */
struct options_program {
	const char *name;
	const char *version;
	const char *summary;
	const char *const *usage;
	const char *description;
	const char *note;
	const struct options_section *sections;
};

/**
 * options_parse() - Set all options to their defaults, then read a command line
 * @table:	Options
 * @dest:	The program's struct of options, zeroed by the caller
 * @argc:	Number of arguments
 * @argv:	Arguments, "--name value" or "--name=value"; the last part of
 *		argv[0]'s path names the program in messages
 *
 * Return: 0, or -EINVAL after one line on stderr
 */
int options_parse(const struct option_desc *table, void *dest, int argc,
		  char **argv);

/**
 * options_error() - Report a bad option the way options_parse() does, or whatever else goes wrong
 * @argv0:	argv[0], or NULL where it is out of reach
 * @option:	Its name without dashes, or NULL where none is to blame
 * @fmt:	What is wrong, printf() style
 *
 * Return: -EINVAL
 */
int options_error(const char *argv0, const char *option, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));

/**
 * options_json() - Write all options as members of the open object
 * @w:		Writer
 * @table:	Options
 * @values:	The program's struct of options
 *
 * Flags are true or false, all others strings that the program would read
 * again, sizes in bytes and times in ns. Options not given that have no default
 * are left out.
 */
void options_json(struct json *w, const struct option_desc *table,
		  const void *values);

/**
 * options_help() - Print what --help prints
 * @f:		Stream
 * @program:	The program
 * @table:	Its options
 */
void options_help(FILE *f, const struct options_program *program,
		  const struct option_desc *table);

/**
 * options_describe() - Print all that is known of the options as JSON
 * @f:		Stream
 * @program:	The program
 * @table:	Its options
 *
 * One object: name, version, summary, usage, description, note, options (either
 * a topic, or name and help, with arg, choices and default where there are such)
 * and sections. scripts/manual makes the manual page and completions of it.
 */
void options_describe(FILE *f, const struct options_program *program,
		      const struct option_desc *table);

#endif /* TARGETS_OPTIONS_H */
