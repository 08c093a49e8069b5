/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What a target says about its clients while it serves. Nobody who says something waits for
 * whoever reads stderr, which may be a pipe that is full, and a client that is dropped again
 * and again cannot fill a disk with lines.
 */
#ifndef TARGETS_CLIENT_LINES_H
#define TARGETS_CLIENT_LINES_H

#include <stdbool.h>
#include <stddef.h>

extern bool client_lines_silent;	/* say nothing: for who tries thousands of clients a second */

void client_line(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
void client_lines_text(char *text, size_t len);
void client_lines_flush(void);

#endif
