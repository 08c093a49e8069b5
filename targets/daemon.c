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
#include "base/json.h"
#include "base/parse.h"
#include "targets/client-lines.h"
#include "targets/daemon.h"

/* How long a command and what it has started may take to end when told to, in ns. */
#define COMMAND_ENDS_NS		UINT64_C(30000000000)

/* And what it leaves behind when it ends by itself. */
#define LEFTOVERS_END_NS	UINT64_C(5000000000)

/* How often to look which processes are left, in ms */
#define FAMILY_LOOK_MS		20

/* Signals come through a descriptor; threads started later inherit the mask. */
static int open_signals(void)
{
	struct sigaction hangup;
	sigset_t set;
	int fd;

	sigemptyset(&set);
	/* Closing the terminal ends the target, as other signals do, except under nohup. */
	if (!sigaction(SIGHUP, NULL, &hangup) && hangup.sa_handler != SIG_IGN)
		sigaddset(&set, SIGHUP);
	sigaddset(&set, SIGTERM);
	sigaddset(&set, SIGINT);
	sigaddset(&set, SIGUSR1);
	sigprocmask(SIG_BLOCK, &set, NULL);
	signal(SIGPIPE, SIG_IGN);
	/* A write past RLIMIT_FSIZE is an error like others: EFBIG. */
	signal(SIGXFSZ, SIG_IGN);
	fd = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
	if (fd < 0)
		options_error(NULL, NULL, "signalfd: %s", strerror(errno));
	return fd;
}

/*
 * What a process may use is not what it is set to use, which was taskset's or its parent's
 * choice: only asking for all tells.
 */
static int check_cpus(const struct daemon *d)
{
	cpu_set_t before, all, allowed;
	char have[256], want[256];

	CPU_ZERO(&allowed);
	memset(&all, 0xff, sizeof(all));
	if (sched_getaffinity(0, sizeof(before), &before) || sched_setaffinity(0, sizeof(all), &all))
		return 0;
	sched_getaffinity(0, sizeof(allowed), &allowed);
	sched_setaffinity(0, sizeof(before), &before);
	CPU_OR(&all, &allowed, &d->o.cpus);
	if (CPU_EQUAL(&all, &allowed))
		return 0;
	format_cpu_list(&d->o.cpus, want, sizeof(want));
	format_cpu_list(&allowed, have, sizeof(have));
	return options_error(NULL, "cpus", "'%s' is not among the CPUs allowed here (%s)", want, have);
}

static void stop_threads(struct daemon *d, unsigned int nr)
{
	for (unsigned int i = 0; i < nr; i++) {
		channel_stop(&d->iothreads[i]);
		iothread_stop(&d->iothreads[i]);
	}
	free(d->iothreads);
}

static int start_threads(struct daemon *d)
{
	struct channel_config config = target_options_channel(&d->o);
	struct poll_policy policy = target_options_policy(&d->o);

	config.trace = d->o.trace ? &d->trace : NULL;
	d->iothreads = alloc_apart(d->o.iothreads, sizeof(*d->iothreads));
	if (!d->iothreads) {
		options_error(NULL, "iothreads", "%s", strerror(ENOMEM));
		return -ENOMEM;
	}
	for (unsigned int i = 0; i < d->o.iothreads; i++) {
		cpu_set_t cpu;
		int ret;

		target_options_cpu(&d->o, i, &cpu);
		ret = iothread_start(&d->iothreads[i], i, &cpu, &policy);
		if (!ret) {
			ret = channel_start(&d->iothreads[i], &config);
			if (ret)
				iothread_stop(&d->iothreads[i]);
		}
		if (ret) {
			stop_threads(d, i);
			return ret;
		}
	}
	return 0;
}

/* A command that finds the target at a port, or by its device, needs no socket. */
static bool has_private_socket(const struct daemon *d)
{
	return d->o.run && !d->o.port && !d->o.exports.nr && !d->ops->socketless;
}

