/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A queue of a ublk device: Documentation/block/ublk.rst, "Data plane". Without zero copy, data goes
 * through memory of ours, one piece a tag, into which the driver copies a write's before it completes the command, and from
 * which it copies a read's as it takes the answer. UBLK_F_USER_COPY would save that memory, but
 * costs a pread() or pwrite() a request, and unprivileged users may not have it.
 */

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include "base/container.h"
#include "base/cpu.h"
#include "base/fd.h"
#include "targets/ublk/queue.h"

#define SECTOR_SHIFT	9

/* The kernel has something for us that it enters into the ring when it is called. */
#define CALL_FOR_IT	(IORING_SQ_TASKRUN | IORING_SQ_CQ_OVERFLOW)

/* Beside each other, the data of all tags would compete for the same few sets of the cache. */
#define GAP		4096u

static struct ublk_queue *source_to_queue(struct event_source *s)
{
	return container_of(s, struct ublk_queue, source);
}

static struct iothread_stats *stats(struct ublk_queue *q)
{
	return &q->it->stats;
}

static unsigned int tag_of(const struct ublk_queue *q, const struct ublk_slot *s)
{
	return (unsigned int)(s - q->slot);
}

static inline void note(struct ublk_queue *q, enum trace_event event, uint64_t tag)
{
	if (unlikely(q->trace))
		trace_note(q->trace, event, q->number, tag, 0);
}

/* The ring has an entry for each tag, and a tag is in one command at a time, unless the driver is at fault. */
static void put_command(struct ublk_queue *q, unsigned int op, unsigned int tag, int result)
{
	struct io_uring_sqe *sqe = io_uring_get_sqe(&q->ring);
	struct ublksrv_io_cmd cmd = {
		.q_id = q->number,
		.tag = (__u16)tag,
		.result = result,
		.addr = q->zero_copy ? 0 : (uintptr_t)(q->memory + tag * q->stride),
	};

	if (unlikely(!sqe)) {
		eventfd_signal(q->lost_fd);
		return;
	}
	memset(sqe, 0, sizeof(*sqe));
	sqe->opcode = IORING_OP_URING_CMD;
	sqe->flags = IOSQE_FIXED_FILE;
	sqe->fd = 0;
	sqe->cmd_op = op;
	sqe->user_data = tag;
	/* As struct ublk_auto_buf_reg: where the ring finds the next request's memory */
	if (q->zero_copy)
		sqe->addr = tag;
	memcpy(sqe->cmd, &cmd, sizeof(cmd));
}

/* Answer a request, and ask for the next one of its tag, at the end of this turn. */
static void answer(struct ublk_queue *q, struct ublk_slot *s)
{
	struct channel_stats *stats = &q->it->channel->stats;
	struct blk_request *r = &s->r;
	bool has_data = r->kind == REQ_READ || r->kind == REQ_WRITE;
	unsigned int tag = tag_of(q, s);

	PROBE3(completed, IN_REG(r), IN_MEM(q->number), IN_REG(tag));
	note(q, TRACE_DONE, tag);
	if (likely(!r->result))
		counter_add(&stats->bytes[r->kind], r->len);
	else
		counter_add(&stats->errors, 1);
	put_command(q, UBLK_U_IO_COMMIT_AND_FETCH_REQ, tag,
		    r->result ? r->result : has_data ? (int)r->len : 0);
	iothread_defer(q->it, &q->submit);
}

static void request_done(struct blk_request *r)
{
	struct ublk_slot *s = container_of(r, struct ublk_slot, r);

	answer(s->queue, s);
}

static void submit(struct deferred *d)
{
	struct ublk_queue *q = container_of(d, struct ublk_queue, submit);

	if (!io_uring_sq_ready(&q->ring))
		return;
	counter_add(&stats(q)->batches, 1);
	counter_add(&stats(q)->calls, 1);
	PROBE1(published, IN_MEM(q->number));
	trace_batch(q->trace, TRACE_PUBLISH, q->number, 0);
	PROBE1(called, IN_MEM(q->number));
	trace_batch(q->trace, TRACE_CALL, q->number, 0);
	io_uring_submit_and_get_events(&q->ring);
	/* What the kernel does not take now is tried again by a later turn: see queue_poll(). */
	if (unlikely(io_uring_sq_ready(&q->ring)))
		event_source_rearm(&q->source);
}

