/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * socket-pingpong: what the kernel's unix sockets cost two threads with nothing done in
 * between, polling or (--sleep) woken by each message. An NBD pair over such a socket
 * cannot be faster at depth 1.
 */

#include <sys/socket.h>
#include <sys/time.h>

#include "tools/pair.h"

#define BYTES_MAX	(1u << 20)

static uint64_t request_bytes = 28;		/* an NBD request */
static uint64_t reply_bytes = 16 + 4096;	/* a simple reply with 4 KiB */
static int sock[2];
static char buf[2][BYTES_MAX];
static bool sleeps, json;
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
	return recv(sock[who], buf[who] + at, len, sleeps ? 0 : MSG_DONTWAIT);
}

static ssize_t give(int who, size_t at, size_t len)
{
	return send(sock[who], buf[who] + at, len, (sleeps ? 0 : MSG_DONTWAIT) | MSG_NOSIGNAL);
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

static const char *set(int option, const char *arg)
{
	uint64_t *bytes = option == 'q' ? &request_bytes : &reply_bytes;

	if (option == 's' || option == 'j') {
		*(option == 's' ? &sleeps : &json) = true;
		return NULL;
	}
	return parse_size(arg, bytes) || !*bytes || *bytes > BYTES_MAX ? "takes 1 to 1M bytes" : NULL;
}

int main(int argc, char **argv)
{
	static const struct option options[] = {
		PAIR_OPTIONS,
		{ "request", required_argument, NULL, 'q' },
		{ "reply", required_argument, NULL, 'r' },
		{ "sleep", no_argument, NULL, 's' },
		{ "json", no_argument, NULL, 'j' },
		{ 0 },
	};
	static const struct pair_tool tool = {
		.name = "socket-pingpong",
		.help = "usage: socket-pingpong --cpus A,B [--request 28] [--reply 4112] [--ms 200] [--sleep] [--json]\n"
			"Print the time two threads take to send a request and its reply over a unix socket; they poll, or sleep until they get one.",
		.options = options,
		.names = "options are --cpus A,B, --request N, --reply N, --ms N, --sleep and --json",
		.ms = 200,
		.set = set,
		.answer = serve,
		.play = play,
		.stop = &stop,
	};
	/* A sleeper looks up now and then whether it is time to stop. */
	const struct timeval tick = { .tv_usec = 10000 };
	struct pair p;
	int ret;

	if (socketpair(AF_UNIX, SOCK_STREAM, 0, sock)) {
		perror("socket-pingpong: socketpair");
		return EXIT_FAILURE;
	}
	for (int i = 0; i < 2; i++)
		setsockopt(sock[i], SOL_SOCKET, SO_RCVTIMEO, &tick, sizeof(tick));
	ret = pair_main(&tool, &p, argc, argv);
	if (ret >= 0)
		return ret;
	if (json)
		printf("{\"trip_ns\": %.0f, \"fastest_ns\": %.0f}\n", p.slice[SLICES / 2], p.slice[0]);
	else
		printf("CPUs %d and %d: %.0f ns a round trip (%.0f to %.0f)\n", p.cpus[0], p.cpus[1],
		       p.slice[SLICES / 2], p.slice[0], p.slice[SLICES - 1]);
	return EXIT_SUCCESS;
}
