/* SPDX-License-Identifier: GPL-2.0-only */
/* Rows of the option tables that several targets have */
#ifndef TARGETS_TARGET_ROWS_H
#define TARGETS_TARGET_ROWS_H

#include <stddef.h>
#include "targets/target-options.h"

#define AT(field)	.offset = offsetof(struct target_options, field)
#define SECOND		UINT64_C(1000000000)

int parse_socket(const char *s, void *value);
void format_sockets(const void *value, char *buf, size_t len);
int parse_export(const char *s, void *value);
void format_exports(const void *value, char *buf, size_t len);
int parse_backend(const char *s, void *value);
void format_backend(const void *value, char *buf, size_t len);
int parse_aio(const char *s, void *value);
void format_aio(const void *value, char *buf, size_t len);
int parse_delay(const char *s, void *value);
void format_delay(const void *value, char *buf, size_t len);
void format_own_delay(const void *value, char *buf, size_t len);

int parse_device(const char *s, void *value);
void format_devices(const void *value, char *buf, size_t len);
int parse_map(const char *s, void *value);
void format_map(const void *value, char *buf, size_t len);

extern const char *const pool_queue_names[];
extern const char *const completion_names[];

#define ROW_SOCKET(text) \
	{ OPT_CUSTOM, "socket", "PATH", AT(sockets), \
	  .parse = parse_socket, .format = format_sockets, \
	  .accepts = "one of at most 256 paths of up to 107 bytes", \
	  .help = text }

#define ROW_RUN(more) \
	{ OPT_STR, "run", "COMMAND", .once = true, AT(run), \
	  .help = "listen on a private socket, run COMMAND in a shell with $socket, $uri and $FIO_DATAPLANE set, exit with its status, and end whatever it has started" more }

#define ROWS_DEVICE \
	{ OPT_TOPIC, .help = "The device" }, \
	{ OPT_CUSTOM, "backend", "null|ram|file:PATH", .def = "null", AT(backend), \
	  .parse = parse_backend, .format = format_backend, .accepts = "null, ram or file:PATH", \
	  .help = "null moves no data; ram is memory, all of it taken at the start (as it is written, if --size is more than half of what is free); file is a file or block device" }, \
	{ OPT_SIZE, "size", "SIZE", .min = 512, .max = UINT64_C(1) << 62, AT(size), \
	  .help = "capacity, a multiple of the block size (default: the file's, or 1G)" }, \
	{ OPT_SIZE, "block-size", "SIZE", .def = "512", .min = 512, .max = 65536, .pow2 = true, AT(block_size), \
	  .help = "logical block size, a power of two from 512 to 64K" }, \
	{ OPT_FLAG, "read-only", AT(read_only), \
	  .help = "refuse whatever changes data" }, \
	{ OPT_FLAG, "direct", AT(direct), \
	  .help = "file: go around the page cache (O_DIRECT)" }, \
	{ OPT_CUSTOM, "delay", "TIMES", .def = "none", AT(delay), \
	  .parse = parse_delay, .format = format_delay, \
	  .accepts = DELAY_SYNTAX " (times up to 100s, A up to B, SIGMA up to 10)", \
	  .help = "service time of a request, which occupies no CPU: " DELAY_SYNTAX ", of which PATH has a time a line, equally likely each; when the target or the client's connection ends, what of it lasts longer than 2 s is left out" }, \
	{ OPT_CUSTOM, "delay-write", "TIMES", AT(delay_write), \
	  .parse = parse_delay, .format = format_own_delay, \
	  .accepts = DELAY_SYNTAX " (times up to 100s, A up to B, SIGMA up to 10)", \
	  .help = "service time of what changes data (default: as --delay)" }, \
	{ OPT_SIZE, "delay-bw", "RATE", .min = 1, AT(delay_bw), \
	  .help = "bytes a second at which a request's data adds to its service time, such as 2G" }, \
	{ OPT_SIZE, "delay-write-bw", "RATE", .min = 1, AT(delay_write_bw), \
	  .help = "the same of what changes data (default: as --delay-bw)" }, \
	{ OPT_U32, "device-parallel", "N", .def = "0", .max = 65536, AT(device_parallel), \
	  .help = "most requests whose service time runs at once, 0 for any number" }, \
	{ OPT_SIZE, "device-iops", "N", .max = 1000000000, .min = 1, AT(device_iops), \
	  .help = "most requests a second" }, \
	{ OPT_SIZE, "device-bw", "RATE", .min = 1, AT(device_bw), \
	  .help = "most bytes a second, such as 2G" }, \
	{ OPT_TIME, "request-cost", "TIME", .def = "0", .max = SECOND, AT(request_cost_ns), \
	  .help = "CPU time burnt for each request, in place of a block layer's" }, \
	{ OPT_TIME, "wakeup-cost", "TIME", .def = "0", .max = SECOND, AT(wakeup_cost_ns), \
	  .help = "CPU time burnt each time a sleeping iothread is woken" }, \
	{ OPT_U32, "extra-notify", "N", .def = "0", .max = 1000, AT(extra_notify), \
	  .help = "eventfd writes a request that wake nobody, to see what one costs" }, \
	{ OPT_DOUBLE, "error-rate", "P", .def = "0", AT(error_rate), \
	  .help = "part of the requests, 0 to 1, that is answered with an I/O error" }, \
	{ OPT_SIZE, "fail-after", "N", AT(fail_after), .min = 1, \
	  .help = "answer N requests of each iothread, and all others with an I/O error" }

