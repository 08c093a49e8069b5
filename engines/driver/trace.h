/* SPDX-License-Identifier: GPL-2.0-only */
/* What the virtio-blk driver writes into a trace, where there is one */
#ifndef ENGINES_DRIVER_TRACE_H
#define ENGINES_DRIVER_TRACE_H

#include "engines/driver/virtio-blk.h"

static inline enum trace_kind blk_trace_kind(uint32_t type)
{
	switch (type) {
	case VIRTIO_BLK_T_IN:
		return TRACE_READ;
	case VIRTIO_BLK_T_OUT:
		return TRACE_WRITE;
	case VIRTIO_BLK_T_FLUSH:
		return TRACE_FLUSH;
	default:
		return TRACE_DISCARD;
	}
}

/**
 * blk_note_queued - a request begins; apart, see trace_note()
 * @q: its queue, with a trace
 * @i: its slot
 * @type: VIRTIO_BLK_T_*
 * @offset: first byte on the device
 * @len: bytes on the device
 */
static __attribute__((noinline)) void blk_note_queued(struct blk_queue *q, unsigned int i,
						      uint32_t type, uint64_t offset, uint32_t len)
{
	trace_put(q->trace, (struct trace_record) {
		.event = TRACE_QUEUE, .kind = blk_trace_kind(type), .queue = q->number,
		/* what the device calls it: its head, or buffer id */
		.tag = q->owns_chain ? i * VQ_CHAIN : i,
		.offset = offset, .bytes = len,
	});
}

/**
 * blk_note_seen - a completion has been taken
 * @q: its queue
 * @i: its slot
 * @tag: what the device calls it
 */
static inline void blk_note_seen(struct blk_queue *q, unsigned int i, uint64_t tag)
{
	PROBE2(seen, IN_MEM(q->number), IN_REG(i));
	if (unlikely(q->trace))
		trace_note(q->trace, TRACE_SEEN, q->number, tag, 0);
}

#endif
