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

static void free_job(struct virtio_job *j)
{
	plug_destroy(&j->plug);
	free((char *)j->job.peer);
	job_free(&j->job);
}

static int take_queue(struct virtio_job *j)
{
	struct blk_shape shape = shared_device_shape(j->dev);
	struct shared_queue *q;
	int ret;

	ret = shared_device_claim(j->dev, j->job.td, &j->index);
	if (ret)
		return ret;
	q = &j->dev->queue[j->index];
	ret = blk_queue_init(&j->queue, q->mem, &shape, j->dev->guest_offset, q->kick_fd);
	if (ret) {
		glue_fail(j->job.td, -ret, "cannot use queue %u: %s", j->index,
			  ret == -EBUSY ? "an earlier job left requests in it" : strerror(-ret));
		goto release;
	}
	j->queue.number = j->index;
	j->queue.doorbell = q->doorbell;
	j->queue.trace = j->job.trace.ring;
	if (j->dev->transport->attach)
		ret = j->dev->transport->attach(j->dev, j->job.td, j->index,
						j->job.trace.ring ? &j->job.trace.file : NULL);
	if (!ret)
		return 0;
	blk_queue_destroy(&j->queue);
release:
	shared_device_release(j->dev, j->index);
	return ret;
}

static int init_plug(struct virtio_job *j)
{
	const struct virtio_options *o = j->job.td->eo;
	uint32_t max = j->dev->limits.max_transfer;

	if (plug_init(&j->plug, &j->job, o->merge < max ? o->merge : max, j->dev->segments))
		return glue_fail(j->job.td, ENOMEM, "no memory for merge=");
	return 0;
}

static int describe_device(struct virtio_job *j)
{
	const struct shared_device *dev = j->dev;
	char *name;

	if (asprintf(&name, "%s device '%s'", dev->transport->name, dev->key) < 0)
		return glue_fail(j->job.td, ENOMEM, "no memory for the device's name");
	j->job.peer = name;
	j->job.takes_flush = dev->limits.flush;
	j->job.takes_trim = dev->limits.max_discard;
	j->job.returns = dev->link;
	if (dev->link)
		j->generation = atomic_load(&dev->link->generation);
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
	j = job_alloc(td, sizeof(*j), &virtio_job_ops);
	if (!j)
		return td->error;
	j->dev = shared_device_get(td);
	ret = j->dev ? describe_device(j) : -td->error;
	if (!ret)
		ret = init_plug(j);
	if (!ret)
		ret = take_queue(j);
	if (ret) {
		free_job(j);
		return -ret;
	}
	job_init_waiter(&j->job);
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
 * virtio_job_cleanup - fio hook: give the queue back
 * @td: the job; one whose init() failed has nothing to give
 */
void virtio_job_cleanup(struct thread_data *td)
{
	struct virtio_job *j = td->io_ops_data;

	if (!j)
		return;
	job_save_stats(&j->job);
	if (j->dev->transport->detach)
		j->dev->transport->detach(j->dev, j->index, j->job.dead);
	blk_queue_destroy(&j->queue);
	/* What is still in flight would be written into the next owner's buffers. */
	if (!j->job.dead)
		shared_device_release(j->dev, j->index);
	free_job(j);
	td->io_ops_data = NULL;
}

/**
 * virtio_job_stats - write what a job's driver and device have counted, for dp_stats=
 * @job: the job, at its end
 * @w: an open object
 */
void virtio_job_stats(struct job *job, struct json *w)
{
	struct virtio_job *j = (struct virtio_job *)job;
	const struct blk_stats *s = &j->queue.stats;

	json_u64(w, "queue", j->index);
	json_u64(w, "queue_size", j->dev->queue_size);
	json_str(w, "ring", j->queue.ring.notify.is_packed ? "packed" : "split");
	json_u64(w, "merged", j->plug.merged);
	json_open_object(w, "notifications");
	json_u64(w, "sent", s->kicks);
	json_u64(w, "suppressed", s->batches - s->kicks);
	json_u64(w, "received", job->waiter.stats.calls);
	json_close_object(w);
	if (j->dev->link)
		json_u64(w, "reconnects", atomic_load(&j->dev->link->generation));
	json_hist(w, "batch", &s->batch);
	if (!j->dev->transport->stats)
		return;
	json_open_object(w, "target");
	j->dev->transport->stats(j->dev, j->index, w);
	json_close_object(w);
}