static enum request_kind kind_of(uint32_t op)
{
	switch (op) {
	case UBLK_IO_OP_READ:
		return REQ_READ;
	case UBLK_IO_OP_WRITE:
		return REQ_WRITE;
	case UBLK_IO_OP_FLUSH:
		return REQ_FLUSH;
	case UBLK_IO_OP_DISCARD:
		return REQ_DISCARD;
	case UBLK_IO_OP_WRITE_ZEROES:
		return REQ_WRITE_ZEROES;
	default:
		return REQ_UNSUPPORTED;
	}
}

static unsigned int flags_of(enum request_kind kind, uint32_t op_flags)
{
	unsigned int flags = 0;

	if (op_flags & UBLK_IO_F_FUA && kind != REQ_READ && kind != REQ_FLUSH)
		flags |= BLK_FUA;
	if (kind == REQ_WRITE_ZEROES && !(op_flags & UBLK_IO_F_NOUNMAP))
		flags |= BLK_UNMAP;
	return flags;
}

/* Refuse what the driver should never ask for. */
static int check(const struct ublk_queue *q, const struct blk_request *r)
{
	uint64_t size = q->backend->size;

	if (r->kind == REQ_UNSUPPORTED)
		return -EOPNOTSUPP;
	if (q->read_only && r->kind != REQ_READ && r->kind != REQ_FLUSH)
		return -EPERM;
	if (r->offset > size || r->len > size - r->offset)
		return -EINVAL;
	if ((r->kind == REQ_READ || r->kind == REQ_WRITE) && (!r->len || r->len > q->max_bytes))
		return -EINVAL;
	return 0;
}

static void take_request(struct ublk_queue *q, unsigned int tag)
{
	const struct ublksrv_io_desc *d = &q->desc[tag];
	struct ublk_slot *s = &q->slot[tag];
	struct blk_request *r = &s->r;

	PROBE3(taken, IN_REG(r), IN_MEM(q->number), IN_REG(tag));
	if (unlikely(q->trace)) {
		r->work.name = (struct trace_name) { tag, q->number };
		note(q, TRACE_POP, tag);
	}
	r->kind = kind_of(d->op_flags & 0xff);
	r->flags = flags_of(r->kind, d->op_flags);
	r->offset = d->start_sector << SECTOR_SHIFT;
	r->len = (uint64_t)d->nr_sectors << SECTOR_SHIFT;
	if (r->kind == REQ_FLUSH)
		r->offset = r->len = 0;
	s->iov.iov_len = r->len;
	r->carry = q->zero_copy && (r->kind == REQ_READ || r->kind == REQ_WRITE) ? ublk_zero_copy_carry : NULL;
	counter_add(&q->it->channel->stats.requests[r->kind], 1);
	r->result = check(q, r);
	if (unlikely(r->result) || channel_submit(q->it->channel, r))
		answer(q, s);
}

/* A tag has come back without a request, which ends it. */
static void tag_ended(struct ublk_queue *q)
{
	q->held--;
	if (!q->closing)
		eventfd_signal(q->lost_fd);
	else if (!q->held)
		sem_post(&q->ended);
}

/*
 * Take what is there now, up to as many bytes as a turn has: what is behind that or arrives meanwhile
 * is for the next one.
 */
static void take_requests(struct ublk_queue *q)
{
	unsigned int there = io_uring_cq_ready(&q->ring), taken = 0;
	struct channel *c = q->it->channel;
	struct io_uring_cqe *cqe;

	channel_turn(c);
	while (there-- && !unlikely(channel_turn_is_over(c)) && !io_uring_peek_cqe(&q->ring, &cqe)) {
		unsigned int tag = (unsigned int)cqe->user_data;
		bool is_io = cqe->user_data & UBLK_IS_IO;
		int res = cqe->res;

		io_uring_cqe_seen(&q->ring, cqe);
		if (is_io) {
			ublk_zero_copy_moved(&q->slot[tag], res);
		} else if (likely(res == UBLK_IO_RES_OK)) {
			take_request(q, tag);
			taken++;
		} else {
			tag_ended(q);
		}
	}
	hist_add(&c->stats.batch, taken);
}

