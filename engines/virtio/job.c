/* SPDX-License-Identifier: GPL-2.0-only */
#include "engines/glue/glue.h"
#include "engines/virtio/job.h"

/* The life of a job: setup, init, memory, files, cleanup. */

/**
 * virtio_job_setup - fio hook: find the device and tell fio its size
 * @td: the job
 *
 * Runs in the parent, or in the job with create_serialize=0.
 *
 * Return: 0, or 1 with the error reported.
 */
int virtio_job_setup(struct thread_data *td)
{
	struct shared_device *dev;

	/* fio says so itself, but too late, and then goes on without buffers. */
	if (fio_option_is_set(&td->o, mem_type)) {
		glue_fail(td, EINVAL, "mem= cannot be used: I/O buffers are in memory shared with the device");
		return 1;
	}
	dev = shared_device_get(td);
	return !dev || glue_add_file(td, "virtio-blk", dev->limits.capacity);
}

/* The driver's hooks for the waiter. */

static struct virtio_job *queue_to_job(void *queue)
{
	return (struct virtio_job *)((char *)queue - offsetof(struct virtio_job, queue));
}

static bool ring_ready(void *arg)
{
	return vq_driver_has_used(&((struct blk_queue *)arg)->ring);
}

static bool ring_arm(void *arg)
{
	return vq_driver_enable_calls(&((struct blk_queue *)arg)->ring);
}

static void ring_disarm(void *arg)
{
	vq_driver_disable_calls(&((struct blk_queue *)arg)->ring);
}

/* A connection that a keeper looks after is gone when the keeper says so. */
static int link_lost(void *arg)
{
	const struct device_link *l = queue_to_job(arg)->dev->link;

	return atomic_load_explicit(&l->state, memory_order_relaxed) == LINK_LOST ? -ECONNRESET : 0;
}

static int queue_gone(void *arg)
{
	const struct virtio_job *j = queue_to_job(arg);

	return j->dev->transport->gone(j->dev, j->index);
}

static void init_waiter(struct virtio_job *j)
{
	const struct virtio_options *o = j->f.td->eo;
	struct wait_source source = {
		.ready = ring_ready,
		.arm = ring_arm,
		.disarm = ring_disarm,
		.arg = &j->queue,
		.fd = j->dev->queue[j->index].call_fd,
		.peer_fd = j->dev->link ? -1 : j->dev->peer_fd,
		.peer = j->dev->link ? link_lost : j->dev->transport->gone ? queue_gone : NULL,
	};

	waiter_init(&j->waiter, o->wait_mode, o->wait_poll_max_ns, &source);
	j->waiter.trace = j->trace.ring;
}

static void free_job(struct virtio_job *j)
{
	glue_trace_end(&j->trace);
	plug_destroy(&j->plug);
	job_free(&j->f);
	free(j);
}

static struct virtio_job *alloc_job(struct thread_data *td)
{
	struct virtio_job *j = alloc_apart(1, sizeof(*j));

	if (!j)
		return NULL;
	if (job_alloc(&j->f, td)) {
		free_job(j);
		return NULL;
	}
	return j;
}

static int take_queue(struct virtio_job *j)
{
	struct blk_shape shape = shared_device_shape(j->dev);
	struct shared_queue *q;
	int ret;

	ret = shared_device_claim(j->dev, j->f.td, &j->index);
	if (ret)
		return ret;
	q = &j->dev->queue[j->index];
	ret = blk_queue_init(&j->queue, q->mem, &shape, 0, q->kick_fd);
	if (ret) {
		glue_fail(j->f.td, -ret, "cannot use queue %u: %s", j->index,
			  ret == -EBUSY ? "an earlier job left requests in it" : strerror(-ret));
		goto release;
	}
	j->queue.number = j->index;
	j->queue.trace = j->trace.ring;
	if (j->dev->transport->attach)
		ret = j->dev->transport->attach(j->dev, j->f.td, j->index,
						j->trace.ring ? &j->trace.file : NULL);
	if (!ret)
		return 0;
	blk_queue_destroy(&j->queue);
release:
	shared_device_release(j->dev, j->index);
	return ret;
}

static int init_plug(struct virtio_job *j)
{
	const struct virtio_options *o = j->f.td->eo;
	uint32_t max = j->dev->limits.max_transfer;

	if (plug_init(&j->plug, &j->f, o->merge < max ? o->merge : max, j->dev->segments))
		return glue_fail(j->f.td, ENOMEM, "no memory for merge=");
	return 0;
}

/**
 * virtio_job_init - fio hook: take a queue of the device
 * @td: the job
 *
 * Runs in the job, process or thread; before setup() with create_serialize=0.
 *
 * Return: 0, or a positive errno with the error reported.
 */
