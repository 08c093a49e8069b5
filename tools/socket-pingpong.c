/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * socket-pingpong: what the kernel's unix sockets cost two threads that never sleep, with
 * nothing done in between. An NBD pair over such a socket cannot be faster at depth 1.
 */

#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/cpu-pair.h"
#include "base/cpu.h"
#include "base/parse.h"

#define SLICES		15
#define EXIT_SKIP	77	/* what test runners take as "cannot be done here" */
#define BYTES_MAX	(1u << 20)

static uint64_t request_bytes = 28;		/* an NBD request */
static uint64_t reply_bytes = 16 + 4096;	/* a simple reply with 4 KiB */
static int sock[2];
static char buf[2][BYTES_MAX];
static atomic_bool stop;

/* Returns whether all came, or went, before it was time to stop. */
static bool move_all(ssize_t (*move)(int who, size_t at, size_t len), int who, size_t len)
{
	size_t at = 0;

	while (at < len) {
		ssize_t n = move(who, at, len - at);

		if (n > 0)
			at += n;
		else if (n == 0 || (errno != EAGAIN && errno != EINTR))
			return false;
		else if (atomic_load_explicit(&stop, memory_order_relaxed))
			return false;
		else
			cpu_relax();
	}
	return true;
}

static ssize_t take(int who, size_t at, size_t len)
{
	return recv(sock[who], buf[who] + at, len, MSG_DONTWAIT);
}

static ssize_t give(int who, size_t at, size_t len)
{
	return send(sock[who], buf[who] + at, len, MSG_DONTWAIT | MSG_NOSIGNAL);
}

static void *serve(void *arg)
{
	(void)arg;
	while (move_all(take, 1, request_bytes) && move_all(give, 1, reply_bytes))
		;
	return NULL;
}

/* Returns ns a round trip over that time, 0 when the connection broke. */
static double play(uint64_t ns)
{
	uint64_t start = clock_ns(), now, trips = 0;

	do {
		if (!move_all(give, 0, request_bytes) || !move_all(take, 0, reply_bytes))
			return 0;
		trips++;
		now = clock_ns();
	} while (now - start < ns);
	return (double)(now - start) / trips;
}

static int by_value(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

static int measure(const int cpus[2], uint64_t ms, double slice[SLICES])
{
	pthread_t server;
	int ret;

	if (socketpair(AF_UNIX, SOCK_STREAM, 0, sock))
		return -errno;
	ret = cpu_pair_enter(cpus, &server, serve, NULL);
	if (ret)
		return ret;
	/* The first slice is thrown away: the other thread has yet to arrive. */
	for (int i = -1; i < SLICES; i++) {
		double ns = play(ms * 1000000 / (SLICES + 1));

		if (i >= 0)
			slice[i] = ns;
	}
	atomic_store(&stop, true);
	pthread_join(server, NULL);
	qsort(slice, SLICES, sizeof(*slice), by_value);
	return 0;
}

static int usage(const char *option, const char *accepts)
{
	fprintf(stderr, "socket-pingpong: %s: %s\n", option, accepts);
	return EXIT_FAILURE;
}

static bool bytes(const char *s, uint64_t *value)
{
	return !parse_size(s, value) && *value && *value <= BYTES_MAX;
}

int main(int argc, char **argv)
{
	static const char help[] =
		"usage: socket-pingpong --cpus A,B [--request 28] [--reply 4112] [--ms 200]\n"
		"Print the time two polling threads take to send a request and its reply over a unix socket.";
	static const struct option options[] = {
		{ "cpus", required_argument, NULL, 'c' },
		{ "request", required_argument, NULL, 'q' },
		{ "reply", required_argument, NULL, 'r' },
		{ "ms", required_argument, NULL, 'm' },
		{ "help", no_argument, NULL, 'h' },
		{ 0 },
	};
	double slice[SLICES];
	int cpus[2] = { -1, -1 };
	uint64_t ms = 200;
	int opt, ret;

	opterr = 0;
	while ((opt = getopt_long(argc, argv, "", options, NULL)) != -1) {
		switch (opt) {
		case 'c':
			if (!cpu_pair_parse(optarg, cpus))
				return usage("--cpus", "takes two different CPUs, A,B");
			break;
		case 'q':
		case 'r':
			if (!bytes(optarg, opt == 'q' ? &request_bytes : &reply_bytes))
				return usage("--request, --reply", "take 1 to 1M bytes");
			break;
		case 'm':
			if (parse_u64(optarg, &ms) < 0 || ms < 1 || ms > 10000)
				return usage("--ms", "takes 1 to 10000 milliseconds");
			break;
		case 'h':
			puts(help);
			return EXIT_SUCCESS;
		default:
			return usage(argv[optind - 1], "options are --cpus A,B, --request N, --reply N and --ms N");
		}
	}
	if (optind < argc)
		return usage(argv[optind], "is no option");
	if (cpus[0] < 0)
		return usage("--cpus", "is needed, two different CPUs, A,B");

	ret = measure(cpus, ms, slice);
	if (ret < 0) {
		fprintf(stderr, "socket-pingpong: cannot run on CPUs %d and %d: %s\n", cpus[0],
			cpus[1], strerror(-ret));
		return EXIT_SKIP;
	}
	printf("CPUs %d and %d: %.0f ns a round trip (%.0f to %.0f)\n", cpus[0], cpus[1],
	       slice[SLICES / 2], slice[0], slice[SLICES - 1]);
	return EXIT_SUCCESS;
}