static bool kernel_calls(const struct ublk_queue *q)
{
	return IO_URING_READ_ONCE(*q->ring.sq.kflags) & CALL_FOR_IT;
}

static bool queue_poll(struct event_source *s, uint64_t now)
{
	struct ublk_queue *q = source_to_queue(s);

	(void)now;
	return io_uring_cq_ready(&q->ring) || kernel_calls(q) || unlikely(io_uring_sq_ready(&q->ring));
}

/* The descriptor is always watched: it is enough to look once more. */
static bool queue_arm(struct event_source *s)
{
	return queue_poll(s, 0);
}

static void queue_disarm(struct event_source *s)
{
	(void)s;
}

static void queue_woken(struct event_source *s)
{
	struct ublk_queue *q = source_to_queue(s);

	counter_add(&stats(q)->noticed, 1);
	/* Nothing else tells how often the driver has woken the thread. */
	counter_add(&stats(q)->kicks, 1);
	PROBE1(target_woken, IN_MEM(q->number));
	trace_batch(q->trace, TRACE_WOKEN, q->number, 0);
}

static void queue_dispatch(struct event_source *s)
{
	struct ublk_queue *q = source_to_queue(s);

	if (kernel_calls(q))
		io_uring_get_events(&q->ring);
	if (io_uring_cq_ready(&q->ring))
		take_requests(q);
	if (unlikely(io_uring_sq_ready(&q->ring)))
		iothread_defer(q->it, &q->submit);
}

static const struct event_source_ops queue_ops = {
	.poll = queue_poll,
	.arm = queue_arm,
	.disarm = queue_disarm,
	.woken = queue_woken,
	.dispatch = queue_dispatch,
};

static size_t descriptors_len(const struct ublk_queue *q)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);

	return (q->depth * sizeof(*q->desc) + page - 1) / page * page;
}

static void unmap(struct ublk_queue *q)
{
	if (q->desc)
		munmap((void *)q->desc, descriptors_len(q));
	if (q->memory)
		munmap(q->memory, q->depth * q->stride);
	free(q->slot);
	q->desc = NULL;
	q->memory = NULL;
	q->slot = NULL;
}

static void *map(int fd, size_t len, off_t at)
{
	int flags = fd < 0 ? MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE : MAP_SHARED | MAP_POPULATE;
	void *p = mmap(NULL, len, fd < 0 ? PROT_READ | PROT_WRITE : PROT_READ, flags, fd, at);

	return p == MAP_FAILED ? NULL : p;
}

static int map_all(struct ublk_queue *q)
{
	off_t at = ublk_descriptors_at(q->number, (size_t)sysconf(_SC_PAGESIZE));

	q->stride = q->max_bytes + GAP;
	q->slot = calloc(q->depth, sizeof(*q->slot));
	if (!q->zero_copy)
		q->memory = map(-1, q->depth * q->stride, 0);
	if (!q->slot || !(q->zero_copy || q->memory))
		return -ENOMEM;
	q->desc = map(q->fd, descriptors_len(q), at);
	return q->desc ? 0 : -errno;
}

static void fill_slots(struct ublk_queue *q)
{
	for (unsigned int i = 0; i < q->depth; i++) {
		struct ublk_slot *s = &q->slot[i];

		s->queue = q;
		s->iov.iov_base = q->zero_copy ? NULL : q->memory + i * q->stride;
		s->r.backend = q->backend;
		s->r.iov = &s->iov;
		s->r.nr_iov = 1;
		s->r.done = request_done;
	}
}

