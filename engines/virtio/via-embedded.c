/* SPDX-License-Identifier: GPL-2.0-only */
#include "base/fd.h"
#include "engines/glue/glue.h"
#include "engines/virtio/device.h"
#include "targets/device/kick-count.h"
#include "targets/device/queue.h"
#include "targets/target-options.h"

/*
 * The target's own dataplane inside fio: its device code, and an iothread for each job.
 * Driver and device share one address space, so guest addresses are addresses here.
 */

/**
 * struct embedded_queue - the device's side of a job's queue; in the job only
 * @it: the thread that serves it
 * @queue: what it serves
 * @job: whose it is, for messages
 * @broken: why it has stopped to, a negative errno; 0 while it has not
 */
struct embedded_queue {
	struct iothread it;
	struct queue queue;
	const char *job;
	_Atomic int broken;
};

/**
 * struct embedded - the device
 * @o: the target's options
 * @backend: where the data is; jobs forked later share it
 * @dev: the device
 * @mem: the arena, as the device's side sees it
 * @cpus: where fio was allowed to run before it pinned any job
 * @queue: one for each queue of the shared device
 */
struct embedded {
	struct target_options o;
	struct backend backend;
	struct blk_device dev;
	struct guest_memory mem;
	cpu_set_t cpus;
	struct embedded_queue *queue;
};

static const char *key(const struct virtio_options *o)
{
	return o->target ? o->target : "";
}

static int open_backend(struct embedded *e)
{
	struct backend_config config = target_options_backend(&e->o, true);
	int ret = backend_open(&e->backend, &config);

	/* For the record: a file's own */
	e->o.size = e->backend.size;
	return ret;
}

static int embedded_open(struct shared_device *dev, struct thread_data *td)
{
	const struct virtio_options *o = td->eo;
	struct embedded *e = calloc(1, sizeof(*e));
	int ret;

	if (!e)
		return glue_fail(td, ENOMEM, "no memory for the embedded target");
	ret = target_options_parse_embedded(&e->o, &vhost_user_blk_program, dev->key, "target=");
	if (ret) {
		free(e);
		return glue_fail(td, -ret, "cannot set up the embedded target: target= takes options of vhost-user-blk-target, see its --help");
	}
	ret = open_backend(e);
	if (ret) {
		free(e);
		return glue_fail(td, -ret, "cannot set up the embedded target with target=%s: %s", dev->key,
				 strerror(-ret));
	}
	dev->priv = e;
	sched_getaffinity(0, sizeof(e->cpus), &e->cpus);
	blk_device_init(&e->dev, &e->backend, e->o.block_size, e->o.read_only, e->o.num_queues);

	dev->features = e->dev.features & blk_driver_features(o->packed, o->event_idx, o->indirect);
	blk_limits_read(&dev->limits, &e->dev.config, dev->features);
	dev->max_queues = e->o.num_queues;
	dev->peer_fd = -1;
	return 0;
}

static int embedded_start(struct shared_device *dev, struct thread_data *td)
{
	struct embedded *e = dev->priv;
	uint64_t base = (uintptr_t)dev->arena.base;

	e->queue = alloc_apart(dev->nr_queues, sizeof(*e->queue));
	if (!e->queue)
		return glue_fail(td, ENOMEM, "no memory for %u queues", dev->nr_queues);
	e->mem = (struct guest_memory) {
		.nr = 1,
		.region = { {
			.guest = base,
			.user = base,
			.size = dev->arena.size,
			.host = dev->arena.base,
		} },
	};
	return 0;
}

/*
 * The iothread goes to --cpus, or to a CPU that fio may use and the job does not, or, when
 * there is none, to any: never to the job's own by inheritance.
 */
static void choose_cpus(const struct embedded *e, unsigned int index, cpu_set_t *set)
{
	cpu_set_t own;

	target_options_cpu(&e->o, index, set);
	if (CPU_COUNT(set))
		return;
	sched_getaffinity(0, sizeof(own), &own);
	CPU_XOR(set, &e->cpus, &own);
	CPU_AND(set, set, &e->cpus);
	if (!CPU_COUNT(set))
		*set = e->cpus;
}

/*
 * A chain that our own driver wrote and our own device cannot read is a bug of ours. The job,
 * which would wait for it, finds @broken when it next looks after its peer; a call ends a sleep.
 */
