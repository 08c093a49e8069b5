/* SPDX-License-Identifier: GPL-2.0-only */
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <unistd.h>
#include "base/clock.h"
#include "base/version.h"
#include "targets/run.h"
#include "targets/target-options.h"
#include "targets/vhost-user/lost-memory.h"
#include "targets/vhost-user/server.h"

/**
 * struct target - the daemon
 * @o: what it was asked to do
 * @socket: path it listens on
 * @signal_fd: SIGTERM, SIGINT and SIGUSR1
 * @child: the command of --run, 0 without
 * @child_fd: readable when it has ended, -1 without
 * @started_ns: when the target was ready
 */
struct target {
	struct target_options o;
	struct backend backend;
	struct queue_thread *threads;
	struct server server;
	char socket[108];
	int signal_fd;
	pid_t child;
	int child_fd;
	uint64_t started_ns;
};

/* Signals come through a descriptor; threads started later inherit the mask. */
static int open_signals(void)
{
	sigset_t set;
	int fd;

	sigemptyset(&set);
	sigaddset(&set, SIGTERM);
	sigaddset(&set, SIGINT);
	sigaddset(&set, SIGUSR1);
	sigprocmask(SIG_BLOCK, &set, NULL);
	signal(SIGPIPE, SIG_IGN);
	fd = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
	if (fd < 0)
		fprintf(stderr, "signalfd: %s\n", strerror(errno));
	return fd;
}

static void stop_threads(struct target *t, unsigned int nr)
{
	for (unsigned int i = 0; i < nr; i++)
		queue_thread_stop(&t->threads[i]);
	free(t->threads);
}

static int start_threads(struct target *t)
{
	struct poll_policy policy;

	t->threads = alloc_apart(t->o.iothreads, sizeof(*t->threads));
	if (!t->threads) {
		fprintf(stderr, "iothreads: %s\n", strerror(ENOMEM));
		return -ENOMEM;
	}
	poll_policy_init(&policy, t->o.poll, t->o.poll_max_ns, t->o.poll_grow, t->o.poll_shrink);
	for (unsigned int i = 0; i < t->o.iothreads; i++) {
		cpu_set_t cpu;
		int ret;

		target_options_cpu(&t->o, i, &cpu);
		ret = queue_thread_start(&t->threads[i], i, &cpu, &policy, &t->o.delay);
		if (ret) {
			stop_threads(t, i);
			return ret;
		}
	}
	return 0;
}

static int choose_socket(struct target *t)
{
	int ret;

	if (!t->o.run) {
		strcpy(t->socket, t->o.socket);
		return 0;
	}
	ret = run_private_socket(t->socket, sizeof(t->socket));
	if (ret)
		fprintf(stderr, "cannot make a private socket: %s\n", strerror(-ret));
	return ret;
}

static void release_socket(struct target *t)
{
	if (t->o.run)
		run_remove_private_socket(t->socket);
}

static int listen_on(struct target *t)
{
	struct server *s = &t->server;
	int ret;

	blk_device_init(&s->dev, &t->backend, t->o.block_size, t->o.read_only, t->o.num_queues);
	s->dev.request_cost_ns = t->o.request_cost_ns;
	s->num_queues = t->o.num_queues;
	s->queue_size = t->o.queue_size;
	s->threads = t->threads;
	s->nr_threads = t->o.iothreads;
	ret = choose_socket(t);
	if (ret)
		return ret;
	ret = server_listen(s, t->socket);
	if (ret)
		release_socket(t);
	return ret;
}

static int start_command(struct target *t)
{
	int ret;

	t->child_fd = -1;
	if (!t->o.run)
		return 0;
	/* A vhost-user device has no URI; its socket is all there is to say. */
	ret = run_command(t->o.run, t->socket, t->socket, &t->child);
	if (!ret) {
		t->child_fd = run_pidfd(t->child);
		ret = t->child_fd < 0 ? t->child_fd : 0;
	}
	if (ret)
		fprintf(stderr, "--run: %s\n", strerror(-ret));
	return ret;
}

static int write_stats(struct target *t, FILE *f)
{
	struct json w;

	json_init(&w, f);
	json_open_object(&w, NULL);
	json_str(&w, "program", "vhost-user-blk-target");
	json_str(&w, "version", FIO_DATAPLANE_VERSION);
	json_open_object(&w, "options");
	options_json(&w, target_option_table, &t->o);
	json_close_object(&w);
	json_u64(&w, "uptime_ns", clock_ns() - t->started_ns);
	json_open_array(&w, "iothreads");
	for (unsigned int i = 0; i < t->o.iothreads; i++) {
		struct iothread *it = &t->threads[i].it;

		iothread_sample_cpu(it);
		iothread_stats_json(&w, it);
	}
	json_close_array(&w);
	json_close_object(&w);
	return json_finish(&w);
}

static int save_stats(struct target *t)
{
	FILE *f;
	int ret;

	if (!t->o.stats)
		return 0;
	f = fopen(t->o.stats, "we");
	ret = f ? write_stats(t, f) : -errno;
	if (f && fclose(f) && !ret)
		ret = -errno;
	if (ret)
		fprintf(stderr, "--stats: cannot write %s: %s\n", t->o.stats, strerror(-ret));
	return ret;
}

/* Returns whether the target is to end. */
static bool on_signal(struct target *t)
{
	struct signalfd_siginfo info;
	bool end = false;

	while (read(t->signal_fd, &info, sizeof(info)) == sizeof(info)) {
		if (info.ssi_signo == SIGUSR1)
			write_stats(t, stderr);
		else
			end = true;
	}
	return end;
}

/* Serve until a signal or the end of --run's command. */
static void serve(struct target *t)
{
	struct pollfd fds[] = {
		{ .fd = t->signal_fd, .events = POLLIN },
		{ .fd = t->server.fd, .events = POLLIN },
		{ .fd = t->child_fd, .events = POLLIN },
	};

	for (;;) {
		if (poll(fds, 3, -1) < 0)
			continue;
		if (fds[1].revents)
			server_accept(&t->server);
		if (fds[0].revents && on_signal(t))
			return;
		if (fds[2].revents)
			return;
	}
}

/* A signal to the target is one to its command, which --run waits for. */
static int end_command(struct target *t)
{
	int status;

	if (!t->child)
		return 0;
	if (t->child_fd >= 0) {
		struct pollfd p = { .fd = t->child_fd, .events = POLLIN };

		if (poll(&p, 1, 0) <= 0)
			kill(t->child, SIGTERM);
		close(t->child_fd);
	}
	status = run_status(t->child);
	return status < 0 ? 1 : status;
}

static int run(struct target *t)
{
	int status = 1, ret;

	ret = listen_on(t);
	if (ret)
		return 1;
	/* Clients may connect meanwhile, and wait. */
	backend_warm(&t->backend);
	t->started_ns = clock_ns();
	ret = start_command(t);
	if (!ret)
		serve(t);
	status = end_command(t);
	server_close(&t->server);
	release_socket(t);
	if (ret || save_stats(t))
		status = status ? status : 1;
	return status;
}

int main(int argc, char **argv)
{
	struct target t = { 0 };
	int status = 1, ret;

	ret = target_options_parse(&t.o, argc, argv);
	if (ret)
		return ret < 0;
	t.signal_fd = open_signals();
	if (t.signal_fd < 0)
		return 1;
	lost_memory_catch();
	if (backend_open(&t.backend, target_backend_ops[t.o.backend], t.o.size, false))
		return 1;
	if (!start_threads(&t)) {
		status = run(&t);
		stop_threads(&t, t.o.iothreads);
	}
	backend_close(&t.backend);
	return status;
}
