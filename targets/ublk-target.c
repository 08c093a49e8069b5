/* SPDX-License-Identifier: GPL-2.0-only */
#include <signal.h>
#include <stdio.h>
#include "base/clock.h"
#include "targets/daemon.h"
#include "targets/ublk/device.h"

/**
 * struct ublk_target - the daemon and its devices
 */
struct ublk_target {
	struct daemon daemon;		/* first */
	struct ublk_control control;
	unsigned int nr_open;		/* devices; the way to the driver is open while there are any */
	char path[32];
	struct ublk_device device[TARGET_SOCKETS_MAX];
};

static struct ublk_target *target(struct daemon *d)
{
	return (struct ublk_target *)d;
}

/* Signals are held back for main()'s loop, which has not begun. */
static bool is_ending(void *arg)
{
	sigset_t pending;

	(void)arg;
	return !sigpending(&pending) && (sigismember(&pending, SIGTERM) || sigismember(&pending, SIGINT) ||
					 sigismember(&pending, SIGHUP));
}

static void hurry(void *arg)
{
	struct daemon *d = arg;

	for (unsigned int i = 0; i < d->o.iothreads; i++)
		channel_hurry_all(&d->iothreads[i], clock_ns() + CHANNEL_PATIENCE_NS);
}

static int open_control(struct ublk_target *t)
{
	if (t->nr_open)
		return 0;
	t->control.is_ending = is_ending;
	t->control.hurry = hurry;
	t->control.arg = &t->daemon;
	return ublk_control_open(&t->control);
}

static void close_control(struct ublk_target *t)
{
	if (!t->nr_open)
		ublk_control_close(&t->control);
}

/* Whoever did not choose the number must be told. */
static void say_where(struct daemon *d, const struct ublk_device *device)
{
	if (d->o.devices.nr || d->o.run)
		return;
	printf("/dev/ublkb%u\n", device->info.dev_id);
	fflush(stdout);
}

static int start_device(struct daemon *d, unsigned int i)
{
	struct ublk_target *t = target(d);
	struct ublk_device *device = &t->device[i];
	int ret = open_control(t);

	if (ret)
		return ret;
	device->control = &t->control;
	device->backend = &d->device[i].backend;
	device->config = (struct ublk_config) {
		.number = d->o.devices.nr ? d->o.devices.number[i] : UBLK_ANY,
		.num_queues = d->o.num_queues,
		.queue_depth = d->o.queue_size,
		.block_size = (uint32_t)d->o.block_size,
		.read_only = d->o.read_only,
		.zero_copy = d->o.zero_copy,
		/* Memory is gone with the target, and a number that nobody chose is found by nobody. */
		.recoverable = d->o.devices.nr && d->o.backend.path[0] && !d->o.run,
		.iothreads = d->iothreads,
		.nr_iothreads = d->o.iothreads,
		.map = d->o.iothread_map.iothread,
		.nr_map = d->o.iothread_map.nr,
		/* So that devices of one queue do not all end up on the first iothread. */
		.first_iothread = i,
	};
	ret = ublk_device_open(device);
	if (ret) {
		close_control(t);
		return ret;
	}
	t->nr_open++;
	d->device[i].listen_fd = device->lost_fd;
	say_where(d, device);
	return 0;
}

static void device_lost(struct daemon *d, unsigned int i)
{
	options_error(NULL, NULL, "ublk%u: another program has stopped the device", target(d)->device[i].info.dev_id);
	d->lost = true;
}

static void stop_device(struct daemon *d, unsigned int i)
{
	struct ublk_target *t = target(d);

	ublk_device_close(&t->device[i]);
	t->nr_open--;
	close_control(t);
}

static struct run_place place(struct daemon *d)
{
	struct ublk_target *t = target(d);

	snprintf(t->path, sizeof(t->path), "/dev/ublkb%u", t->device[0].info.dev_id);
	return (struct run_place) { .device = t->path };
}

/* What --remove asks for */
static int remove_devices(struct daemon *d)
{
	struct ublk_control c = { 0 };
	int status = 0;

	if (!d->o.remove)
		return -1;
	if (ublk_control_open(&c))
		return 1;
	for (unsigned int i = 0; i < d->o.devices.nr; i++)
		if (ublk_device_remove(&c, (unsigned int)d->o.devices.number[i]))
			status = 1;
	ublk_control_close(&c);
	return status;
}

static const struct daemon_ops ops = {
	.program = &ublk_program,
	.socketless = true,
	.instead = remove_devices,
	.listen = start_device,
	.accept = device_lost,
	.close = stop_device,
	.place = place,
};

int main(int argc, char **argv)
{
	static struct ublk_target t;

	return daemon_main(&t.daemon, &ops, argc, argv);
}
