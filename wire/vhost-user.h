/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef WIRE_VHOST_USER_H
#define WIRE_VHOST_USER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * The vhost-user protocol, as far as either side here speaks it. Numbers and layouts
 * follow QEMU's docs/interop/vhost-user.rst; no header of the system carries them.
 */
enum vu_request {
	VU_GET_FEATURES = 1,
	VU_SET_FEATURES = 2,
	VU_SET_OWNER = 3,
	VU_RESET_OWNER = 4,
	VU_SET_MEM_TABLE = 5,
	VU_SET_VRING_NUM = 8,
	VU_SET_VRING_ADDR = 9,
	VU_SET_VRING_BASE = 10,
	VU_GET_VRING_BASE = 11,
	VU_SET_VRING_KICK = 12,
	VU_SET_VRING_CALL = 13,
	VU_SET_VRING_ERR = 14,
	VU_GET_PROTOCOL_FEATURES = 15,
	VU_SET_PROTOCOL_FEATURES = 16,
	VU_GET_QUEUE_NUM = 17,
	VU_SET_VRING_ENABLE = 18,
	VU_GET_CONFIG = 24,
	VU_SET_CONFIG = 25,
	VU_GET_INFLIGHT_FD = 31,
	VU_SET_INFLIGHT_FD = 32,
	VU_GET_MAX_MEM_SLOTS = 36,
	VU_ADD_MEM_REG = 37,
	VU_REM_MEM_REG = 38,
	VU_REQUEST_MAX
};

/* Feature bit that says protocol features can be negotiated. */
#define VU_F_PROTOCOL_FEATURES		30

enum vu_protocol_feature {
	VU_PROTOCOL_F_MQ = 0,
	VU_PROTOCOL_F_REPLY_ACK = 3,
	VU_PROTOCOL_F_CONFIG = 9,
	VU_PROTOCOL_F_INFLIGHT_SHMFD = 12,
	VU_PROTOCOL_F_CONFIGURE_MEM_SLOTS = 15,
};

#define VU_VERSION		0x1u
#define VU_VERSION_MASK		0x3u
#define VU_FLAG_REPLY		0x4u
#define VU_FLAG_NEED_REPLY	0x8u

/* In the u64 of SET_VRING_KICK/CALL/ERR: the queue, and that no fd comes with it. */
#define VU_VRING_INDEX_MASK	0xffu
#define VU_VRING_NOFD		0x100u

#define VU_MAX_QUEUES		(VU_VRING_INDEX_MASK + 1)

#define VU_MAX_FDS		8
#define VU_CONFIG_MAX		256

struct vu_vring_state {
	uint32_t index;
	uint32_t num;
} __attribute__((packed));

struct vu_vring_addr {
	uint32_t index;
	uint32_t flags;
	uint64_t desc;
	uint64_t used;
	uint64_t avail;
	uint64_t log;
} __attribute__((packed));

struct vu_region {
	uint64_t guest;
	uint64_t size;
	uint64_t user;
	uint64_t offset;
} __attribute__((packed));

struct vu_mem_table {
	uint32_t nr;
	uint32_t padding;
	struct vu_region region[VU_MAX_FDS];
} __attribute__((packed));

struct vu_mem_reg {
	uint64_t padding;
	struct vu_region region;
} __attribute__((packed));

struct vu_config {
	uint32_t offset;
	uint32_t size;
	uint32_t flags;
	uint8_t data[VU_CONFIG_MAX];
} __attribute__((packed));

/* Peers send it with the padding that a compiler adds, and SPDK takes no other. */
struct vu_inflight {
	uint64_t mmap_size;
	uint64_t mmap_offset;
	uint16_t num_queues;
	uint16_t queue_size;
	uint32_t padding;
} __attribute__((packed));

struct vu_header {
	uint32_t request;
	uint32_t flags;
	uint32_t size;		/* of the payload */
} __attribute__((packed));

/**
 * struct vu_msg - one message with the descriptors that came with it
 * @fd: descriptors; whoever takes one out sets its entry to -1
 * @nr_fds: entries in @fd
 */
struct vu_msg {
	struct vu_header h;
	union {
		uint64_t u64;
		struct vu_vring_state state;
		struct vu_vring_addr addr;
		struct vu_mem_table table;
		struct vu_mem_reg reg;
		struct vu_config config;
		struct vu_inflight inflight;
	} __attribute__((packed));
	int fd[VU_MAX_FDS];
	unsigned int nr_fds;
};

#define VU_PAYLOAD_MAX	(offsetof(struct vu_msg, fd) - sizeof(struct vu_header))

const char *vu_request_name(uint32_t request);
int vu_recv(int sock, struct vu_msg *msg, int timeout_ms);
int vu_send(int sock, struct vu_msg *msg);
int vu_recv_from(int sock, struct vu_msg *msg, int timeout_ms, void (*discard)(int fd));
void vu_close_fds(struct vu_msg *msg);
void vu_discard_fds(struct vu_msg *msg, void (*discard)(int fd));

#endif
