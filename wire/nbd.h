/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef WIRE_NBD_H
#define WIRE_NBD_H

#include <errno.h>
#include <stdint.h>

/*
 * The NBD protocol, fixed newstyle, as far as either side here speaks it. Numbers and
 * layouts follow doc/proto.md of the reference implementation; <linux/nbd.h> has only the
 * requests and simple replies, in the kernel's names. Every field on the wire is big-endian.
 */
#define NBD_MAGIC			0x4e42444d41474943ull	/* "NBDMAGIC" */
#define NBD_OPTION_MAGIC		0x49484156454f5054ull	/* "IHAVEOPT" */
#define NBD_OPTION_REPLY_MAGIC		0x0003e889045565a9ull
#define NBD_REQUEST_MAGIC		0x25609513u
#define NBD_SIMPLE_REPLY_MAGIC		0x67446698u
#define NBD_STRUCTURED_REPLY_MAGIC	0x668e33efu

/* Longest string: an export's name, a description, an error message. */
#define NBD_STRING_MAX		4096

/* Payload that either side takes where no other size was agreed on. */
#define NBD_PAYLOAD_MAX		(32u << 20)

/* Most extents in one reply to BLOCK_STATUS. */
#define NBD_EXTENTS_MAX		(1u << 20)

/* Handshake flags, of the server and, with the same values, of the client */
#define NBD_FLAG_FIXED_NEWSTYLE	(1u << 0)
#define NBD_FLAG_NO_ZEROES	(1u << 1)

/* Zeroes after the reply to EXPORT_NAME, unless both sides said NO_ZEROES. */
#define NBD_EXPORT_ZEROES	124

/* Transmission flags */
#define NBD_FLAG_HAS_FLAGS		(1u << 0)
#define NBD_FLAG_READ_ONLY		(1u << 1)
#define NBD_FLAG_SEND_FLUSH		(1u << 2)
#define NBD_FLAG_SEND_FUA		(1u << 3)
#define NBD_FLAG_ROTATIONAL		(1u << 4)
#define NBD_FLAG_SEND_TRIM		(1u << 5)
#define NBD_FLAG_SEND_WRITE_ZEROES	(1u << 6)
#define NBD_FLAG_SEND_DF		(1u << 7)
#define NBD_FLAG_CAN_MULTI_CONN		(1u << 8)
#define NBD_FLAG_SEND_CACHE		(1u << 10)
#define NBD_FLAG_SEND_FAST_ZERO		(1u << 11)

enum nbd_option {
	NBD_OPT_EXPORT_NAME = 1,
	NBD_OPT_ABORT = 2,
	NBD_OPT_LIST = 3,
	NBD_OPT_STARTTLS = 5,
	NBD_OPT_INFO = 6,
	NBD_OPT_GO = 7,
	NBD_OPT_STRUCTURED_REPLY = 8,
	NBD_OPT_LIST_META_CONTEXT = 9,
	NBD_OPT_SET_META_CONTEXT = 10,
};

#define NBD_REP_ERR(n)	((1u << 31) | (n))

/* Types of option replies */
#define NBD_REP_ACK			1u
#define NBD_REP_SERVER			2u
#define NBD_REP_INFO			3u
#define NBD_REP_META_CONTEXT		4u
#define NBD_REP_ERR_UNSUP		NBD_REP_ERR(1)
#define NBD_REP_ERR_POLICY		NBD_REP_ERR(2)
#define NBD_REP_ERR_INVALID		NBD_REP_ERR(3)
#define NBD_REP_ERR_PLATFORM		NBD_REP_ERR(4)
#define NBD_REP_ERR_TLS_REQD		NBD_REP_ERR(5)
#define NBD_REP_ERR_UNKNOWN		NBD_REP_ERR(6)
#define NBD_REP_ERR_SHUTDOWN		NBD_REP_ERR(7)
#define NBD_REP_ERR_BLOCK_SIZE_REQD	NBD_REP_ERR(8)
#define NBD_REP_ERR_TOO_BIG		NBD_REP_ERR(9)

/* What INFO and GO can ask for */
enum nbd_info {
	NBD_INFO_EXPORT = 0,
	NBD_INFO_NAME = 1,
	NBD_INFO_DESCRIPTION = 2,
	NBD_INFO_BLOCK_SIZE = 3,
};

enum nbd_command {
	NBD_CMD_READ = 0,
	NBD_CMD_WRITE = 1,
	NBD_CMD_DISC = 2,
	NBD_CMD_FLUSH = 3,
	NBD_CMD_TRIM = 4,
	NBD_CMD_CACHE = 5,
	NBD_CMD_WRITE_ZEROES = 6,
	NBD_CMD_BLOCK_STATUS = 7,
	NBD_CMD_MAX
};

/* Command flags */
#define NBD_CMD_FLAG_FUA	(1u << 0)
#define NBD_CMD_FLAG_NO_HOLE	(1u << 1)	/* WRITE_ZEROES */
#define NBD_CMD_FLAG_DF		(1u << 2)	/* READ: one chunk of content */
#define NBD_CMD_FLAG_REQ_ONE	(1u << 3)	/* BLOCK_STATUS: one extent */
#define NBD_CMD_FLAG_FAST_ZERO	(1u << 4)	/* WRITE_ZEROES: only if faster than writing */

/* Flag of structured replies */
#define NBD_REPLY_FLAG_DONE	(1u << 0)

