/* SPDX-License-Identifier: GPL-2.0-only */
/* Commands that make, start, stop and remove ublk devices: Documentation/block/ublk.rst, "Control plane" */

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include "base/clock.h"
#include "targets/options.h"
#include "targets/ublk/control.h"

/* How often to look whether the target is to end while a command takes long, in ms */
#define LOOK_MS		100

/* How long a device is waited for that somebody has open, where the driver does wait for it */
#define DELETE_NS	UINT64_C(1000000000)

/* A path, and behind it the largest buffer of a command */
#define PATH_ROOM	32
#define BUFFER_ROOM	256

_Static_assert(sizeof(struct ublk_limits) <= BUFFER_ROOM, "parameters fit");
_Static_assert(sizeof(struct ublksrv_ctrl_dev_info) <= BUFFER_ROOM, "what a device is fits");

/**
 * ublk_control_open - get ready for commands
 * @c: filled in; @is_ending, @hurry and @arg are left alone
 *
 * Return: 0 or a negative errno, reported.
 */
int ublk_control_open(struct ublk_control *c)
{
	int ret;

	c->fd = open(UBLK_CONTROL_PATH, O_RDWR | O_CLOEXEC);
	if (c->fd < 0) {
		ret = -errno;
		if (ret == -ENOENT)
			options_error(NULL, NULL, "no %s: the kernel's ublk driver is missing (modprobe ublk_drv; Linux 6.4 or newer)",
				      UBLK_CONTROL_PATH);
		else
			options_error(NULL, NULL, "cannot open %s: %s", UBLK_CONTROL_PATH, strerror(-ret));
		return ret;
	}
	ret = io_uring_queue_init(4, &c->ring, IORING_SETUP_SQE128);
	if (ret) {
		options_error(NULL, NULL, "io_uring is not available here: %s%s", strerror(-ret),
			      ret == -EPERM ? " (see /proc/sys/kernel/io_uring_disabled)" : "");
		close(c->fd);
	}
	return ret;
}

/**
 * ublk_control_close - undo ublk_control_open()
 * @c: the way to the driver
 */
void ublk_control_close(struct ublk_control *c)
{
	io_uring_queue_exit(&c->ring);
	close(c->fd);
}

/* The last command's answer, which answers to those before it may precede; false if it is not there yet */
static bool take_answer(struct ublk_control *c, int *answer)
{
	struct io_uring_cqe *cqe;
	bool is_it = false;

	while (!is_it && !io_uring_peek_cqe(&c->ring, &cqe)) {
		is_it = cqe->user_data == c->last;
		*answer = cqe->res;
		io_uring_cqe_seen(&c->ring, cqe);
	}
	return is_it;
}

/* Up to @limit_ns by clock_ns(), after which the command is left to itself */
static int wait_for_answer(struct ublk_control *c, uint64_t limit_ns)
{
	struct __kernel_timespec timeout = { .tv_nsec = LOOK_MS * 1000000 };
	bool hurried = !c->is_ending;
	struct io_uring_cqe *cqe;
	int ret;

	while (!take_answer(c, &ret)) {
		if (clock_ns() > limit_ns)
			return -ETIME;
		ret = io_uring_wait_cqe_timeout(&c->ring, &cqe, &timeout);
		if (ret && ret != -ETIME && ret != -EINTR && ret != -EAGAIN)
			return ret;
		if (!hurried && c->is_ending(c->arg)) {
			c->hurry(c->arg);
			hurried = true;
		}
	}
	return ret;
}

static int command(struct ublk_control *c, unsigned int op, const struct ublksrv_ctrl_cmd *cmd, uint64_t limit_ns)
{
	struct io_uring_sqe *sqe = io_uring_get_sqe(&c->ring);
	int ret;

	if (!sqe)
		return -EBUSY;
	memset(sqe, 0, 2 * sizeof(*sqe));
	sqe->opcode = IORING_OP_URING_CMD;
	sqe->fd = c->fd;
	sqe->cmd_op = op;
	sqe->user_data = ++c->last;
	memcpy(sqe->cmd, cmd, sizeof(*cmd));
	ret = io_uring_submit(&c->ring);
	return ret < 0 ? ret : wait_for_answer(c, limit_ns);
}

/**
 * ublk_get_features - what the driver can do
 * @c: the way to the driver
 * @features: filled in: UBLK_F_*
 *
 * Return: 0 or a negative errno, for which a driver older than Linux 6.5 is a reason.
 */
int ublk_get_features(struct ublk_control *c, uint64_t *features)
{
	struct ublksrv_ctrl_cmd cmd = {
		.queue_id = (__u16)-1,
		.addr = (uintptr_t)features,
		.len = sizeof(*features),
	};

	return command(c, UBLK_U_CMD_GET_FEATURES, &cmd, UINT64_MAX);
}

/*
 * A command on a device that is there, with @len bytes at @buf, which the driver may change. If the
 * device is an unprivileged user's, the path of its file stands in front of them, and the driver
 * looks at that file's permissions; GET_DEV_INFO2, which asks whose it is, has the path always.
 */
