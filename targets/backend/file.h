/* SPDX-License-Identifier: GPL-2.0-only */
/* What the parts of the file backend and the ways to its I/O share */
#ifndef TARGETS_BACKEND_FILE_H
#define TARGETS_BACKEND_FILE_H

#include "targets/backend/backend.h"

int file_find_align(struct backend *b);
bool file_takes_memory(const struct backend *b, const struct blk_request *r);
int file_rw(struct backend *b, struct blk_request *r);
int file_flush(struct backend *b);
int file_flushed(struct backend *b, int result);
int file_discard(struct backend *b, const struct blk_request *r);
int file_write_zeroes(struct backend *b, const struct blk_request *r);
int file_block_status(struct backend *b, struct blk_request *r);

#endif