#define NBD_REPLY_ERR(n)	((1u << 15) | (n))

/* Types of structured replies */
#define NBD_REPLY_TYPE_NONE		0u
#define NBD_REPLY_TYPE_OFFSET_DATA	1u
#define NBD_REPLY_TYPE_OFFSET_HOLE	2u
#define NBD_REPLY_TYPE_BLOCK_STATUS	5u
#define NBD_REPLY_TYPE_ERROR		NBD_REPLY_ERR(1)
#define NBD_REPLY_TYPE_ERROR_OFFSET	NBD_REPLY_ERR(2)

/* Of base:allocation */
#define NBD_STATE_HOLE	(1u << 0)
#define NBD_STATE_ZERO	(1u << 1)

/* Errors; anything else a client takes for EINVAL. */
#define NBD_EPERM	1u
#define NBD_EIO		5u
#define NBD_ENOMEM	12u
#define NBD_EINVAL	22u
#define NBD_ENOSPC	28u
#define NBD_EOVERFLOW	75u
#define NBD_ENOTSUP	95u
#define NBD_ESHUTDOWN	108u

/* What the server says first; the client answers with 32 bits of flags. */
struct nbd_greeting {
	uint64_t magic;
	uint64_t option_magic;
	uint16_t flags;
} __attribute__((packed));

struct nbd_option_header {
	uint64_t magic;
	uint32_t option;
	uint32_t len;		/* of the data behind it */
} __attribute__((packed));

struct nbd_option_reply {
	uint64_t magic;
	uint32_t option;
	uint32_t type;
	uint32_t len;		/* of the data behind it */
} __attribute__((packed));

/* The answer to EXPORT_NAME, which has no header. */
struct nbd_export {
	uint64_t size;
	uint16_t flags;
} __attribute__((packed));

struct nbd_info_export {
	uint16_t type;
	struct nbd_export e;
} __attribute__((packed));

struct nbd_info_block_size {
	uint16_t type;
	uint32_t min;
	uint32_t preferred;
	uint32_t max_payload;
} __attribute__((packed));

/* The data of WRITE follows. */
struct nbd_request {
	uint32_t magic;
	uint16_t flags;
	uint16_t type;
	uint64_t cookie;
	uint64_t offset;
	uint32_t len;
} __attribute__((packed));

/* The data of READ follows, unless there was an error. */
struct nbd_simple_reply {
	uint32_t magic;
	uint32_t error;
	uint64_t cookie;
} __attribute__((packed));

/* One chunk of a structured reply. */
struct nbd_chunk {
	uint32_t magic;
	uint16_t flags;
	uint16_t type;
	uint64_t cookie;
	uint32_t len;		/* of what follows */
} __attribute__((packed));

/* OFFSET_DATA; the data follows and counts in h.len. */
struct nbd_chunk_data {
	struct nbd_chunk h;
	uint64_t offset;
} __attribute__((packed));

struct nbd_chunk_hole {
	struct nbd_chunk h;
	uint64_t offset;
	uint32_t len;
} __attribute__((packed));

/* ERROR and ERROR_OFFSET; the message follows, then an ERROR_OFFSET's 64 bits of offset. */
struct nbd_chunk_error {
	struct nbd_chunk h;
	uint32_t error;
	uint16_t message_len;
} __attribute__((packed));

/* BLOCK_STATUS; extents follow. */
struct nbd_chunk_status {
	struct nbd_chunk h;
	uint32_t context;
} __attribute__((packed));

struct nbd_extent {
	uint32_t len;
	uint32_t flags;
} __attribute__((packed));

/**
 * nbd_error - an errno as the protocol knows it
 * @err: 0 or a negative errno
 *
 * "Error values" of the specification: what has no number there becomes EIO, so that no
 * client has to guess.
 *
 * Return: 0 or NBD_E*, in the host's byte order.
 */
static inline uint32_t nbd_error(int err)
{
	switch (-err) {
	case 0:
		return 0;
	case EPERM:
	case EROFS:
		return NBD_EPERM;
	case ENOMEM:
		return NBD_ENOMEM;
	case EINVAL:
		return NBD_EINVAL;
	case ENOSPC:
	case EDQUOT:
	case EFBIG:
		return NBD_ENOSPC;
	case EOVERFLOW:
		return NBD_EOVERFLOW;
	case EOPNOTSUPP:
		return NBD_ENOTSUP;
	case ESHUTDOWN:
		return NBD_ESHUTDOWN;
	default:
		return NBD_EIO;
	}
}

/**
 * nbd_errno - an error of the protocol as an errno
 * @error: NBD_E*, in the host's byte order, or anything a server may send
 *
 * Return: 0 or a negative errno; -EINVAL for a number that the specification does not
 * have, as it asks for.
 */
static inline int nbd_errno(uint32_t error)
{
	switch (error) {
	case 0:
		return 0;
	case NBD_EPERM:
		return -EPERM;
	case NBD_EIO:
		return -EIO;
	case NBD_ENOMEM:
		return -ENOMEM;
	case NBD_ENOSPC:
		return -ENOSPC;
	case NBD_EOVERFLOW:
		return -EOVERFLOW;
	case NBD_ENOTSUP:
		return -EOPNOTSUPP;
	case NBD_ESHUTDOWN:
		return -ESHUTDOWN;
	default:
		return -EINVAL;
	}
}

#endif
