/* SPDX-License-Identifier: GPL-2.0-only */
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

static int start(struct channel *c)
{
	int ret = pool_start(&c->pool, c->it, &c->config.pool);

	if (ret)
		c->pool.it = NULL;
	return ret;
}

/**
 * aio_pool_submit - let a worker carry out what the kernel's asynchronous I/O does not
 * @c: the channel
 * @r: the request; ended here if there is no pool and none can be started, so that this is
 *	not for use inside aio_ops.submit
 */
void aio_pool_submit(struct channel *c, struct blk_request *r)
{
	int ret = c->pool.it ? 0 : start(c);

	if (ret)
		channel_finish(c, r, ret);
	else
		submit(c, r);
}

/**
 * aio_pool_close - stop the pool that aio_pool_submit() may have started
 * @c: the channel, with nothing in flight
 */
void aio_pool_close(struct channel *c)
{
	if (!c->pool.it)
		return;
	pool_stop(&c->pool);
	c->pool.it = NULL;
}

const struct aio_ops threads_aio = {
	.name = "threads",
	.open = start,
	.close = aio_pool_close,
	.submit = submit,
};
