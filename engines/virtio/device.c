/* SPDX-License-Identifier: GPL-2.0-only */
#include <signal.h>
#include <linux/virtio_config.h>
#include <sys/eventfd.h>
#include <sys/syscall.h>
#include "engines/glue/glue.h"
#include "engines/virtio/device.h"

#define QUEUE_SIZE_MIN	128
#define QUEUE_SIZE_MAX	32768

/* Devices of this process, and of the one it was forked from. */
static struct shared_device *devices;
static pthread_mutex_t devices_lock = PTHREAD_MUTEX_INITIALIZER;

static size_t align(size_t n)
{
	return (n + ARENA_ALIGN - 1) / ARENA_ALIGN * ARENA_ALIGN;
}

static const struct virtio_options *options(const struct thread_data *td)
{
	return td->eo;
}

/* Which device a job uses, NULL if it does not say. */
static const char *device_key(const struct thread_data *td)
{
	return virtio_transport(options(td))->key(options(td));
}

static bool is_device(const struct shared_device *dev, const struct thread_data *td)
{
	const char *key = device_key(td);

	return dev->transport == virtio_transport(options(td)) && key && !strcmp(dev->key, key);
}

/* A job that will ask for a queue of the device. */
static bool uses_device(const struct thread_data *td, const void *dev)
{
	return td->io_ops == &ioengine && td->eo && is_device(dev, td);
}

/* What fio will ask for in iomem_alloc(): see init_io_u_buffers() and allocate_io_mem(). */
static size_t buffer_need(struct thread_data *td)
{
	size_t page = sysconf(_SC_PAGESIZE);

	return td_max_bs(td) * td->o.iodepth + 2 * (page + td->o.mem_align);
}

static unsigned int round_up_pow2(unsigned int n)
{
	unsigned int p = 1;

	while (p < n)
		p *= 2;
	return p;
}

/**
 * struct demand - what the jobs of a device need together
 * @queues: most jobs at the same time, or more if an option says so
 * @iodepth: deepest of them
 * @queue_size: largest queue asked for by an option
 * @buffer_bytes: most I/O buffers
 * @merge: some job merges requests
 * @calls: some job sleeps
 */
struct demand {
	unsigned int queues;
	unsigned int iodepth;
	unsigned int queue_size;
	size_t buffer_bytes;
	bool merge;
	bool calls;
};

static void add_demand(struct demand *d, struct thread_data *td)
{
	size_t buffers = buffer_need(td);

	if (td->o.iodepth > d->iodepth)
		d->iodepth = td->o.iodepth;
	if (options(td)->num_queues > d->queues)
		d->queues = options(td)->num_queues;
	if (options(td)->queue_size > d->queue_size)
		d->queue_size = options(td)->queue_size;
	if (options(td)->merge)
		d->merge = true;
	if (options(td)->job.wait_mode != WAIT_SPIN)
		d->calls = true;
	if (buffers > d->buffer_bytes)
		d->buffer_bytes = buffers;
}

/*
 * With create_serialize=0 setup() runs in the job, so that a forked one is alone with its
 * device; threads find each other's.
 */
static void collect_demand(struct demand *d, struct thread_data *td,
			   const struct shared_device *dev)
{
	bool alone = !td->o.create_serialize && !td->o.use_thread;
	struct thread_data *other;
	unsigned int i;

	*d = (struct demand) { .queues = alone ? 1 : glue_count_jobs(uses_device, dev) };
	add_demand(d, td);
	if (alone)
		return;
	for_each_job(other, i) {
		if (uses_device(other, dev))
			add_demand(d, other);
	}
}

static int choose_queue_size(struct shared_device *dev, const struct demand *d,
			     struct thread_data *td)
{
	bool indirect = dev->features >> VIRTIO_RING_F_INDIRECT_DESC & 1;
	bool packed = dev->features >> VIRTIO_F_RING_PACKED & 1;
	unsigned int need = d->iodepth * (indirect ? 1 : VQ_CHAIN);
	unsigned int num = d->queue_size;

