/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef TARGETS_CLOSE_ASIDE_H
#define TARGETS_CLOSE_ASIDE_H

void close_aside(int fd);

#endif
