/* SPDX-License-Identifier: GPL-2.0-only */
#include <errno.h>
#include <fcntl.h>
#include <liburing.h>
#include <linux/falloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>
#include "base/container.h"
#include "base/cpu.h"
#include "targets/backend/aio.h"
#include "targets/options.h"

/*
 * --aio io_uring: what a turn of the iothread has brought is submitted with one call at its
 * end; completions are seen in the ring in memory and, by a thread that sleeps, through the
 * ring's descriptor, as in QEMU's block/io_uring.c. The pool does what the ring cannot.
 *
 * --iopoll: completions come only while somebody enters the kernel to poll the device for them, so
 * each look does, and the thread does not sleep while it has I/O in flight. Such a ring takes reads
 * and writes only.
 */

#define SQ_ENTRIES	256u
#define CQ_ENTRIES	4096u	/* requests in the kernel at once */

/* Linux 6.13; liburing before 2.9 has no name for it. */
#ifndef IORING_SETUP_HYBRID_IOPOLL
#define IORING_SETUP_HYBRID_IOPOLL	(1U << 17)
#endif

/* The kernel has something for us that it enters into the ring when it is called. */
#define CALL_FOR_IT	(IORING_SQ_TASKRUN | IORING_SQ_CQ_OVERFLOW)

/**
 * struct uring - a channel's ring
 * @source: its completions
 * @submit: submission at the end of a turn
 * @c: the channel
 * @ring: liburing's
 * @waiting: requests that have no entry yet
 * @in_flight: entries that have been filled in and have not completed
 * @iopoll: completions have to be polled for
 */
struct uring {
	struct event_source source;
	struct deferred submit;
	struct channel *c;
	struct io_uring ring;
	struct aio_queue waiting;
	unsigned int in_flight;
	bool iopoll;
};

static void prepare_rw(struct io_uring_sqe *sqe, const struct blk_request *r)
{
	int fd = r->backend->fd;

	if (r->kind == REQ_READ && r->nr_iov == 1)
		io_uring_prep_read(sqe, fd, r->iov->iov_base, r->iov->iov_len, r->offset);
	else if (r->kind == REQ_READ)
		io_uring_prep_readv(sqe, fd, r->iov, r->nr_iov, r->offset);
	else if (r->nr_iov == 1)
		io_uring_prep_write(sqe, fd, r->iov->iov_base, r->iov->iov_len, r->offset);
	else
		io_uring_prep_writev(sqe, fd, r->iov, r->nr_iov, r->offset);
	if (r->flags & BLK_FUA)
		sqe->rw_flags = RWF_DSYNC;
}

/* Whether the ring has an operation for it; one that fails is tried once more by the pool. */
static bool ring_can(const struct uring *u, const struct blk_request *r)
{
	switch (r->kind) {
	case REQ_FLUSH:
		return !u->iopoll;
	case REQ_DISCARD:
	case REQ_WRITE_ZEROES:
		return !u->iopoll && r->len && !r->backend->is_block && !(r->flags & BLK_FUA);
	default:
		return aio_plain_rw(r);
	}
}

static void prepare(struct io_uring_sqe *sqe, struct blk_request *r)
{
	int punch = FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE;
	int zero = FALLOC_FL_ZERO_RANGE | FALLOC_FL_KEEP_SIZE;
	int fd = r->backend->fd;

	switch (r->kind) {
	case REQ_FLUSH:
		io_uring_prep_fsync(sqe, fd, IORING_FSYNC_DATASYNC);
		break;
	case REQ_DISCARD:
		io_uring_prep_fallocate(sqe, fd, punch, r->offset, r->len);
		break;
	case REQ_WRITE_ZEROES:
		io_uring_prep_fallocate(sqe, fd, r->flags & BLK_UNMAP ? punch : zero, r->offset,
					r->len);
		break;
	default:
		prepare_rw(sqe, r);
	}
	io_uring_sqe_set_data(sqe, r);
}

/* An empty entry; NULL when the kernel has as much as the completion ring holds. */
static struct io_uring_sqe *next_entry(struct uring *u)
{
	struct io_uring_sqe *sqe;

	if (u->in_flight == CQ_ENTRIES)
		return NULL;
	sqe = io_uring_get_sqe(&u->ring);
	if (sqe)
		return sqe;
	io_uring_submit(&u->ring);
	return io_uring_get_sqe(&u->ring);
}

/* One whose entry was not had stays first in the queue. */
static void fill_entries(struct uring *u)
{
	struct blk_request *r;

	while ((r = aio_queue_first(&u->waiting))) {
		bool ours = ring_can(u, r);
		struct io_uring_sqe *sqe = ours ? next_entry(u) : NULL;

		if (ours && !sqe)
			return;
		aio_queue_drop_first(&u->waiting);
		if (ours) {
			prepare(sqe, r);
			u->in_flight++;
		} else {
			aio_pool_submit(u->c, r);
		}
	}
}

