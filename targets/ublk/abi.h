/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The kernel's side of ublk: <linux/ublk_cmd.h>, and what the header of Debian 12 (Linux 6.1) does
 * not have yet, with the values of Linux 6.12's.
 */
#ifndef TARGETS_UBLK_ABI_H
#define TARGETS_UBLK_ABI_H

#include <linux/ublk_cmd.h>
#include <stddef.h>
#include <string.h>
#include <sys/ioctl.h>

/* Commands are numbers of ioctls since Linux 6.4; kernels may be built without the ones before. */
#ifndef UBLK_U_CMD_ADD_DEV
#define UBLK_U_CMD_ADD_DEV	_IOWR('u', UBLK_CMD_ADD_DEV, struct ublksrv_ctrl_cmd)
#define UBLK_U_CMD_DEL_DEV	_IOWR('u', UBLK_CMD_DEL_DEV, struct ublksrv_ctrl_cmd)
#define UBLK_U_CMD_START_DEV	_IOWR('u', UBLK_CMD_START_DEV, struct ublksrv_ctrl_cmd)
#define UBLK_U_CMD_STOP_DEV	_IOWR('u', UBLK_CMD_STOP_DEV, struct ublksrv_ctrl_cmd)
#define UBLK_U_CMD_SET_PARAMS	_IOWR('u', UBLK_CMD_SET_PARAMS, struct ublksrv_ctrl_cmd)
#define UBLK_U_CMD_GET_PARAMS	_IOR('u', UBLK_CMD_GET_PARAMS, struct ublksrv_ctrl_cmd)
#define UBLK_U_CMD_START_USER_RECOVERY \
	_IOWR('u', UBLK_CMD_START_USER_RECOVERY, struct ublksrv_ctrl_cmd)
#define UBLK_U_CMD_END_USER_RECOVERY \
	_IOWR('u', UBLK_CMD_END_USER_RECOVERY, struct ublksrv_ctrl_cmd)
#endif
#ifndef UBLK_U_CMD_GET_DEV_INFO2
#define UBLK_U_CMD_GET_DEV_INFO2	_IOR('u', 0x12, struct ublksrv_ctrl_cmd)
#endif
#ifndef UBLK_U_CMD_GET_FEATURES
#define UBLK_U_CMD_GET_FEATURES		_IOR('u', 0x13, struct ublksrv_ctrl_cmd)
#endif
#ifndef UBLK_U_CMD_DEL_DEV_ASYNC
#define UBLK_U_CMD_DEL_DEV_ASYNC	_IOR('u', 0x14, struct ublksrv_ctrl_cmd)
#endif
#ifndef UBLK_U_IO_FETCH_REQ
#define UBLK_U_IO_FETCH_REQ		_IOWR('u', UBLK_IO_FETCH_REQ, struct ublksrv_io_cmd)
#define UBLK_U_IO_COMMIT_AND_FETCH_REQ	_IOWR('u', UBLK_IO_COMMIT_AND_FETCH_REQ, struct ublksrv_io_cmd)
#endif

#ifndef UBLK_F_UNPRIVILEGED_DEV
#define UBLK_F_UNPRIVILEGED_DEV		(1UL << 5)
#endif
#ifndef UBLK_F_CMD_IOCTL_ENCODE
#define UBLK_F_CMD_IOCTL_ENCODE		(1UL << 6)
#endif
#ifndef UBLK_F_AUTO_BUF_REG		/* Linux 6.16 */
#define UBLK_F_AUTO_BUF_REG		(1ULL << 11)
#endif

#define UBLK_CONTROL_PATH	"/dev/ublk-control"

#define UBLK_PARAM_TYPE_MEMORY	(1 << 4)	/* UBLK_PARAM_TYPE_DMA_ALIGN, Linux 6.14 */

/**
 * struct ublk_limits - struct ublk_params of Linux 6.14, of which older kernels and headers have the front
 * @len: bytes of it
 * @types: which parts are filled in
 * @basic, @discard: parts of all versions
 * @others: device numbers and zones
 * @alignment: what addresses in memory must be a multiple of, less 1
 * @pad: none
 */
struct ublk_limits {
	__u32 len;
	__u32 types;
	struct ublk_param_basic basic;
	struct ublk_param_discard discard;
	__u8 others[48];
	__u32 alignment;
	__u8 pad[8];
};

_Static_assert(offsetof(struct ublk_limits, discard) == offsetof(struct ublk_params, discard), "as the kernel has it");
_Static_assert(offsetof(struct ublk_limits, alignment) == 108, "as the kernel has it");

/* Where a queue's descriptors begin in /dev/ublkcN: each queue has room for the largest depth. */
static inline off_t ublk_descriptors_at(unsigned int queue, size_t page)
{
	size_t len = UBLK_MAX_QUEUE_DEPTH * sizeof(struct ublksrv_io_desc);

	return UBLKSRV_CMD_BUF_OFFSET + (off_t)queue * (off_t)((len + page - 1) / page * page);
}

/*
 * A command on a device may carry the path of its /dev/ublkcN, with its null byte, in front of its
 * buffer: how long it is says the member dev_path_len, which old headers call data[1].
 */
static inline void ublk_set_path_len(struct ublksrv_ctrl_cmd *cmd, __u16 len)
{
	memcpy((char *)cmd + offsetof(struct ublksrv_ctrl_cmd, data) + sizeof(__u64), &len, sizeof(len));
}

#endif