static int on_device(struct ublk_control *c, unsigned int op, ublk_device_info *info, void *buf, size_t len,
		     uint64_t data)
{
	char room[PATH_ROOM + BUFFER_ROOM];
	struct ublksrv_ctrl_cmd cmd = {
		.dev_id = info->dev_id,
		.queue_id = (__u16)-1,
		.addr = (uintptr_t)room,
		.data[0] = data,
	};
	size_t at = 0;
	int ret;

	if (op == UBLK_U_CMD_GET_DEV_INFO2 || info->flags & UBLK_F_UNPRIVILEGED_DEV) {
		at = (size_t)snprintf(room, PATH_ROOM, "/dev/ublkc%u", info->dev_id) + 1;
		ublk_set_path_len(&cmd, (__u16)at);
	}
	cmd.len = (__u16)(at + len);
	if (len)
		memcpy(room + at, buf, len);
	ret = command(c, op, &cmd, op == UBLK_U_CMD_DEL_DEV ? clock_ns() + DELETE_NS : UINT64_MAX);
	if (len)
		memcpy(buf, room + at, len);
	return ret;
}

/**
 * ublk_get_info - what a device is
 * @c: the way to the driver
 * @number: N of /dev/ublkcN
 * @info: filled in
 *
 * Return: 0, -ENODEV without such a device, or another negative errno.
 */
int ublk_get_info(struct ublk_control *c, unsigned int number, struct ublksrv_ctrl_dev_info *info)
{
	*info = (struct ublksrv_ctrl_dev_info) { .dev_id = number };
	return on_device(c, UBLK_U_CMD_GET_DEV_INFO2, info, info, sizeof(*info), 0);
}

/**
 * ublk_add - make a device, of which only /dev/ublkcN is there at first
 * @c: the way to the driver
 * @info: what is wanted, and then what it is; number -1 for any that is free
 *
 * Return: 0 or a negative errno.
 */
int ublk_add(struct ublk_control *c, struct ublksrv_ctrl_dev_info *info)
{
	struct ublksrv_ctrl_cmd cmd = {
		.dev_id = info->dev_id,
		.queue_id = (__u16)-1,
		.addr = (uintptr_t)info,
		.len = sizeof(*info),
	};

	return command(c, UBLK_U_CMD_ADD_DEV, &cmd, UINT64_MAX);
}

/**
 * ublk_set_params - set a device's limits, before it is started
 * @c: the way to the driver
 * @info: the device
 * @params: its limits
 *
 * Return: 0 or a negative errno.
 */
int ublk_set_params(struct ublk_control *c, ublk_device_info *info, struct ublk_limits *params)
{
	params->len = sizeof(*params);
	return on_device(c, UBLK_U_CMD_SET_PARAMS, info, params, sizeof(*params), 0);
}

/**
 * ublk_get_params - a device's limits
 * @c: the way to the driver
 * @info: the device
 * @params: filled in
 *
 * Return: 0 or a negative errno.
 */
int ublk_get_params(struct ublk_control *c, ublk_device_info *info, struct ublk_limits *params)
{
	params->len = sizeof(*params);
	return on_device(c, UBLK_U_CMD_GET_PARAMS, info, params, sizeof(*params), 0);
}

/**
 * ublk_start - make /dev/ublkbN, once all queues have asked for requests
 * @c: the way to the driver
 * @info: the device
 *
 * The kernel looks for partitions meanwhile, by requests that the queues must answer.
 *
 * Return: 0 or a negative errno.
 */
int ublk_start(struct ublk_control *c, ublk_device_info *info)
{
	return on_device(c, UBLK_U_CMD_START_DEV, info, NULL, 0, (uint64_t)getpid());
}

/**
 * ublk_stop - remove /dev/ublkbN and give all that the queues have asked for back to them
 * @c: the way to the driver
 * @info: the device
 *
 * Requests in flight must be answered meanwhile.
 *
 * Return: 0 or a negative errno.
 */
int ublk_stop(struct ublk_control *c, ublk_device_info *info)
{
	return on_device(c, UBLK_U_CMD_STOP_DEV, info, NULL, 0, 0);
}

/**
 * ublk_delete - remove a device
 * @c: the way to the driver
 * @info: the device; nobody here has its file open
 *
 * Does not wait for others that still have the block device open.
 *
 * Return: 0 or a negative errno.
 */
int ublk_delete(struct ublk_control *c, ublk_device_info *info)
{
	int ret = on_device(c, UBLK_U_CMD_DEL_DEV_ASYNC, info, NULL, 0, 0);

	/* Unknown before Linux 6.9, and in 6.12 for unprivileged devices still. */
	if (ret != -EOPNOTSUPP && ret != -EINVAL)
		return ret;
	ret = on_device(c, UBLK_U_CMD_DEL_DEV, info, NULL, 0, 0);
	return ret == -ETIME ? 0 : ret;
}

/**
 * ublk_start_recovery - begin to take over a device whose server has died
 * @c: the way to the driver
 * @info: the device
 *
 * Return: 0, -EBUSY while the driver has not come to the end of that yet, or another negative errno.
 */
int ublk_start_recovery(struct ublk_control *c, ublk_device_info *info)
{
	return on_device(c, UBLK_U_CMD_START_USER_RECOVERY, info, NULL, 0, 0);
}

/**
 * ublk_end_recovery - let a device go on, once all queues have asked for requests
 * @c: the way to the driver
 * @info: the device
 *
 * Return: 0 or a negative errno.
 */
int ublk_end_recovery(struct ublk_control *c, ublk_device_info *info)
{
	return on_device(c, UBLK_U_CMD_END_USER_RECOVERY, info, NULL, 0, (uint64_t)getpid());
}