#define ROWS_AIO \
	{ OPT_TOPIC, .help = "How a request reaches the backend" }, \
	{ OPT_CUSTOM, "aio", "threads|native|io_uring|inline", AT(aio), \
	  .parse = parse_aio, .format = format_aio, \
	  .accepts = "threads, native, io_uring or inline", \
	  .help = "a thread pool, libaio (with --direct only), io_uring (both for files only), or the iothread itself (default: threads for a file, else inline)" }, \
	{ OPT_FLAG, "iopoll", AT(iopoll), \
	  .help = "io_uring: poll the device for completions (IORING_SETUP_IOPOLL), with --direct; the iothread does not sleep while I/O is in flight" }, \
	{ OPT_FLAG, "hybrid-iopoll", AT(hybrid_iopoll), \
	  .help = "the same, but the kernel sleeps for half of the usual service time first (Linux 6.13 and later)" }, \
	{ OPT_FLAG, "sqpoll", AT(sqpoll), \
	  .help = "io_uring: a kernel thread for each iothread polls for what is submitted (IORING_SETUP_SQPOLL); its CPU time is the target's" }, \
	{ OPT_TIME, "sqpoll-idle", "TIME", .def = "1s", .min = 1000000, .max = 100 * SECOND, AT(sqpoll_idle_ns), \
	  .help = "how long that thread polls on without work before it sleeps, in whole ms" }, \
	{ OPT_U32, "pool-threads", "N", .def = "64", .min = 1, .max = 1024, AT(pool_threads), \
	  .help = "most threads of an iothread's pool; one is added when none is idle" }, \
	{ OPT_U32, "pool-min", "N", .def = "0", .max = 1024, AT(pool_min), \
	  .help = "threads that are kept when idle, as many as --pool-threads for a fixed pool" }, \
	{ OPT_ENUM, "wakeup", "WAY", .def = "cond-unlocked", .names = wakeup_names, AT(wakeup), \
	  .help = "how a worker learns of work: " WAKEUPS(DESCRIBE_WAKEUP) "see docs/wakeups.md" }, \
	{ OPT_ENUM, "pool-queue", .def = "global", .names = pool_queue_names, AT(pool_queue), \
	  .help = "where work waits: in one queue for all workers, or in one each" }, \
	{ OPT_ENUM, "completion", .def = "eventfd", .names = completion_names, AT(completion), \
	  .help = "how the iothread learns that a worker is done: notified with the pool's lock held, after unlock, once a batch, or by polling a list" }

#define ROWS_THREADS \
	{ OPT_U32, "iothreads", "N", .def = "1", .min = 1, .max = TARGET_IOTHREADS_MAX, AT(iothreads), \
	  .help = "threads that serve the clients, round robin, 1 to 256" }, \
	{ OPT_CPUS, "cpus", "LIST", AT(cpus), \
	  .help = "pin the iothreads to these CPUs, such as 1 or 0,2-3" }

#define ROW_IOTHREAD_MAP \
	{ OPT_CUSTOM, "iothread-map", "LIST", AT(iothread_map), \
	  .parse = parse_map, .format = format_map, \
	  .accepts = "a list of iothreads, counted from 0, such as 0,1,1", \
	  .help = "the iothread of each queue of every device, such as 0,1,1; queues beyond the list start it over (default: round robin)" }