int virtio_job_init(struct thread_data *td)
{
	struct virtio_job *j;
	int ret;

	if (!td->o.create_serialize && virtio_job_setup(td))
		return td->error;
	j = alloc_job(td);
	if (!j)
		return -glue_fail(td, ENOMEM, "no memory for %u requests", td->o.iodepth);
	j->dev = shared_device_get(td);
	ret = j->dev ? init_plug(j) : -td->error;
	if (!ret)
		ret = glue_trace_begin(td, ((struct virtio_options *)td->eo)->dp_trace, &j->trace);
	if (!ret)
		ret = take_queue(j);
	if (ret) {
		free_job(j);
		return -ret;
	}
	init_waiter(j);
	if (j->dev->link)
		j->generation = atomic_load(&j->dev->link->generation);
	td->io_ops_data = j;
	return 0;
}

/**
 * virtio_job_iomem_alloc - fio hook: I/O buffers where the device can reach them
 * @td: the job
 * @size: bytes
 *
 * The room was reserved before the job existed. Should it not do, fio gets other memory
 * and the job is refused in post_init(), as fio does not expect a failure here.
 *
 * Return: 0, or 1 without any memory.
 */
int virtio_job_iomem_alloc(struct thread_data *td, size_t size)
{
	struct virtio_job *j = td->io_ops_data;

	if (size <= j->dev->buffer_bytes) {
		td->orig_buffer = j->dev->queue[j->index].buffers;
		return 0;
	}
	glue_fail(td, ENOMEM, "%zu bytes of I/O buffers, but %zu are shared with the device", size,
		  j->dev->buffer_bytes);
	j->buffer_error = true;
	td->orig_buffer = mmap(NULL, size, PROT_READ | PROT_WRITE,
			       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	return td->orig_buffer == MAP_FAILED;
}

/**
 * virtio_job_iomem_free - fio hook: the buffers belong to the device and stay
 * @td: the job
 */
void virtio_job_iomem_free(struct thread_data *td)
{
	td->orig_buffer = NULL;
}

/**
 * virtio_job_post_init - fio hook: refuse the job if its buffers could not be had
 * @td: the job
 *
 * Return: 0, or 1 with the error set.
 */
int virtio_job_post_init(struct thread_data *td)
{
	struct virtio_job *j = td->io_ops_data;

	return j->buffer_error;
}

/**
 * virtio_job_io_u_init - fio hook: attach our record to fio's
 * @td: the job
 * @io_u: one of iodepth
 *
 * Return: 0.
 */
int virtio_job_io_u_init(struct thread_data *td, struct io_u *io_u)
{
	struct virtio_job *j = td->io_ops_data;

	job_add(&j->f, io_u);
	return 0;
}

/* What the job wants and this device cannot do. */
static int check_abilities(struct thread_data *td, const struct blk_limits *l)
{
	if (l->read_only && (td_write(td) || td_trim(td)))
		return glue_fail(td, EROFS, "the device is read-only");
	if (td_trim(td) && !l->max_discard)
		return glue_fail(td, EOPNOTSUPP, "the device does not take discards, which rw=trim needs");
	if (td_trim(td) && job_trim_ranges(td) > 1)
		return glue_fail(td, EOPNOTSUPP, "num_range= is not supported, trim one range at a time");
	return 0;
}

/**
 * virtio_job_open_file - fio hook: look at the job once fio has completed it
 * @td: the job
 * @f: its file
 *
 * Return: 0, or 1 with the error reported.
 */
int virtio_job_open_file(struct thread_data *td, struct fio_file *f)
{
	struct virtio_job *j = td->io_ops_data;
	const struct blk_limits *l = &j->dev->limits;

	return check_abilities(td, l) || glue_check_job(td, f, l->capacity, l->block_size);
}

/**
 * virtio_job_close_file - fio hook: nothing to close
 * @td: the job
 * @f: its file
 *
 * Return: 0.
 */
int virtio_job_close_file(struct thread_data *td, struct fio_file *f)
{
	(void)td;
	(void)f;
	return 0;
}

/**
 * virtio_job_invalidate - fio hook: there is no cache on this side
 * @td: the job
 * @f: its file
 *
 * Return: 0.
 */
int virtio_job_invalidate(struct thread_data *td, struct fio_file *f)
{
	(void)td;
	(void)f;
	return 0;
}

/**
 * virtio_job_cleanup - fio hook: give the queue back
 * @td: the job; one whose init() failed has nothing to give
 */
void virtio_job_cleanup(struct thread_data *td)
{
	struct virtio_job *j = td->io_ops_data;

	if (!j)
		return;
	virtio_job_save_stats(j);
	if (j->dev->transport->detach)
		j->dev->transport->detach(j->dev, j->index, j->f.dead);
	blk_queue_destroy(&j->queue);
	/* What is still in flight would be written into the next owner's buffers. */
	if (!j->f.dead)
		shared_device_release(j->dev, j->index);
	free_job(j);
	td->io_ops_data = NULL;
}