	if (!num) {
		num = round_up_pow2(need > QUEUE_SIZE_MIN ? need : QUEUE_SIZE_MIN);
		if (dev->max_queue_size && num > dev->max_queue_size && need <= dev->max_queue_size)
			num = dev->max_queue_size;
	}
	if (num > QUEUE_SIZE_MAX || (num & (num - 1) && !packed))
		return glue_fail(td, EINVAL, "queue_size=%u is no %s up to %u", num,
				 packed ? "number" : "power of two", QUEUE_SIZE_MAX);
	if (blk_queue_slots(num, indirect) < d->iodepth)
		return glue_fail(td, EINVAL, "queue_size=%u holds %u requests, less than iodepth=%u%s",
				 num, blk_queue_slots(num, indirect), d->iodepth,
				 indirect ? "" : " (without indirect descriptors each takes three entries)");
	if (dev->max_queue_size && num > dev->max_queue_size)
		return glue_fail(td, ERANGE, "%s device '%s' has queues of at most %u entries, %u are needed: lower iodepth= or queue_size=",
				 dev->transport->name, dev->key, dev->max_queue_size, num);
	dev->queue_size = num;
	return 0;
}

/* A merged request has a segment for each that went into it. */
static int choose_segments(struct shared_device *dev, const struct demand *d,
			   struct thread_data *td)
{
	uint32_t max = dev->limits.max_segments;

	dev->segments = 1;
	if (!d->merge)
		return 0;
	if (max < 2 || !(dev->features >> VIRTIO_RING_F_INDIRECT_DESC & 1))
		return glue_fail(td, EOPNOTSUPP, "merge= needs a device that takes indirect descriptors and several segments in a request, unlike %s device '%s'%s",
				 dev->transport->name, dev->key, max < 2 ? "" : " (see indirect=)");
	dev->segments = max < BLK_SEGMENTS_MAX ? max : BLK_SEGMENTS_MAX;
	return 0;
}

