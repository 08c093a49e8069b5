/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A file behind the file backend, and a channel to it in a real iothread. Each test
 * program has one at a time.
 */
#ifndef TESTS_UNIT_FILE_FIXTURE_H
#define TESTS_UNIT_FILE_FIXTURE_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <libaio.h>
#include <liburing.h>
#include <limits.h>
#include <semaphore.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include "targets/backend/channel.h"
#include "targets/pool/wakeup.h"

#define BLOCK	4096u
#define BLOCKS	2048u	/* of the file; more than AIO takes at once */

/**
 * struct mode - a way to the file
 * @aio: how the iothread gets there; NULL for by itself
 * @direct: around the page cache
 * @poll: how the iothread waits
 */
struct mode {
	const char *name;
	const struct aio_ops *aio;
	bool direct;
	enum poll_mode poll;
};

static const struct mode *mode;
static struct iothread it;
static struct channel channel;
static struct backend backend;
static char path[64];		/* of a file that has no name any more, so that none is left */
static int file;		/* the same file, as somebody else sees it */
static char *mem;		/* aligned, as large as the file, two blocks on either side */
static int opened;

static inline void open_channel(void *arg)
{
	const struct channel_config *config = arg;

	opened = channel_open(&channel, &it, config);
}

static inline void close_channel(void *arg)
{
	(void)arg;
	channel_close(&channel);
}

static inline int start_iothread(void **state)
{
	struct channel_config config = {
		.aio = mode->aio,
		.pool = { .max_threads = 8, .wakeup = wakeup_list[0] },
	};
	struct poll_policy policy;
	cpu_set_t any;

	(void)state;
	CPU_ZERO(&any);
	poll_policy_init(&policy, &(struct poll_config) { .mode = mode->poll, .max_ns = 32768 });
	assert_int_equal(iothread_start(&it, 0, &any, &policy), 0);
	iothread_call(&it, open_channel, &config);
	return opened;
}

static inline int stop_iothread(void **state)
{
	(void)state;
	iothread_call(&it, close_channel, NULL);
	iothread_stop(&it);
	return 0;
}

static inline struct backend_config file_config(void)
{
	return (struct backend_config) {
		.ops = &file_backend, .path = path, .block_size = BLOCK, .direct = mode->direct,
	};
}

static inline void make_file(void)
{
	const char *tmp = getenv("TMPDIR");
	char name[PATH_MAX];

	snprintf(name, sizeof(name), "%s/file-backend.XXXXXX", tmp ? : "/tmp");
	file = mkstemp(name);
	assert_true(file >= 0);
	unlink(name);
	snprintf(path, sizeof(path), "/proc/self/fd/%d", file);
}

static inline int set_up(void **state)
{
	struct backend_config config = file_config();

	(void)state;
	make_file();
	assert_int_equal(ftruncate(file, BLOCKS * BLOCK), 0);
	assert_int_equal(backend_open(&backend, &config), 0);
	assert_int_equal(backend.size, BLOCKS * BLOCK);
	mem = mmap(NULL, (BLOCKS + 2) * BLOCK, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	assert_true(mem != MAP_FAILED);
	mem += BLOCK;
	return 0;
}

static inline int tear_down(void **state)
{
	(void)state;
	munmap(mem - BLOCK, (BLOCKS + 2) * BLOCK);
	backend_close(&backend);
	close(file);
	return 0;
}

/* Requests on their way */

static sem_t finished;

static inline void done(struct blk_request *r)
{
	(void)r;
	sem_post(&finished);
}

struct batch {
	struct blk_request *r;
	unsigned int nr;
};

static inline void submit_batch(void *arg)
{
	struct batch *b = arg;

	for (unsigned int i = 0; i < b->nr; i++) {
		b->r[i].backend = &backend;
		b->r[i].done = done;
		if (channel_submit(&channel, &b->r[i]))
			sem_post(&finished);
	}
}

/* All at once; returns when all are done */
static inline void execute_all(struct blk_request *r, unsigned int nr)
{
	struct batch b = { r, nr };

	sem_init(&finished, 0, 0);
	iothread_call(&it, submit_batch, &b);
	for (unsigned int i = 0; i < nr; i++)
		while (sem_wait(&finished) && errno == EINTR)
			;
	sem_destroy(&finished);
}

static inline int execute(struct blk_request r)
{
	execute_all(&r, 1);
	return r.result;
}

static inline int rw(enum request_kind kind, char *where, uint64_t offset, uint64_t len)
{
	struct iovec iov = { where, len };

	return execute((struct blk_request) {
		.kind = kind, .iov = &iov, .nr_iov = 1, .offset = offset, .len = len,
	});
}

static inline int range(enum request_kind kind, unsigned int flags, uint64_t offset, uint64_t len)
{
	return execute((struct blk_request) {
		.kind = kind, .flags = flags, .offset = offset, .len = len,
	});
}

/* Every block differs from every other. */
static inline void fill(char *where, unsigned int seed)
{
	for (unsigned int i = 0; i < BLOCK; i += sizeof(seed)) {
		memcpy(where + i, &seed, sizeof(seed));
		seed = seed * 1664525u + 1013904223u;
	}
}

static inline void fill_file(void)
{
	for (unsigned int i = 0; i < BLOCKS; i++)
		fill(mem + i * BLOCK, i);
	assert_int_equal(pwrite(file, mem, BLOCKS * BLOCK, 0), BLOCKS * BLOCK);
}

static inline void assert_file_has(const char *want, uint64_t offset, uint64_t len)
{
	char *got = malloc(len);

	assert_int_equal(pread(file, got, len, offset), len);
	assert_memory_equal(got, want, len);
	free(got);
}

static inline void assert_zeroes(uint64_t block, uint64_t nr)
{
	char *zeroes = calloc(nr, BLOCK);

	assert_file_has(zeroes, block * BLOCK, nr * BLOCK);
	free(zeroes);
}

/* Whether the kernel has what the mode needs */
static inline bool can_run(const struct mode *m)
{
	io_context_t context = NULL;
	struct io_uring ring;
	int ret = 0;

	if (m->aio == &io_uring_aio) {
		ret = io_uring_queue_init(1, &ring, 0);
		if (!ret)
			io_uring_queue_exit(&ring);
	} else if (m->aio == &native_aio) {
		ret = io_setup(1, &context);
		if (!ret)
			io_destroy(context);
	}
	if (ret)
		print_message("left out: %s: %s\n", m->name, strerror(-ret));
	return !ret;
}

#endif
