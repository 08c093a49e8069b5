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
#include "targets/daemon.h"
#include "targets/run.h"

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

static void stop_threads(struct daemon *d, unsigned int nr)
{
	for (unsigned int i = 0; i < nr; i++)
		lane_stop(&d->lanes[i]);
	free(d->lanes);
}

static int start_threads(struct daemon *d)
{
	struct channel_config config = target_options_channel(&d->o);
	struct poll_policy policy = target_options_policy(&d->o);

	d->lanes = alloc_apart(d->o.iothreads, sizeof(*d->lanes));
	if (!d->lanes) {
		fprintf(stderr, "iothreads: %s\n", strerror(ENOMEM));
		return -ENOMEM;
	}
	for (unsigned int i = 0; i < d->o.iothreads; i++) {
		cpu_set_t cpu;
		int ret;

		target_options_cpu(&d->o, i, &cpu);
		ret = lane_start(&d->lanes[i], i, &cpu, &policy, &config);
		if (ret) {
			stop_threads(d, i);
			return ret;
		}
	}
	return 0;
}

static int choose_socket(struct daemon *d)
{
	int ret;

	if (d->o.socket)
		strcpy(d->socket, d->o.socket);
	if (!d->o.run)
		return 0;
	ret = run_private_socket(d->socket, sizeof(d->socket));
	if (ret)
		fprintf(stderr, "cannot make a private socket: %s\n", strerror(-ret));
	return ret;
}

static void release_socket(struct daemon *d)
{
	if (d->o.run)
		run_remove_private_socket(d->socket);
}

static int listen_on(struct daemon *d)
{
	int ret = choose_socket(d);

	if (ret)
		return ret;
	ret = d->ops->listen(d);
	if (ret)
		release_socket(d);
	return ret;
}

static int start_command(struct daemon *d)
{
	char uri[PATH_MAX];
	int ret;

	d->child_fd = -1;
	if (!d->o.run)
		return 0;
	d->ops->uri(d, uri, sizeof(uri));
	ret = run_command(d->o.run, d->socket, uri, &d->child);
	if (!ret) {
		d->child_fd = run_pidfd(d->child);
		ret = d->child_fd < 0 ? d->child_fd : 0;
	}
	if (ret)
		fprintf(stderr, "--run: %s\n", strerror(-ret));
	return ret;
}

static void iothreads_json(struct daemon *d, struct json *w)
{
	json_open_array(w, "iothreads");
	for (unsigned int i = 0; i < d->o.iothreads; i++) {
		struct iothread *it = &d->lanes[i].it;

		iothread_sample_cpu(it);
		iothread_stats_json(w, it);
	}
	json_close_array(w);
}

static void workers_json(struct daemon *d, struct json *w)
{
	json_open_array(w, "workers");
	for (unsigned int i = 0; i < d->o.iothreads; i++) {
		struct channel *c = &d->lanes[i].channel;

		/* pairs with the release in channel_pool() */
		if (atomic_load_explicit(&c->has_pool, memory_order_acquire))
			pool_stats_json(w, &c->pool);
	}
	json_close_array(w);
}

static int write_stats(struct daemon *d, FILE *f)
{
	const struct target_program *program = d->ops->program;
	struct json w;

	json_init(&w, f);
	json_open_object(&w, NULL);
	json_str(&w, "program", program->text->name);
	json_str(&w, "version", program->text->version);
	json_open_object(&w, "options");
	options_json(&w, program->table, &d->o);
	json_close_object(&w);
	json_u64(&w, "uptime_ns", clock_ns() - d->started_ns);
	iothreads_json(d, &w);
	workers_json(d, &w);
	json_close_object(&w);
	return json_finish(&w);
}

static int save_stats(struct daemon *d)
{
	FILE *f;
	int ret;

	if (!d->o.stats)
		return 0;
	f = fopen(d->o.stats, "we");
	ret = f ? write_stats(d, f) : -errno;
	if (f && fclose(f) && !ret)
		ret = -errno;
	if (ret)
		fprintf(stderr, "--stats: cannot write %s: %s\n", d->o.stats, strerror(-ret));
	return ret;
}

/* Returns whether the target is to end. */
static bool on_signal(struct daemon *d)
{
	struct signalfd_siginfo info;
	bool end = false;

	while (read(d->signal_fd, &info, sizeof(info)) == sizeof(info)) {
		if (info.ssi_signo == SIGUSR1)
			write_stats(d, stderr);
		else
			end = true;
	}
	return end;
}

/* Serve until a signal or the end of --run's command. */
static void serve(struct daemon *d)
{
	struct pollfd fds[] = {
		{ .fd = d->signal_fd, .events = POLLIN },
		{ .fd = d->listen_fd, .events = POLLIN },
		{ .fd = d->child_fd, .events = POLLIN },
	};

	for (;;) {
		if (poll(fds, 3, -1) < 0)
			continue;
		if (fds[1].revents)
			d->ops->accept(d);
		if (fds[0].revents && on_signal(d))
			return;
		if (fds[2].revents)
			return;
	}
}

/* A signal to the target is one to its command, which --run waits for. */
static int end_command(struct daemon *d)
{
	int status;

	if (!d->child)
		return 0;
	if (d->child_fd >= 0) {
		struct pollfd p = { .fd = d->child_fd, .events = POLLIN };

		if (poll(&p, 1, 0) <= 0)
			kill(d->child, SIGTERM);
		close(d->child_fd);
	}
	status = run_status(d->child);
	return status < 0 ? 1 : status;
}

static int run(struct daemon *d)
{
	int status = 1, ret;

	ret = listen_on(d);
	if (ret)
		return 1;
	/* Clients may connect meanwhile, and wait. */
	backend_warm(&d->backend);
	d->started_ns = clock_ns();
	ret = start_command(d);
	if (!ret)
		serve(d);
	status = end_command(d);
	d->ops->close(d);
	release_socket(d);
	if (ret || save_stats(d))
		status = status ? status : 1;
	return status;
}

/**
 * daemon_main - be a target, from its command line to its exit status
 * @d: filled in, zeroed by the caller
 * @ops: what is the target's own
 * @argc: number of arguments
 * @argv: arguments
 *
 * Return: exit status.
 */
int daemon_main(struct daemon *d, const struct daemon_ops *ops, int argc, char **argv)
{
	struct backend_config backend;
	int status = 1, ret;

	d->ops = ops;
	ret = target_options_parse(&d->o, ops->program, argc, argv);
	if (ret)
		return ret < 0;
	d->signal_fd = open_signals();
	if (d->signal_fd < 0)
		return 1;
	backend = target_options_backend(&d->o, false);
	if (backend_open(&d->backend, &backend))
		return 1;
	if (!start_threads(d)) {
		status = run(d);
		stop_threads(d, d->o.iothreads);
	}
	backend_close(&d->backend);
	return status;
}
