/* SPDX-License-Identifier: GPL-2.0-only */
/* The life of a ublk device: made, or taken over from a target that was killed; removed at the end */

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/stat.h>
#include <sys/sysinfo.h>
#include <unistd.h>
#include "base/clock.h"
#include "targets/options.h"
#include "targets/ublk/device.h"

/* Most data of a request: what an iothread does in one go */
#define MAX_BYTES	((uint32_t)SLICE_BYTES)

/* Most bytes of a discard or of zeroes to write: 1 GiB, as the virtio device has it */
#define RANGE_BYTES	(UINT64_C(1) << 30)

/* A device that has to come to a state, or udev to a file's owner, may take that long. */
#define PATIENCE_NS	UINT64_C(5000000000)
#define LOOK_US		10000

/* And one that was removed to go away, which it does when nobody has it open: udev may for a moment. */
#define GONE_NS		UINT64_C(1000000000)

/* In a device's ublksrv_flags, which are its server's own: it is one of ours, and of which file */
#define MARK		(UINT64_C(0x6470) << 48)
#define MARK_BITS	48

static int complain(const struct ublk_device *d, const char *what, int ret)
{
	options_error(NULL, NULL, "ublk%u: %s: %s", d->info.dev_id, what, strerror(-ret));
	return ret;
}

/* Wait until @fn returns something other than @not_yet. */
static int wait_while(int not_yet, int (*fn)(struct ublk_device *d), struct ublk_device *d, uint64_t ns)
{
	uint64_t until = clock_ns() + ns;
	int ret;

	while ((ret = fn(d)) == not_yet && clock_ns() < until)
		usleep(LOOK_US);
	return ret;
}

/* A name for the backend's data that outlives the target: the same file gives the same. */
static uint64_t mark_of(const struct backend *b)
{
	struct stat st;
	uint64_t h;

	if (!b->config.path || fstat(b->fd, &st))
		return MARK;
	h = b->is_block ? st.st_rdev : (st.st_dev * UINT64_C(0x9e3779b97f4a7c15)) ^ st.st_ino;
	h *= UINT64_C(0xbf58476d1ce4e5b9);
	return MARK | h >> (64 - MARK_BITS);
}

static bool is_ours(const struct ublksrv_ctrl_dev_info *info)
{
	return info->ublksrv_flags >> MARK_BITS == MARK >> MARK_BITS;
}

static uint8_t shift_of(uint32_t size)
{
	return (uint8_t)__builtin_ctz(size);
}

static struct ublk_limits params_of(const struct ublk_device *d)
{
	struct ublk_limits p = {
		.types = UBLK_PARAM_TYPE_BASIC,
		.basic = {
			.attrs = UBLK_ATTR_VOLATILE_CACHE | UBLK_ATTR_FUA |
				 (d->config.read_only ? UBLK_ATTR_READ_ONLY : 0),
			.logical_bs_shift = shift_of(d->config.block_size),
			.physical_bs_shift = shift_of(d->config.block_size),
			.io_min_shift = shift_of(d->config.block_size),
			.io_opt_shift = shift_of(d->config.block_size),
			.max_sectors = d->info.max_io_buf_bytes >> 9,
			.dev_sectors = d->backend->size >> 9,
		},
	};

	/* The memory of others, which the driver does not copy for us, must be good for O_DIRECT. */
	if (d->config.zero_copy && d->backend->config.direct) {
		p.types |= UBLK_PARAM_TYPE_MEMORY;
		p.alignment = d->backend->mem_align - 1;
	}
	if (d->config.read_only)
		return p;
	p.types |= UBLK_PARAM_TYPE_DISCARD;
	p.discard = (struct ublk_param_discard) {
		.discard_granularity = d->config.block_size,
		.max_discard_sectors = RANGE_BYTES >> 9,
		.max_write_zeroes_sectors = RANGE_BYTES >> 9,
		.max_discard_segments = 1,
	};
	return p;
}