#define ROWS_POLLING \
	{ OPT_TOPIC, .help = "Polling" }, \
	{ OPT_ENUM, "poll", "POLICY", .def = "adaptive", .names = poll_names, AT(poll), \
	  .help = "how an iothread polls before it sleeps: " POLL_POLICIES(DESCRIBE_POLICY) "see docs/poll-policies.md" }, \
	{ OPT_TIME, "poll-max-ns", "TIME", .def = "32768", .max = 10 * SECOND, AT(poll_max_ns), \
	  .help = "how long the fixed policies poll and QEMU's may; 0 for not at all, in all but busy" }, \
	{ OPT_U32, "poll-grow", "N", .def = "2", AT(poll_grow), \
	  .help = "factor by which QEMU's windows grow; 0 for its own, 2" }, \
	{ OPT_U32, "poll-shrink", "N", .def = "0", AT(poll_shrink), \
	  .help = "divisor by which they shrink; 0 for QEMU's own: down to nothing at once, or 2 in weighted" }, \
	{ OPT_U32, "poll-weight", "N", .def = "0", .max = 63, AT(poll_weight), \
	  .help = "weighted: the last interval counts for one part in 2^N; 0 for QEMU's own, 3" }, \
	{ OPT_U32, "poll-start-rate", "N", .def = "1", AT(poll_start_rate), \
	  .help = "rate: notifications within a millisecond after which a queue is polled; 0 for never" }, \
	{ OPT_TIME, "poll-stop-idle", "TIME", .def = "3s", .min = 1, .max = 100 * SECOND, AT(poll_stop_idle_ns), \
	  .help = "rate: how long a queue without requests is polled on, at the full cost of a CPU, before its iothread may sleep" }

#define ROWS_REPORTS \
	{ OPT_TOPIC, .help = "Reports" }, \
	{ OPT_STR, "stats", "FILE", AT(stats), \
	  .help = "write statistics as JSON at exit; SIGUSR1 prints them on stderr at any time" }, \
	{ OPT_STR, "trace", "FILE", AT(trace), \
	  .help = "write down what happens to every request, and when, for 'dataplane trace'; FILE is best in memory, such as in /dev/shm" }, \
	{ OPT_ACTION, "help", AT(help), .help = "print this and exit" }, \
	{ OPT_ACTION, "describe", AT(describe), .help = "print all options as JSON, from which manual page and completion are made, and exit" }, \
	{ OPT_ACTION, "version", AT(version), .help = "print the version and exit" }

/* Sections of the man page that several have */
#define SECTION_SIGNALS(place) \
	{ "SIGNALS", \
	  "SIGTERM, SIGINT and SIGHUP finish the requests in flight, write the statistics, remove the " place " and end the program with status 0, or with --run as EXIT STATUS says. Requests whose I/O is done and that only wait for the service time of --delay or a --device throttle wait for 2 s more, and are answered then.\n" \
	  "\n" \
	  "SIGUSR1 prints the statistics on the standard error.\n" }

#define SECTION_EXIT_STATUS \
	{ "EXIT STATUS", \
	  "0 after SIGTERM, SIGINT or SIGHUP, 1 for a bad option or when the target cannot start. With --run, the status of COMMAND, or 128 plus the number of the signal that killed it. One of these signals to the target ends COMMAND, and all that it has started, by SIGTERM: if it dies of that, the status is 143, 130 or 129, after the signal that the target got. What has not ended after 30 s, or when a second signal comes, is killed. What COMMAND leaves running when it ends by itself gets SIGTERM as well, and 5 s.\n" }

/* Of those that are found at a socket */
#define SECTIONS_OF_SOCKETS \
	SECTION_SIGNALS("socket"), \
	SECTION_EXIT_STATUS, \
	{ "ENVIRONMENT", \
	  "What COMMAND of --run sees: $socket, the path of the socket, empty with --port; $uri, where the target is found as a URI; $FIO_DATAPLANE, the directory that holds engines/.\n" \
	  "\n" \
	  "The private socket is made in a directory under $TMPDIR, or /tmp.\n" }

#define NOTE_UNITS \
	"Sizes take K, M, G and T (powers of 1024), times ns, us, ms and s; a time without a unit is nanoseconds. Where an option is repeated, the last one counts."

#endif /* TARGETS_TARGET_ROWS_H */
