/* SPDX-License-Identifier: GPL-2.0-only */
/* Writing a trace: files in memory, so that a process that is killed leaves what it wrote */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/utsname.h>
#include <unistd.h>
#include "base/alloc.h"
#include "base/clock.h"
#include "wire/trace.h"

static void read_boot_id(char *id, size_t len)
{
	int fd = open("/proc/sys/kernel/random/boot_id", O_RDONLY | O_CLOEXEC);
	ssize_t n = fd < 0 ? 0 : read(fd, id, len - 1);

	id[n < 0 ? 0 : n] = '\0';
	id[strcspn(id, "\n")] = '\0';
	if (fd >= 0)
		close(fd);
}

static int write_header(int fd, const char *program)
{
	struct trace_header h = {
		.magic = TRACE_MAGIC,
		.version = TRACE_VERSION,
		.page = TRACE_PAGE,
		.record = sizeof(struct trace_record),
		.clock = CLOCK_MONOTONIC,
		.pid = getpid(),
		.start_ns = clock_ns(),
	};
	struct utsname u;
	ssize_t n;

	if (!uname(&u))
		memcpy(h.host, u.nodename, sizeof(h.host) - 1);
	strncpy(h.program, program, sizeof(h.program) - 1);
	read_boot_id(h.boot, sizeof(h.boot));
	n = pwrite(fd, &h, sizeof(h), 0);
	if (n < 0)
		return -errno;
	return n == sizeof(h) ? 0 : -ENOSPC;
}

/*
 * A new file, as somebody may have the old one mapped: of one that was cut off he would die.
 * Leave special files such as /dev/null alone.
 */
static int create(const char *path)
{
	struct stat st;
	int fd;

	if (!lstat(path, &st)) {
		if (!S_ISREG(st.st_mode))
			return -EINVAL;
		if (unlink(path))
			return -errno;
	}
	fd = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0644);
	return fd < 0 ? -errno : fd;
}

/**
 * trace_open - begin a trace
 * @t: filled in
 * @path: file to write, replaced where there is one
 * @program: who writes it
 *
 * Return: 0 or a negative errno; -EINVAL for what is there and no file.
 */
int trace_open(struct trace *t, const char *path, const char *program)
{
	int fd = create(path), ret;

	if (fd < 0)
		return fd;
	ret = write_header(fd, program);
	if (!ret && ftruncate(fd, TRACE_PAGE))
		ret = -errno;
	if (ret) {
		close(fd);
		return ret;
	}
	*t = (struct trace) { .fd = fd, .size = TRACE_PAGE };
	pthread_mutex_init(&t->lock, NULL);
	return 0;
}

static size_t section_bytes(uint32_t records)
{
	return TRACE_PAGE + (size_t)records * sizeof(struct trace_record);
}

/**
 * trace_close - end a trace whose threads have ended
 * @t: the trace
 */
void trace_close(struct trace *t)
{
	while (t->rings) {
		struct trace_ring *r = t->rings;

		t->rings = r->older;
		munmap(r->shared, section_bytes(r->mask + 1));
		free(r);
	}
	close(t->fd);
	pthread_mutex_destroy(&t->lock);
}

/* Room in the file: taken now, as a full file system would later be a SIGBUS. */
static int extend(struct trace *t, size_t len)
{
	if (!fallocate(t->fd, 0, t->size, len))
		return 0;
	if (errno != EOPNOTSUPP)
		return -errno;
	return ftruncate(t->fd, t->size + len) ? -errno : 0;
}

static int map_section(struct trace *t, struct trace_ring *r, uint32_t records)
{
	size_t len = section_bytes(records);
	int ret = extend(t, len);
	void *p;

	if (ret)
		return ret;
	/* Populated, so that no request waits for a page. */
	p = mmap(NULL, len, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE, t->fd, t->size);
	if (p == MAP_FAILED)
		return -errno;
	t->size += len;
	r->shared = p;
	r->record = (void *)((char *)p + TRACE_PAGE);
	r->mask = records - 1;
	return 0;
}

static int add(struct trace *t, struct trace_ring *r, uint32_t records)
{
	int ret;

	pthread_mutex_lock(&t->lock);
	ret = r ? map_section(t, r, records) : -ENOMEM;
	if (!ret) {
		r->older = t->rings;
		t->rings = r;
	}
	pthread_mutex_unlock(&t->lock);
	return ret;
}

/**
 * trace_thread - give the calling thread a place for its records
 * @t: the trace
 * @name: of the thread
 * @role: what it is
 * @records: room for so many, a power of two; beyond, the oldest are overwritten
 * @ring: set to the place, valid until trace_close(); NULL on failure
 *
 * Return: 0 or a negative errno, such as -ENOSPC.
 */
int trace_thread(struct trace *t, const char *name, enum trace_role role, uint32_t records,
		 struct trace_ring **ring)
{
	struct trace_ring *r = alloc_apart(1, (sizeof(*r) + THREAD_ALIGN - 1) / THREAD_ALIGN *
					      THREAD_ALIGN);
	int ret = add(t, r, records);

	*ring = NULL;
	if (ret) {
		free(r);
		return ret;
	}
	strncpy(r->shared->name, name, sizeof(r->shared->name) - 1);
	r->shared->records = records;
	trace_ring_enter(r);
	r->shared->role = role;
	*ring = r;
	return 0;
}

/**
 * trace_ring_enter - the calling thread is the one that writes from now on
 * @r: the place of a thread that has ended, or has not begun
 */
void trace_ring_enter(struct trace_ring *r)
{
	r->shared->tid = syscall(SYS_gettid);
}

/**
 * trace_put - write an event down
 * @r: the calling thread's place
 * @event: the event; its time is now, unless it has one
 */
void trace_put(struct trace_ring *r, struct trace_record event)
{
	if (!event.time_ns)
		event.time_ns = clock_ns();
	r->record[r->next & r->mask] = event;
	r->next++;
	/* After the record: for who reads a file that is being written, or was left in the middle. */
	atomic_store_explicit(&r->shared->written, r->next, memory_order_release);
}

/**
 * trace_note - write an event down that has no place on the device
 * @r: the calling thread's place
 * @event: what happens
 * @queue: to which queue
 * @tag: to which request of it; 0 for a batch
 * @n: requests of the batch, where that is known
 *
 * Its arguments fit into registers: a record made by the caller would take stack of a function
 * that mostly has nothing to write down.
 */
void trace_note(struct trace_ring *r, enum trace_event event, uint16_t queue, uint64_t tag,
		uint32_t n)
{
	trace_put(r, (struct trace_record) {
		.event = event, .queue = queue, .tag = tag, .bytes = n,
	});
}