static int try_to_add(struct ublk_device *d, uint64_t flags)
{
	const struct ublk_config *config = &d->config;

	d->info = (struct ublksrv_ctrl_dev_info) {
		.nr_hw_queues = (__u16)(config->num_queues ? config->num_queues : (unsigned int)get_nprocs_conf()),
		.queue_depth = (__u16)config->queue_depth,
		.max_io_buf_bytes = MAX_BYTES,
		.dev_id = (__u32)config->number,
		.flags = flags | UBLK_F_CMD_IOCTL_ENCODE | (config->zero_copy ? UBLK_F_AUTO_BUF_REG : 0) |
			 (config->recoverable ? UBLK_F_USER_RECOVERY | UBLK_F_USER_RECOVERY_REISSUE : 0),
		.ublksrv_flags = mark_of(d->backend),
	};
	return ublk_add(d->control, &d->info);
}

/* Without CAP_SYS_ADMIN the kernel makes unprivileged devices alone. */
static int add(struct ublk_device *d)
{
	int ret = try_to_add(d, 0);

	if (ret == -EPERM && d->config.zero_copy)
		return options_error(NULL, "zero-copy", "for root alone: who leaves memory as it was could show it to others");
	if (ret == -EPERM)
		ret = try_to_add(d, UBLK_F_UNPRIVILEGED_DEV);
	if (!ret)
		return 0;
	options_error(NULL, NULL, "cannot make a ublk device: %s%s", strerror(-ret),
		      ret == -EACCES ? " (see /sys/module/ublk_drv/parameters/ublks_max)" :
		      ret == -EOPNOTSUPP || ret == -EINVAL ? " (Linux 6.4 or newer is needed)" : "");
	return ret;
}

static int try_to_open(const struct ublk_device *d)
{
	char path[32];
	int fd;

	snprintf(path, sizeof(path), "/dev/ublkc%u", d->info.dev_id);
	fd = open(path, O_RDWR | O_CLOEXEC);
	return fd < 0 ? -errno : fd;
}

/* The node comes a moment later, and an unprivileged user's becomes theirs by a rule of udev. */
static int open_file(struct ublk_device *d)
{
	d->fd = try_to_open(d);
	return d->fd == -ENOENT || d->fd == -EACCES || d->fd == -EPERM;
}

static struct iothread *iothread_of(const struct ublk_device *d, unsigned int queue)
{
	const struct ublk_config *config = &d->config;
	unsigned int n = config->nr_map ? config->map[queue % config->nr_map] : config->first_iothread + queue;

	return &config->iothreads[n % config->nr_iothreads];
}

static int start_queues(struct ublk_device *d)
{
	unsigned int nr = d->info.nr_hw_queues;

	d->queue = alloc_apart(nr, sizeof(*d->queue));
	if (!d->queue)
		return -ENOMEM;
	for (unsigned int i = 0; i < nr; i++) {
		struct ublk_queue *q = &d->queue[i];
		int ret;

		q->backend = d->backend;
		q->number = (uint16_t)i;
		q->depth = d->info.queue_depth;
		q->max_bytes = d->info.max_io_buf_bytes;
		q->read_only = d->config.read_only;
		q->zero_copy = d->config.zero_copy;
		q->fd = d->fd;
		q->lost_fd = d->lost_fd;
		ret = ublk_queue_start(q, iothread_of(d, i));
		if (ret)
			return ret;
		d->nr_started++;
	}
	return 0;
}

/* With all of its requests answered. If the driver does not stop it, the end of the process does. */
static int stop(struct ublk_device *d)
{
	int ret;

	for (unsigned int i = 0; i < d->nr_started; i++)
		ublk_queue_close(&d->queue[i]);
	ret = ublk_stop(d->control, &d->info);
	if (ret && ret != -ENODEV)
		return complain(d, "cannot stop it", ret);
	for (unsigned int i = 0; i < d->nr_started; i++)
		ublk_queue_stop(&d->queue[i]);
	return 0;
}