static int alloc_queues(struct shared_device *dev, const struct demand *d, bool huge)
{
	struct blk_shape shape = shared_device_shape(dev);
	size_t mem_bytes = align(blk_queue_bytes(&shape));
	size_t stride = mem_bytes + align(d->buffer_bytes);
	int ret;

	ret = arena_create(&dev->arena, stride * d->queues, huge);
	if (ret)
		return ret;
	dev->buffer_bytes = stride - mem_bytes;
	dev->nr_queues = d->queues;
	dev->queue = calloc(d->queues, sizeof(*dev->queue));
	dev->claim = mmap(NULL, d->queues * sizeof(*dev->claim), PROT_READ | PROT_WRITE,
			  MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (!dev->queue || dev->claim == MAP_FAILED)
		return -ENOMEM;
	for (unsigned int i = 0; i < d->queues; i++) {
		struct shared_queue *q = &dev->queue[i];

		q->mem = dev->arena.base + i * stride;
		q->buffers = q->mem + mem_bytes;
		q->kick_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
		q->call_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
		if (q->kick_fd < 0 || q->call_fd < 0)
			return -errno;
	}
	return 0;
}

static int set_up(struct shared_device *dev, struct thread_data *td)
{
	struct demand d;
	int ret;

	ret = dev->transport->open(dev, td);
	if (ret)
		return ret;
	if (options(td)->reconnect && !dev->transport->reconnects)
		return glue_fail(td, EINVAL, "reconnect=1 is for a device of another process, transport=vhost-user");
	if (dev->limits.block_size % 512)
		return glue_fail(td, EPROTO, "%s device '%s' says that it has blocks of %u bytes, which is no multiple of 512",
				 dev->transport->name, dev->key, dev->limits.block_size);
	if (!dev->limits.max_transfer)
		return glue_fail(td, EOPNOTSUPP, "%s device '%s' has blocks of %u bytes, but takes no request of as many (size_max)",
				 dev->transport->name, dev->key, dev->limits.block_size);
	if (options(td)->packed && !(dev->features >> VIRTIO_F_RING_PACKED & 1))
		return glue_fail(td, EOPNOTSUPP, "%s device '%s' offers no packed ring, which packed=1 needs",
				 dev->transport->name, dev->key);
	collect_demand(&d, td, dev);
	if (d.queues > dev->max_queues)
		return glue_fail(td, ENOSPC, "%u queues are needed, one for each job at the same time or num_queues=; %s device '%s' has %u",
				 d.queues, dev->transport->name, dev->key, dev->max_queues);
	dev->calls = d.calls;
	ret = choose_queue_size(dev, &d, td);
	if (!ret)
		ret = choose_segments(dev, &d, td);
	if (ret)
		return ret;
	ret = alloc_queues(dev, &d, options(td)->hugepages);
	if (ret)
		return glue_fail(td, -ret, "cannot allocate %u queues%s: %s", d.queues,
				 options(td)->hugepages ? " in huge pages (vm.nr_hugepages)" : "",
				 strerror(-ret));
	return dev->transport->start(dev, td);
}

static void tear_down(struct shared_device *dev)
{
	dev->transport->close(dev);
	for (unsigned int i = 0; dev->queue && i < dev->nr_queues; i++) {
		if (dev->queue[i].kick_fd > 0)
			close(dev->queue[i].kick_fd);
		if (dev->queue[i].call_fd > 0)
			close(dev->queue[i].call_fd);
	}
	if (dev->claim && dev->claim != MAP_FAILED)
		munmap(dev->claim, dev->nr_queues * sizeof(*dev->claim));
	if (dev->arena.size)
		arena_destroy(&dev->arena);
	free(dev->queue);
}

static void destroy(struct shared_device *dev)
{
	if (!dev->error)
		tear_down(dev);
	free(dev->key);
	free(dev);
}

static struct shared_device *find(const struct thread_data *td)
{
	struct shared_device *dev = devices;

	while (dev && !is_device(dev, td))
		dev = dev->next;
	return dev;
}

/*
 * A device that could not be set up stays in the list too, so that the other jobs do not
 * wait for its answer once more each.
 */
static struct shared_device *create(struct thread_data *td)
{
	struct shared_device *dev = calloc(1, sizeof(*dev));

	if (!dev)
		return NULL;
	dev->transport = virtio_transport(options(td));
	dev->key = strdup(device_key(td));
	if (!dev->key) {
		free(dev);
		return NULL;
	}
	dev->error = set_up(dev, td);
	if (dev->error) {
		strcpy(dev->why, td->error ? td->verror : strerror(-dev->error));
		tear_down(dev);
	}
	dev->next = devices;
	devices = dev;
	return dev;
}

/**
 * shared_device_get - find the device of a job, or set it up for all that will use it
 * @td: the job
 *
 * Return: the device, or NULL with the error reported and set in the job.
 */
struct shared_device *shared_device_get(struct thread_data *td)
{
	struct shared_device *dev;

	if (!device_key(td)) {
		glue_fail(td, EINVAL, "missing %s", virtio_transport(options(td))->key_help);
		return NULL;
	}
	pthread_mutex_lock(&devices_lock);
	dev = find(td);
	if (!dev)
		dev = create(td);
	pthread_mutex_unlock(&devices_lock);
	if (dev && !dev->error)
		return dev;
	glue_set_error(td, dev ? -dev->error : ENOMEM, dev ? dev->why : strerror(ENOMEM));
	return NULL;
}

/* Whether the process or thread that holds a queue is gone. */
static bool is_gone(int owner)
{
	return kill(owner, 0) && errno == ESRCH;
}

/**
 * shared_device_claim - take a queue that no job uses
 * @dev: the device
 * @td: the job
 * @index: set to the queue
 *
 * Return: 0, or -EBUSY when all are taken, reported.
 */
int shared_device_claim(struct shared_device *dev, struct thread_data *td, unsigned int *index)
{
	int self = syscall(SYS_gettid);

	for (unsigned int i = 0; i < dev->nr_queues; i++) {
		int owner = atomic_load_explicit(&dev->claim[i], memory_order_relaxed);

		if (owner && !is_gone(owner))
			continue;
		/* pairs with the release in shared_device_release(): the ring is as its last owner left it */
		if (atomic_compare_exchange_strong_explicit(&dev->claim[i], &owner, self,
							    memory_order_acquire,
							    memory_order_relaxed)) {
			*index = i;
			return 0;
		}
	}
	return glue_fail(td, EBUSY, "all %u queues of %s device '%s' are in use by other jobs",
			 dev->nr_queues, dev->transport->name, dev->key);
}

/**
 * shared_device_release - give a queue back, with nothing in flight
 * @dev: the device
 * @index: the queue
 */
void shared_device_release(struct shared_device *dev, unsigned int index)
{
	/* pairs with the acquire in shared_device_claim() */
	atomic_store_explicit(&dev->claim[index], 0, memory_order_release);
}

/**
 * shared_device_describe - fill in what a device is, from its configuration
 * @dev: features, limits and max_queues are set, the last to 0 where it says that it has none
 * @config: as the device has it
 * @features: negotiated
 * @most: queues that its transport knows of
 *
 * VIRTIO 1.2, 5.2.4.
 */
void shared_device_describe(struct shared_device *dev, const struct virtio_blk_config *config,
			    uint64_t features, unsigned int most)
{
	unsigned int queues = features >> VIRTIO_BLK_F_MQ & 1 ? le16toh(config->num_queues) : 1;

	dev->features = features;
	blk_limits_read(&dev->limits, config, features);
	dev->max_queues = queues < most ? queues : most;
}

/**
 * shared_queue_parts - where a queue is in the memory of its device
 * @dev: the device, its memory there
 * @index: which queue
 *
 * Return: addresses here; the device adds guest_offset.
 */
struct vq_parts shared_queue_parts(const struct shared_device *dev, unsigned int index)
{
	struct blk_shape shape = shared_device_shape(dev);
	struct vq_driver ring;

	blk_queue_ring(&ring, dev->queue[index].mem, &shape);
	return vq_driver_parts(&ring);
}

/**
 * shared_device_fail - report why a device that one process at a time can have cannot be used
 * @td: the job
 * @dev: the device
 * @err: a negative errno
 * @why: a sentence
 *
 * Return: @err.
 */
int shared_device_fail(struct thread_data *td, const struct shared_device *dev, int err, const char *why)
{
	bool alone = err == -EBUSY && !td->o.create_serialize && !td->o.use_thread;

	return glue_fail(td, -err, "cannot use %s device %s: %s%s", dev->transport->name, dev->key, why,
			 alone ? "; create_serialize=0 has every process set up a device of its own: use thread=1" : "");
}

/**
 * virtio_status_fault - look for the end of a device in its status
 * @status: VIRTIO_CONFIG_S_* as read from the device while its queues are running
 * @why: set to what is wrong
 *
 * VIRTIO 1.2, 2.1.
 *
 * Return: 0 of a device that is well, or a negative errno.
 */
int virtio_status_fault(uint8_t status, const char **why)
{
	/* Registers of a PCI device that is no longer there. */
	if (status == 0xff) {
		*why = "it no longer answers";
		return -ENODEV;
	}
	if (!(status & VIRTIO_CONFIG_S_DRIVER_OK)) {
		*why = "somebody has reset it";
		return -ENODEV;
	}
	if (status & VIRTIO_CONFIG_S_NEEDS_RESET) {
		*why = "it has failed and asks to be reset (DEVICE_NEEDS_RESET)";
		return -EIO;
	}
	return 0;
}

/* At the end of the process that set them up; a forked job leaves by _exit(). */
__attribute__((destructor)) static void leave_devices(void)
{
	while (devices) {
		struct shared_device *dev = devices;

		devices = dev->next;
		destroy(dev);
	}
}