static int open_ring(struct ublk_queue *q)
{
	struct io_uring_params params = {
		/*
		 * No interrupts of a thread that polls: a flag in the ring tells it that there is something to be had,
		 * as with --aio io_uring. All of these are older than the commands of abi.h.
		 */
		.flags = IORING_SETUP_COOP_TASKRUN | IORING_SETUP_TASKRUN_FLAG | IORING_SETUP_SINGLE_ISSUER,
	};
	int ret = io_uring_queue_init_params(q->depth, &q->ring, &params);

	if (ret)
		return ret;
	ret = io_uring_register_files(&q->ring, &q->fd, 1);
	if (!ret && q->zero_copy)
		ret = ublk_zero_copy_prepare(q);
	if (ret)
		io_uring_queue_exit(&q->ring);
	return ret;
}

static void close_ring(struct ublk_queue *q)
{
	/* At once, as the ring itself goes away later. */
	io_uring_unregister_files(&q->ring);
	io_uring_queue_exit(&q->ring);
}

/* Ask for the first request of each tag; if the driver refuses one, it says so at once. */
static int fetch_all(struct ublk_queue *q)
{
	struct io_uring_cqe *cqe;
	int ret;

	for (unsigned int i = 0; i < q->depth; i++)
		put_command(q, UBLK_U_IO_FETCH_REQ, i, 0);
	ret = io_uring_submit(&q->ring);
	if (ret != (int)q->depth)
		return ret < 0 ? ret : -EIO;
	if (!io_uring_peek_cqe(&q->ring, &cqe))
		return cqe->res < 0 ? cqe->res : -EIO;
	q->held = q->depth;
	return 0;
}

static int start_ring(struct ublk_queue *q)
{
	int ret = open_ring(q);

	if (ret)
		return ret;
	ret = fetch_all(q);
	if (!ret) {
		q->source.fd = q->ring.ring_fd;
		ret = iothread_add_source(q->it, &q->source);
	}
	if (ret)
		close_ring(q);
	return ret;
}

struct start {
	struct ublk_queue *q;
	int ret;
};

static void start_in_thread(void *arg)
{
	struct start *s = arg;
	struct channel *c = s->q->it->channel;

	s->ret = channel_reserve(c, s->q->depth);
	if (s->ret)
		return;
	s->ret = start_ring(s->q);
	if (s->ret)
		channel_release(c, s->q->depth);
}

/**
 * ublk_queue_start - let an iothread serve a queue
 * @q: the queue with backend, number, depth, most bytes, files, @read_only and @zero_copy set
 * @it: who is to serve it
 *
 * Requests come when the device is started.
 *
 * Return: 0 or a negative errno.
 */
int ublk_queue_start(struct ublk_queue *q, struct iothread *it)
{
	struct start s = { .q = q };

	q->it = it;
	q->trace = it->channel->trace;
	q->source.ops = &queue_ops;
	q->submit = (struct deferred) { .fn = submit };
	s.ret = map_all(q);
	if (!s.ret) {
		fill_slots(q);
		sem_init(&q->ended, 0, 0);
		iothread_call(it, start_in_thread, &s);
		if (s.ret)
			sem_destroy(&q->ended);
	}
	if (s.ret)
		unmap(q);
	return s.ret;
}

static void close_in_thread(void *arg)
{
	struct ublk_queue *q = arg;

	q->closing = true;
	if (!q->held)
		sem_post(&q->ended);
}

/**
 * ublk_queue_close - the device is about to be stopped
 * @q: the queue, started
 */
void ublk_queue_close(struct ublk_queue *q)
{
	iothread_call(q->it, close_in_thread, q);
}

static void stop_in_thread(void *arg)
{
	struct ublk_queue *q = arg;

	iothread_remove_source(q->it, &q->source);
	close_ring(q);
	channel_release(q->it->channel, q->depth);
}

/**
 * ublk_queue_stop - take a queue back from its iothread
 * @q: the queue, closed, whose device has been stopped
 */
void ublk_queue_stop(struct ublk_queue *q)
{
	while (sem_wait(&q->ended) < 0 && errno == EINTR)
		;
	iothread_call(q->it, stop_in_thread, q);
	sem_destroy(&q->ended);
	unmap(q);
}