static int is_there(struct ublk_device *d)
{
	struct ublksrv_ctrl_dev_info info;

	/* Of one that was removed and is open somewhere the file is missing already. */
	return ublk_get_info(d->control, d->info.dev_id, &info) != -ENODEV;
}

static void delete(struct ublk_device *d)
{
	int ret = ublk_delete(d->control, &d->info);

	if (ret == -ENODEV)
		return;
	if (ret)
		complain(d, "cannot remove it", ret);
	else if (wait_while(1, is_there, d, GONE_NS))
		options_error(NULL, NULL, "ublk%u: still open somewhere; it is gone when that is closed", d->info.dev_id);
}

static int open_files(struct ublk_device *d)
{
	d->fd = -1;
	d->lost_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (d->lost_fd < 0)
		return complain(d, "eventfd", -errno);
	wait_while(1, open_file, d, PATIENCE_NS);
	if (d->fd == -EACCES || d->fd == -EPERM)
		return complain(d, "cannot open its /dev/ublkc (a rule of udev must make it yours)", d->fd);
	return d->fd < 0 ? complain(d, "cannot open its /dev/ublkc", d->fd) : 0;
}

static int make(struct ublk_device *d)
{
	struct ublk_limits params;
	int ret = add(d);

	if (ret)
		return ret;
	if (d->config.recoverable && !(d->info.flags & UBLK_F_USER_RECOVERY_REISSUE))
		options_error(NULL, NULL, "ublk%u: no target can take it over if this one is killed: the kernel lets root's devices alone wait for that",
			      d->info.dev_id);
	ret = open_files(d);
	if (!ret) {
		params = params_of(d);
		ret = ublk_set_params(d->control, &d->info, &params);
		if (ret)
			complain(d, "the kernel does not take its limits", ret);
	}
	if (!ret) {
		ret = start_queues(d);
		if (ret)
			complain(d, "cannot start its queues", ret);
	}
	if (!ret) {
		ret = ublk_start(d->control, &d->info);
		if (ret)
			complain(d, "cannot start it", ret);
	}
	if (ret)
		ublk_device_close(d);
	return ret;
}

static int begin_recovery(struct ublk_device *d)
{
	int ret = ublk_start_recovery(d->control, &d->info);

	/* Linux 6.12 says so if it has been begun already, by a target that was killed before the end. */
	return ret == -EINVAL ? 0 : ret;
}

/*
 * The kernel has kept all requests that were not answered, and gives them to us: there is none that
 * was answered and is not in the file. If this fails, the device goes on waiting.
 */
static int take_over(struct ublk_device *d)
{
	int ret = wait_while(-EBUSY, begin_recovery, d, PATIENCE_NS);

	if (ret)
		return complain(d, "cannot take it over", ret);
	ret = open_files(d);
	if (ret)
		return ret;
	ret = start_queues(d);
	if (!ret)
		ret = ublk_end_recovery(d->control, &d->info);
	return ret ? complain(d, "cannot take it over", ret) : 0;
}

/* A server that is being killed leaves its device live for a moment. */
static int is_live(struct ublk_device *d)
{
	int ret = ublk_get_info(d->control, (unsigned int)d->config.number, &d->info);

	return ret ? ret : d->info.state == UBLK_S_DEV_LIVE ? 1 : 0;
}

