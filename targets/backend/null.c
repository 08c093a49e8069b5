/* SPDX-License-Identifier: GPL-2.0-only */
#include <errno.h>
#include "targets/backend/backend.h"

/* Answers at once and touches no data, so that what is measured is the dataplane. */

static int null_open(struct backend *b)
{
	(void)b;
	return 0;
}

static void null_close(struct backend *b)
{
	(void)b;
}

static int null_execute(struct backend *b, struct blk_request *r)
{
	(void)b;
	if (r->kind == REQ_BLOCK_STATUS) {
		r->extent[0] = (struct blk_extent) { .len = r->len };
		r->nr_extent = 1;
	}
	return 0;
}

const struct backend_ops null_backend = {
	.name = "null",
	.open = null_open,
	.close = null_close,
	.execute = null_execute,
};
