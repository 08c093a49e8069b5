/* SPDX-License-Identifier: GPL-2.0-only */
#include <errno.h>
#include "targets/backend/aio.h"

/* --aio threads: a worker of the iothread's pool carries the request out. */

static void run(struct pool_work *w)
{
	struct blk_request *r = aio_request(w);

	r->result = r->backend->ops->execute(r->backend, r);
}

static void done(struct pool_work *w)
{
	struct blk_request *r = aio_request(w);

	channel_finish(r->channel, r, r->result);
}

static void submit(struct channel *c, struct blk_request *r)
{
	r->work.run = run;
	r->work.done = done;
	pool_submit(&c->pool, &r->work);
}

static int open_pool(struct channel *c)
{
	return channel_pool(c) ? 0 : -EAGAIN;
}

/* The pool is the channel's to stop. */
static void close_nothing(struct channel *c)
{
	(void)c;
}

/**
 * aio_pool_submit - let a worker carry out what the kernel's asynchronous I/O does not
 * @c: the channel
 * @r: the request; ended here if there is no pool and none can be started, so that this is
 *	not for use inside aio_ops.submit
 */
void aio_pool_submit(struct channel *c, struct blk_request *r)
{
	if (channel_pool(c))
		submit(c, r);
	else
		channel_finish(c, r, -EAGAIN);
}

const struct aio_ops threads_aio = {
	.name = "threads",
	.open = open_pool,
	.close = close_nothing,
	.submit = submit,
};