/* Nothing that completes will bring us to submit what is left. */
static bool is_stuck(const struct uring *u)
{
	unsigned int left = io_uring_sq_ready(&u->ring);

	return left && left == u->in_flight;
}

/* What the kernel does not take now is tried again by a later turn: see is_stuck(). */
static void submit_entries(struct deferred *d)
{
	struct uring *u = container_of(d, struct uring, submit);

	fill_entries(u);
	if (io_uring_sq_ready(&u->ring))
		io_uring_submit_and_get_events(&u->ring);
	if (is_stuck(u) || (u->iopoll && u->in_flight))
		event_source_rearm(&u->source);
}

static bool kernel_calls(const struct uring *u)
{
	return IO_URING_READ_ONCE(*u->ring.sq.kflags) & CALL_FOR_IT;
}

/* One look at the device */
static bool poll_device(struct uring *u)
{
	if (!u->in_flight)
		return false;
	if (!io_uring_cq_ready(&u->ring))
		io_uring_get_events(&u->ring);
	return io_uring_cq_ready(&u->ring) || unlikely(is_stuck(u));
}

static bool uring_poll(struct event_source *s, uint64_t now)
{
	struct uring *u = container_of(s, struct uring, source);

	(void)now;
	if (u->iopoll)
		return poll_device(u);
	return io_uring_cq_ready(&u->ring) || kernel_calls(u) || unlikely(is_stuck(u));
}

/*
 * The descriptor is always watched: it is enough to look once more. What has to be polled for wakes
 * nobody up, so there is no sleep before it is done.
 */
static bool uring_arm(struct event_source *s)
{
	struct uring *u = container_of(s, struct uring, source);

	return u->iopoll ? u->in_flight : uring_poll(s, 0);
}

static void uring_disarm(struct event_source *s)
{
	(void)s;
}

static void completed(struct uring *u, struct blk_request *r, int result)
{
	bool rw = r->kind == REQ_READ || r->kind == REQ_WRITE;

	u->in_flight--;
	if (likely(rw && result >= 0 && (uint64_t)result == r->len))
		channel_finish(u->c, r, 0);
	else if (r->kind == REQ_FLUSH && result != -EINTR && result != -EAGAIN)
		channel_finish(u->c, r, file_flushed(r->backend, result));
	else if (!rw && !result)
		channel_finish(u->c, r, 0);
	else if (rw && result < 0 && result != -EINTR && result != -EAGAIN && !(u->iopoll && result == -EOPNOTSUPP))
		channel_finish(u->c, r, result);
	else
		/* Done in part or not in this way: from the start, with all other ways. */
		aio_pool_submit(u->c, r);
}

static void uring_dispatch(struct event_source *s)
{
	struct uring *u = container_of(s, struct uring, source);
	struct io_uring_cqe *cqe;
	unsigned int head, nr = 0;

	if (u->iopoll)
		poll_device(u);
	else if (kernel_calls(u))
		io_uring_get_events(&u->ring);
	io_uring_for_each_cqe(&u->ring, head, cqe) {
		completed(u, io_uring_cqe_get_data(cqe), cqe->res);
		nr++;
	}
	io_uring_cq_advance(&u->ring, nr);
	if (u->waiting.head || io_uring_sq_ready(&u->ring))
		iothread_defer(u->c->it, &u->submit);
}

static const struct event_source_ops source_ops = {
	.poll = uring_poll,
	.arm = uring_arm,
	.disarm = uring_disarm,
	.dispatch = uring_dispatch,
};

static void submit(struct channel *c, struct blk_request *r)
{
	struct uring *u = c->aio_state;

	aio_queue_add(&u->waiting, r);
	iothread_defer(c->it, &u->submit);
}

/*
 * The best set-up that this kernel knows. With IORING_SETUP_DEFER_TASKRUN, completions do not
 * wake a thread that sleeps on the ring's descriptor (seen with Linux 6.18).
 */
static int set_up_ring(struct io_uring *ring, const struct uring_config *c)
{
	static const unsigned int flags[] = {
		IORING_SETUP_COOP_TASKRUN | IORING_SETUP_TASKRUN_FLAG | IORING_SETUP_SINGLE_ISSUER,
		IORING_SETUP_COOP_TASKRUN | IORING_SETUP_TASKRUN_FLAG,
		0,
	};
	/* The thread that polls for submissions runs what the others are for. */
	unsigned int first = c->sqpoll ? sizeof(flags) / sizeof(flags[0]) - 1 : 0;
	unsigned int asked = (c->iopoll ? IORING_SETUP_IOPOLL : 0) | (c->hybrid ? IORING_SETUP_HYBRID_IOPOLL : 0) |
			     (c->sqpoll ? IORING_SETUP_SQPOLL : 0);
	int ret = -EINVAL;

	for (unsigned int i = first; ret == -EINVAL && i < sizeof(flags) / sizeof(flags[0]); i++) {
		struct io_uring_params params = {
			.flags = asked | flags[i] | IORING_SETUP_CQSIZE,
			.cq_entries = CQ_ENTRIES,
			.sq_thread_idle = c->sqpoll_idle_ms,
		};

		ret = io_uring_queue_init_params(SQ_ENTRIES, ring, &params);
	}
	return ret;
}