static int choose_sockets(struct daemon *d)
{
	int ret;

	for (unsigned int i = 0; i < d->o.sockets.nr; i++)
		strcpy(d->device[i].socket, d->o.sockets.path[i]);
	if (!has_private_socket(d))
		return 0;
	ret = run_private_socket(d->device[0].socket, sizeof(d->device[0].socket));
	if (ret) {
		const char *tmp = getenv("TMPDIR");

		options_error(NULL, "run", "cannot make a directory for its socket in %s%s: %s",
			      tmp && *tmp ? tmp : "/tmp", tmp && *tmp ? " ($TMPDIR)" : "",
			      strerror(-ret));
	}
	return ret;
}

static void stop_listening(struct daemon *d, unsigned int nr)
{
	for (unsigned int i = 0; i < nr; i++)
		d->ops->close(d, i);
	if (has_private_socket(d))
		run_remove_private_socket(d->device[0].socket);
}

static int listen_on_all(struct daemon *d)
{
	int ret = choose_sockets(d);

	if (ret)
		return ret;
	for (unsigned int i = 0; i < d->nr_devices; i++) {
		ret = d->ops->listen(d, i);
		if (ret) {
			stop_listening(d, i);
			return ret;
		}
	}
	return 0;
}

static int start_command(struct daemon *d)
{
	struct run_place place;
	int ret;

	d->child_fd = -1;
	if (!d->o.run)
		return 0;
	place = d->ops->place(d);
	ret = family_init(&d->family);
	if (!ret)
		ret = run_command(d->o.run, &place, &d->child);
	if (!ret) {
		d->child_fd = run_pidfd(d->child);
		ret = d->child_fd < 0 ? d->child_fd : 0;
	}
	if (ret)
		options_error(NULL, "run", "cannot start '%s': %s", d->o.run, strerror(-ret));
	return ret;
}

static void iothreads_json(struct daemon *d, struct json *w)
{
	json_open_array(w, "iothreads");
	for (unsigned int i = 0; i < d->o.iothreads; i++)
		channel_stats_json(w, &d->iothreads[i]);
	json_close_array(w);
}