static int check_same(struct ublk_device *d)
{
	struct ublk_limits wanted = params_of(d), has;
	int ret;

	if (d->info.ublksrv_flags != mark_of(d->backend))
		return options_error(NULL, "device", "%u was left by a target with another --backend: start that one again, or remove the device with --remove",
				     d->info.dev_id);
	ret = ublk_get_params(d->control, &d->info, &has);
	if (ret)
		return complain(d, "cannot read its limits", ret);
	if (has.basic.dev_sectors != wanted.basic.dev_sectors ||
	    has.basic.logical_bs_shift != wanted.basic.logical_bs_shift ||
	    (has.basic.attrs & UBLK_ATTR_READ_ONLY) != (wanted.basic.attrs & UBLK_ATTR_READ_ONLY) ||
	    !(d->info.flags & UBLK_F_AUTO_BUF_REG) != !d->config.zero_copy)
		return options_error(NULL, "device", "%u was left by a target with another --size, --block-size, --read-only or --zero-copy",
				     d->info.dev_id);
	return 0;
}

/* Of a server that is being killed or that has not made its device live yet; two cannot have the file open. */
static int is_open(struct ublk_device *d)
{
	int fd = try_to_open(d);

	if (fd >= 0)
		close(fd);
	return fd == -EBUSY;
}

/* Returns 1 for a device that a killed target has left, 0 when there is none. */
static int find_left(struct ublk_device *d)
{
	int ret = wait_while(1, is_live, d, PATIENCE_NS);

	if (ret == -ENOENT)
		ret = wait_while(-ENOENT, is_live, d, GONE_NS);
	if (ret == -ENODEV)
		return 0;
	if (ret == 1)
		return options_error(NULL, "device", "%d is served by process %d", d->config.number,
				     d->info.ublksrv_pid);
	if (ret == -ENOENT)
		return options_error(NULL, "device", "%d was removed, but is still open somewhere", d->config.number);
	if (ret)
		return options_error(NULL, "device", "%d: %s", d->config.number, strerror(-ret));
	if (!is_ours(&d->info))
		return options_error(NULL, "device", "%d belongs to another program", d->config.number);
	if (wait_while(1, is_open, d, PATIENCE_NS))
		return options_error(NULL, "device", "%d belongs to another target", d->config.number);
	return 1;
}

/* The same, where it is to be taken over; what has ended with its target is removed. */
static int find(struct ublk_device *d)
{
	int ret = d->config.number == UBLK_ANY ? 0 : find_left(d);

	if (ret != 1)
		return ret;
	if (d->info.state != UBLK_S_DEV_DEAD)
		return check_same(d) ? : 1;
	delete(d);
	return 0;
}

/**
 * ublk_device_open - make a device and serve it, or take over what a killed target has left
 * @d: control, backend and config set; the rest filled in
 *
 * Return: 0 or a negative errno, reported, with no device left that was not there.
 */
int ublk_device_open(struct ublk_device *d)
{
	uint64_t features = 0;
	int ret;

	if (d->config.zero_copy && (ublk_get_features(d->control, &features) || !(features & UBLK_F_AUTO_BUF_REG)))
		return options_error(NULL, "zero-copy", "this kernel's ublk driver has none: Linux 6.16 or newer is needed");
	ret = find(d);
	if (ret < 0)
		return ret;
	return ret ? take_over(d) : make(d);
}

/**
 * ublk_device_close - answer what is in flight, and remove the device
 * @d: the device
 */
void ublk_device_close(struct ublk_device *d)
{
	if (stop(d))
		return;
	if (d->fd >= 0)
		close(d->fd);
	close(d->lost_fd);
	free(d->queue);
	delete(d);
}

/**
 * ublk_device_remove - remove a device that a killed target has left
 * @c: the way to the driver
 * @number: N of /dev/ublkbN
 *
 * Return: 0 or a negative errno, reported.
 */
int ublk_device_remove(struct ublk_control *c, unsigned int number)
{
	struct ublk_device d = { .control = c, .config.number = (int)number, .fd = -1, .lost_fd = -1 };
	int ret = find_left(&d);

	if (ret < 0)
		return ret;
	if (!ret)
		return options_error(NULL, "device", "%u: there is no such device", number);
	ret = stop(&d);
	if (!ret)
		delete(&d);
	return ret;
}