/* Whether the block device under it says that it has no poll queues; false if it says nothing */
static bool device_has_none(int fd)
{
	static const char *const queue[] = { "queue", "../queue" };	/* of a partition, the disk's */
	struct stat st;
	char path[80], value = 0;
	dev_t dev;

	if (fstat(fd, &st))
		return false;
	dev = S_ISBLK(st.st_mode) ? st.st_rdev : st.st_dev;
	for (int i = 0; i < 2 && !value; i++) {
		int file;

		snprintf(path, sizeof(path), "/sys/dev/block/%u:%u/%s/io_poll", major(dev), minor(dev), queue[i]);
		file = open(path, O_RDONLY | O_CLOEXEC);
		if (file >= 0) {
			(void)!read(file, &value, 1);
			close(file);
		}
	}
	return value == '0';
}

/* What a read of the first block comes to, polled for: its length or a negative errno */
static int read_polled(struct io_uring *ring, int fd, void *mem, unsigned int len)
{
	struct io_uring_cqe *cqe;
	int ret;

	io_uring_prep_read(io_uring_get_sqe(ring), fd, mem, len, 0);
	ret = io_uring_submit(ring);
	if (ret >= 0)
		ret = io_uring_wait_cqe(ring, &cqe);
	return ret < 0 ? ret : cqe->res;
}

/**
 * uring_check_polled - find out whether I/O to a file can be polled for
 * @b: the file backend, open with O_DIRECT
 *
 * A file system that cannot do it answers with -EOPNOTSUPP, and so does a block device without poll
 * queues, if it is asked: the read of a hole never gets there.
 *
 * Return: 0 or a negative errno, reported.
 */
int uring_check_polled(const struct backend *b)
{
	unsigned int len = b->align > b->config.block_size ? b->align : b->config.block_size;
	void *mem = aligned_alloc(65536, 65536);
	struct io_uring ring;
	int ret = mem ? 0 : -ENOMEM;

	if (device_has_none(b->fd))
		ret = -EOPNOTSUPP;
	if (!ret)
		ret = set_up_ring(&ring, &(struct uring_config) { .iopoll = true });
	if (!ret) {
		ret = read_polled(&ring, b->fd, mem, len);
		io_uring_queue_exit(&ring);
	}
	free(mem);
	if (ret == -EOPNOTSUPP)
		return options_error(NULL, "iopoll", "I/O to %s cannot be polled for: it needs a driver with poll queues (nvme.poll_queues=, virtio_blk.poll_queues=, null_blk.poll_queues=)",
				     b->config.path);
	if (ret < 0)
		return options_error(NULL, "iopoll", "cannot read %s: %s", b->config.path, strerror(-ret));
	return 0;
}

static int uring_start(struct channel *c, struct uring *u)
{
	int ret = set_up_ring(&u->ring, &c->config.uring);

	if (ret)
		return ret;
	u->iopoll = c->config.uring.iopoll;
	u->source.fd = u->ring.ring_fd;
	ret = iothread_add_source(c->it, &u->source);
	if (ret)
		io_uring_queue_exit(&u->ring);
	return ret;
}

static int uring_open(struct channel *c)
{
	struct uring *u = calloc(1, sizeof(*u));
	int ret = -ENOMEM;

	if (u) {
		u->source.ops = &source_ops;
		u->submit.fn = submit_entries;
		u->c = c;
		ret = uring_start(c, u);
	}
	if (ret) {
		options_error(NULL, "aio", "io_uring%s is not available here: %s%s", c->config.uring.hybrid ? " with --hybrid-iopoll (Linux 6.13 and later)" : "",
			      strerror(-ret), ret == -EPERM ? " (see /proc/sys/kernel/io_uring_disabled)" : "");
		free(u);
		return ret;
	}
	c->aio_state = u;
	return 0;
}

static void uring_close(struct channel *c)
{
	struct uring *u = c->aio_state;

	iothread_remove_source(c->it, &u->source);
	io_uring_queue_exit(&u->ring);
	free(u);
}

const struct aio_ops io_uring_aio = {
	.name = "io_uring",
	.open = uring_open,
	.close = uring_close,
	.submit = submit,
};
