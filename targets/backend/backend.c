/* SPDX-License-Identifier: GPL-2.0-only */
#include <errno.h>
#include <inttypes.h>
#include <string.h>
#include "targets/backend/backend.h"
#include "targets/options.h"

/* The null backend answers at once and touches no data, so that what is measured is the dataplane. */

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

static int report(const struct backend *b, int err)
{
	options_error(NULL, "backend", "%s of %" PRIu64 " bytes: %s", b->ops->name, b->size,
		      strerror(-err));
	return err;
}

/**
 * backend_open - open a backend
 * @b: filled in
 * @config: what is asked for, copied
 *
 * backend_warm() is the caller's to call, when it has time.
 *
 * Return: 0 or a negative errno, reported.
 */
int backend_open(struct backend *b, const struct backend_config *config)
{
	int ret;

	*b = (struct backend) {
		.ops = config->ops, .config = *config, .size = config->size, .fd = -1, .align = 1,
	};
	if (throttle_is_set(&config->throttle)) {
		b->throttle = throttle_new(&config->throttle);
		if (!b->throttle)
			return report(b, -ENOMEM);
	}
	ret = b->ops->open(b);
	if (!ret)
		return 0;
	throttle_free(b->throttle);
	/* What a path is to blame for, the file backend has said with it. */
	return config->path ? ret : report(b, ret);
}

/**
 * backend_warm - pay now for what the first requests would find missing
 * @b: the backend; open, in this process or in one it was forked from
 */
void backend_warm(struct backend *b)
{
	if (b->ops->warm)
		b->ops->warm(b);
}

/**
 * backend_close - close a backend
 * @b: the backend; nothing is in flight
 */
void backend_close(struct backend *b)
{
	b->ops->close(b);
	throttle_free(b->throttle);
}