static void on_broken(void *owner, struct queue *q, int err)
{
	struct embedded_queue *eq = owner;

	log_err("%s: the embedded target stops: %s\n", eq->job, strerror(-err));
	/* Nothing else is handed over with it. */
	atomic_store_explicit(&eq->broken, err, memory_order_relaxed);
	eventfd_signal(q->call_fd);
}

static int embedded_gone(struct shared_device *dev, unsigned int index, const char **why)
{
	struct embedded *e = dev->priv;

	(void)why;
	return atomic_load_explicit(&e->queue[index].broken, memory_order_relaxed);
}

static int start_queue(struct shared_device *dev, struct embedded *e, unsigned int index,
		       const char *name)
{
	struct embedded_queue *eq = &e->queue[index];
	struct blk_shape shape = shared_device_shape(dev);
	struct queue *q = &eq->queue;
	struct vq_addresses at;
	struct vq_driver ring;
	struct vq_parts parts;
	int ret;

	blk_queue_ring(&ring, dev->queue[index].mem, &shape);
	parts = vq_driver_parts(&ring);
	at = (struct vq_addresses) {
		(uintptr_t)parts.desc, (uintptr_t)parts.driver, (uintptr_t)parts.device,
	};
	eq->job = name;
	eq->broken = 0;
	*q = (struct queue) {
		.dev = &e->dev,
		.mem = &e->mem,
		.call_fd = dev->queue[index].call_fd,
		.on_broken = on_broken,
		.owner = eq,
		.number = index,
	};
	q->source.fd = dev->queue[index].kick_fd;
	kick_count(q->source.fd, &q->kicks_seen);
	ret = vq_device_init(&q->ring, &e->mem, dev->features, dev->queue_size, &at);
	if (!ret)
		ret = queue_start(q, &eq->it, vq_driver_base(&ring));
	return ret;
}

static void stop_iothread(struct embedded_queue *eq)
{
	channel_stop(&eq->it);
	iothread_stop(&eq->it);
}

static int embedded_attach(struct shared_device *dev, struct thread_data *td, unsigned int index,
			   struct trace *trace)
{
	struct embedded *e = dev->priv;
	struct embedded_queue *eq = &e->queue[index];
	struct poll_policy policy = target_options_policy(&e->o);
	struct channel_config config = target_options_channel(&e->o);
	cpu_set_t cpus;
	int ret;

	choose_cpus(e, index, &cpus);
	config.pool.cpus = e->cpus;
	config.trace = trace;
	ret = iothread_start(&eq->it, index, &cpus, &policy);
	if (ret)
		return ret;
	ret = channel_start(&eq->it, &config);
	if (ret) {
		iothread_stop(&eq->it);
		return ret;
	}
	ret = start_queue(dev, e, index, td->o.name);
	if (ret) {
		stop_iothread(eq);
		return glue_fail(td, -ret, "cannot start queue %u: %s", index, strerror(-ret));
	}
	backend_warm(&e->backend);
	return 0;
}

static void embedded_detach(struct shared_device *dev, unsigned int index, bool dead)
{
	struct embedded *e = dev->priv;
	struct embedded_queue *eq = &e->queue[index];

	queue_stop(&eq->queue, dead);
	stop_iothread(eq);
}

static void embedded_stats(struct shared_device *dev, unsigned int index, struct json *w)
{
	struct embedded *e = dev->priv;
	struct embedded_queue *eq = &e->queue[index];

	json_open_object(w, "options");
	options_json(w, vhost_user_blk_program.table, &e->o);
	json_close_object(w);
	json_open_array(w, "iothreads");
	channel_stats_json(w, &eq->it);
	json_close_array(w);
}

/* In a forked job's parent nothing runs; in a process of threads all have detached. */
static void embedded_close(struct shared_device *dev)
{
	struct embedded *e = dev->priv;

	if (!e)
		return;
	backend_close(&e->backend);
	free(e->queue);
	free(e);
}

const struct virtio_transport via_embedded = {
	.name = "embedded",
	.key = key,
	.open = embedded_open,
	.start = embedded_start,
	.attach = embedded_attach,
	.detach = embedded_detach,
	.gone = embedded_gone,
	.stats = embedded_stats,
	.close = embedded_close,
};