static void workers_json(struct daemon *d, struct json *w)
{
	json_open_array(w, "workers");
	for (unsigned int i = 0; i < d->o.iothreads; i++) {
		struct channel *c = d->iothreads[i].channel;

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
		options_error(NULL, "stats", "cannot write %s: %s", d->o.stats, strerror(-ret));
	return ret;
}

/* Write in the background: clients do not wait for a slow reader of stderr. */
static void print_stats(struct daemon *d)
{
	char *text;
	size_t len;
	FILE *f = open_memstream(&text, &len);

	if (!f)
		return;
	write_stats(d, f);
	if (!fclose(f))
		client_lines_text(text, len);
}

/* Returns whether there was a signal to end. */
static bool on_signal(struct daemon *d)
{
	struct signalfd_siginfo info;
	int ends = 0;

	while (read(d->signal_fd, &info, sizeof(info)) == sizeof(info)) {
		if (info.ssi_signo == SIGUSR1)
			print_stats(d);
		else
			ends = info.ssi_signo;
	}
	if (!d->ended_by)
		d->ended_by = ends;
	return ends;
}

/* Serve until a signal, the end of --run's command or that of a device. */
static void serve(struct daemon *d)
{
	struct pollfd fds[2 + TARGET_SOCKETS_MAX] = {
		{ .fd = d->signal_fd, .events = POLLIN },
		{ .fd = d->child_fd, .events = POLLIN },
	};

	for (unsigned int i = 0; i < d->nr_devices; i++)
		fds[2 + i] = (struct pollfd) { .fd = d->device[i].listen_fd, .events = POLLIN };
	for (;;) {
		if (poll(fds, 2 + d->nr_devices, -1) < 0)
			continue;
		for (unsigned int i = 0; i < d->nr_devices; i++)
			if (fds[2 + i].revents)
				d->ops->accept(d, i);
		if (fds[0].revents && on_signal(d))
			return;
		if (fds[1].revents || d->lost)
			return;
	}
}

/*
 * End what the command has started: a shell that dies of a signal does not take it along. Who
 * takes too long is killed, and so is everybody at the next signal to the target.
 */
static void end_family(struct daemon *d)
{
	uint64_t until = clock_ns() + (d->ended_by ? COMMAND_ENDS_NS : LEFTOVERS_END_NS);
	struct pollfd p = { .fd = d->signal_fd, .events = POLLIN };
	int sig = SIGTERM;

	while (family_signal(&d->family, sig)) {
		if ((poll(&p, 1, FAMILY_LOOK_MS) > 0 && on_signal(d)) || clock_ns() > until)
			sig = SIGKILL;
	}
	family_free(&d->family);
}

/*
 * A signal to the target ends its command, which --run waits for: by SIGTERM, as a shell
 * lets its background processes ignore SIGINT. The status is the command's own, but where
 * that signal killed it the one that a shell gives a program killed by the target's.
 */
static int end_command(struct daemon *d)
{
	int status;

	if (!d->child)
		return 0;
	end_family(d);
	if (d->child_fd >= 0)
		close(d->child_fd);
	status = run_status(d->child);
	if (d->ended_by && status == 128 + SIGTERM)
		return 128 + d->ended_by;
	return status < 0 ? 1 : status;
}

/* A device may be slow; its end, and that of a command that waits for it, is not. */
static void hurry(struct daemon *d)
{
	uint64_t until = clock_ns() + CHANNEL_PATIENCE_NS;

	for (unsigned int i = 0; i < d->o.iothreads; i++)
		channel_hurry_all(&d->iothreads[i], until);
}

static int run(struct daemon *d)
{
	int status = 1, ret;

	ret = listen_on_all(d);
	if (ret)
		return 1;
	/* Clients may connect meanwhile, and wait. */
	for (unsigned int i = 0; i < d->nr_devices; i++)
		backend_warm(&d->device[i].backend);
	d->started_ns = clock_ns();
	ret = start_command(d);
	if (!ret)
		serve(d);
	hurry(d);
	status = end_command(d);
	stop_listening(d, d->nr_devices);
	if (ret || save_stats(d) || d->lost)
		status = status ? status : 1;
	return status;
}

static void close_devices(struct daemon *d, unsigned int nr)
{
	for (unsigned int i = 0; i < nr; i++)
		backend_close(&d->device[i].backend);
	free(d->device);
}

static int open_devices(struct daemon *d)
{
	struct backend_config config = target_options_backend(&d->o, false);

	d->nr_devices = d->o.sockets.nr + d->o.exports.nr + d->o.devices.nr ? : 1;
	d->device = calloc(d->nr_devices, sizeof(*d->device));
	if (!d->device) {
		options_error(NULL, NULL, "devices: %s", strerror(ENOMEM));
		return -ENOMEM;
	}
	for (unsigned int i = 0; i < d->nr_devices; i++) {
		int ret = backend_open(&d->device[i].backend, &config);

		if (ret) {
			close_devices(d, i);
			return ret;
		}
	}
	/* For the record: a file's own */
	d->o.size = d->device[0].backend.size;
	return 0;
}

static int begin_trace(struct daemon *d)
{
	int ret;

	if (!d->o.trace)
		return 0;
	ret = trace_open(&d->trace, d->o.trace, d->ops->program->text->name);
	if (ret)
		options_error(NULL, "trace", "cannot write %s: %s", d->o.trace,
			      ret == -EINVAL ? "it is no file" : strerror(-ret));
	return ret;
}

static void end_trace(struct daemon *d)
{
	if (d->o.trace)
		trace_close(&d->trace);
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
	int status, ret;

	d->ops = ops;
	ret = target_options_parse(&d->o, ops->program, argc, argv);
	if (ret)
		return ret < 0;
	status = ops->instead ? ops->instead(d) : -1;
	if (status >= 0)
		return status;
	status = 1;
	d->signal_fd = open_signals();
	if (d->signal_fd < 0 || check_cpus(d) || open_devices(d))
		return 1;
	if (begin_trace(d))
		goto close;
	if (!start_threads(d)) {
		status = run(d);
		stop_threads(d, d->o.iothreads);
	}
	end_trace(d);
close:
	close_devices(d, d->nr_devices);
	client_lines_flush();
	return status;
}
