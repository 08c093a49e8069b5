/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Lines about clients on stderr while a target serves. Writing one never waits for the reader of
 * stderr, which may be a pipe that is full, and a client that is dropped again and again cannot
 * fill a disk with lines.
 */
#ifndef TARGETS_CLIENT_LINES_H
#define TARGETS_CLIENT_LINES_H

#include <stdbool.h>
#include <stddef.h>

extern bool client_lines_silent;	/* write nothing: for tests with thousands of clients a second */

void client_line(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
void client_lines_text(char *text, size_t len);
void client_lines_flush(void);

#endif
