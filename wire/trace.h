/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef WIRE_TRACE_H
#define WIRE_TRACE_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include "base/cpu.h"
#include "wire/trace-probe.h"

/*
 * A trace: what happened to requests, and when, as engines and targets write it into a file
 * of theirs each. docs/traces.md tells what the events mean and how the two are read
 * together; scripts/dataplane_lib/trace/records.py reads this format.
 *
 * A file is a struct trace_header, filled up to TRACE_PAGE bytes, and then sections, one for
 * each thread: a struct trace_thread, filled up to TRACE_PAGE bytes, and its records. All in
 * the byte order of the host that wrote it, to be read there.
 */

#define TRACE_MAGIC	"dptrace\n"
#define TRACE_VERSION	1
#define TRACE_PAGE	4096u

/* Of every thread but workers, which share the requests: 16 MiB and 4 MiB. */
#define TRACE_RECORDS		(512u << 10)
#define TRACE_WORKER_RECORDS	(128u << 10)

/**
 * struct trace_header - the start of a file
 * @magic: TRACE_MAGIC
 * @version: TRACE_VERSION
 * @page: TRACE_PAGE
 * @record: bytes of a record
 * @clock: which clock times are from, a clockid_t: CLOCK_MONOTONIC
 * @pid: of the process
 * @start_ns: when the file was begun, by @clock
 * @program: who wrote it
 * @host: where
 * @boot: which boot of that host, as the clock begins anew with each
 */
struct trace_header {
	char magic[8];
	uint32_t version;
	uint32_t page;
	uint32_t record;
	uint32_t clock;
	uint32_t pid;
	uint32_t reserved;
	uint64_t start_ns;
	char program[32];
	char host[65];
	char boot[37];
};

enum trace_role {
	TRACE_JOB = 1,		/* an engine's job */
	TRACE_IOTHREAD,
	TRACE_WORKER,
};

/**
 * struct trace_thread - the start of a section
 * @name: of the thread
 * @role: enum trace_role; 0 in a section that was never begun
 * @tid: of the thread; the last one, where several followed one another
 * @records: room, a power of two; record n is at place n modulo @records
 * @written: records written so far. The oldest of more than there is room for are lost, and
 *	the one that would be next but for the room may be half overwritten
 */
struct trace_thread {
	char name[16];
	uint32_t role;
	uint32_t tid;
	uint32_t records;
	_Atomic uint64_t written __attribute__((aligned(64)));
};

/*
 * In the order of a request's life. Those of a batch concern all requests of their queue that
 * are at that point: the first such event after one of a request's own is its. A kick, or
 * call, is of the last batch shown before it only.
 */
enum trace_event {
	TRACE_QUEUE = 1,	/* engine: put into the ring, or the list of what is to be sent */
	TRACE_SUBMIT,		/* engine, batch: about to be shown to the target, or sent */
	TRACE_KICK,		/* engine, batch: about to notify the target */
	TRACE_WOKEN,		/* target, batch: the iothread was woken for this queue */
	TRACE_POP,		/* target: taken from the ring, or the socket */
	TRACE_START,		/* target: handed to the backend, or the thread pool */
	TRACE_WORK,		/* target, a worker: begins with it */
	TRACE_WORKED,		/* target, a worker: has done it */
	TRACE_DONE,		/* target: completed, in the iothread again */
	TRACE_PUBLISH,		/* target, batch: about to be shown to the engine, or sent */
	TRACE_CALL,		/* target, batch: about to notify the engine */
	TRACE_AWAKE,		/* engine, batch of all queues of the job: back from a sleep */
	TRACE_SEEN,		/* engine: completion taken */
	TRACE_RETURN,		/* engine, batch of all queues of the job: getevents() returns */
};

/* What is asked for, in TRACE_QUEUE and TRACE_START */
enum trace_kind {
	TRACE_READ,
	TRACE_WRITE,
	TRACE_FLUSH,
	TRACE_DISCARD,
	TRACE_WRITE_ZEROES,
	TRACE_OTHER,
};

/**
 * struct trace_record - an event
 * @time_ns: when
 * @tag: which request of the queue: in a virtqueue its head or buffer id, in NBD its cookie,
 *	as a number; 0 in events of a batch
 * @offset: first byte on the device, in TRACE_QUEUE and TRACE_START
 * @bytes: length, in the same; in events of a batch how many requests, where that is known
 * @queue: in an engine the number of its virtqueue or connection; in a target that of the
 *	session times 256 plus that of the virtqueue, or that of the connection
 * @event: enum trace_event
 * @kind: enum trace_kind
 */
struct trace_record {
	uint64_t time_ns;
	uint64_t tag;
	uint64_t offset;
	uint32_t bytes;
	uint16_t queue;
	uint8_t event;
	uint8_t kind;
};

_Static_assert(sizeof(struct trace_record) == 32, "a trace record");
_Static_assert(sizeof(struct trace_header) <= TRACE_PAGE, "a trace's header");

/* What follows is the writer. */

/**
 * struct trace_name - what a request is called in its records; see struct trace_record
 * @tag: which of the queue
 * @queue: which queue
 */
struct trace_name {
	uint64_t tag;
	uint16_t queue;
};

/**
 * struct trace_ring - a thread's section, written by that thread alone
 * @next: number of the next record
 * @mask: records there is room for, minus 1
 * @record: they
 * @shared: in the file
 * @older: in the list of the file's
 */
struct trace_ring {
	uint64_t next;
	uint64_t mask;
	struct trace_record *record;
	struct trace_thread *shared;
	struct trace_ring *older;
};

/**
 * struct trace - a file that is being written
 * @lock: covers the rest; threads come at any time
 * @fd: the file
 * @size: bytes of it
 * @rings: sections, the newest first
 */
struct trace {
	pthread_mutex_t lock;
	int fd;
	uint64_t size;
	struct trace_ring *rings;
};

int trace_open(struct trace *t, const char *path, const char *program);
void trace_close(struct trace *t);
int trace_thread(struct trace *t, const char *name, enum trace_role role, uint32_t records,
		 struct trace_ring **ring);
void trace_ring_enter(struct trace_ring *r);
void trace_put(struct trace_ring *r, struct trace_record event);
void trace_note(struct trace_ring *r, enum trace_event event, uint16_t queue, uint64_t tag,
		uint32_t n);

/**
 * trace_batch - write an event of all requests of a queue that are at that point down, where there is a trace
 * @r: the calling thread's place, NULL without a trace
 * @event: which
 * @queue: the queue
 * @n: how many requests, where that is known
 *
 * Its probe stands before it, as only there its arguments are what they are anyway; see trace-probe.h.
 */
static inline void trace_batch(struct trace_ring *r, enum trace_event event, uint16_t queue, uint32_t n)
{
	if (unlikely(r))
		trace_note(r, event, queue, 0, n);
}

#endif
