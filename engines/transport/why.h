/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef ENGINES_TRANSPORT_WHY_H
#define ENGINES_TRANSPORT_WHY_H

#include <stdarg.h>
#include <stdio.h>

/**
 * struct why - the sentence that goes with an errno
 * @text: what is wrong, without the device's name
 */
struct why {
	char text[240];
};

/**
 * why_not - say why something failed
 * @w: where to
 * @err: a positive errno
 * @format: the sentence
 *
 * Return: -@err.
 */
static inline __attribute__((format(printf, 3, 4))) int why_not(struct why *w, int err,
								const char *format, ...)
{
	va_list args;

	va_start(args, format);
	vsnprintf(w->text, sizeof(w->text), format, args);
	va_end(args);
	return -err;
}

#endif
