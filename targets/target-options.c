/* SPDX-License-Identifier: GPL-2.0-only */
/* Options that the targets share: values of their own kinds, and what must hold between them */

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>

#include "targets/target-rows.h"
#include "wire/trace-probe.h"

#define FILE_PREFIX	"file:"
#define EXPORT_VDUSE	"vduse"
#define DEFAULT_SIZE	(UINT64_C(1) << 30)

const char *const pool_queue_names[] = {
	[POOL_QUEUE_GLOBAL]	= "global",
	[POOL_QUEUE_PER_THREAD]	= "per-thread",
	NULL
};

const char *const completion_names[] = {
	[POOL_COMPLETION_EVENTFD_LOCKED]	= "eventfd-locked",
	[POOL_COMPLETION_EVENTFD]		= "eventfd",
	[POOL_COMPLETION_COALESCED]		= "coalesced",
	[POOL_COMPLETION_POLL]			= "poll",
	NULL
};

static const char *const aio_names[] = {
	[TARGET_AIO_DEFAULT]	= NULL,
	[TARGET_AIO_THREADS]	= "threads",
	[TARGET_AIO_NATIVE]	= "native",
	[TARGET_AIO_IO_URING]	= "io_uring",
	[TARGET_AIO_INLINE]	= "inline",
};

int parse_socket(const char *s, void *value)
{
	struct target_sockets *sockets = value;
	size_t max = sizeof(((struct sockaddr_un *)0)->sun_path) - 1;

	if (!*s || strlen(s) > max || sockets->nr == TARGET_SOCKETS_MAX)
		return -EINVAL;
	sockets->path[sockets->nr++] = s;
	return 0;
}

void format_sockets(const void *value, char *buf, size_t len)
{
	const struct target_sockets *sockets = value;
	size_t at = 0;

	buf[0] = '\0';
	for (unsigned int i = 0; i < sockets->nr && at < len; i++)
		at += (size_t)snprintf(buf + at, len - at, "%s%s", i ? " " : "", sockets->path[i]);
}

#define NAME_CHARS	"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.-"

/* Its file is in /dev/vduse/, beside the driver's own "control". */
static bool export_name_valid(const char *name)
{
	size_t len = strlen(name);

	return len && len <= TARGET_EXPORT_NAME_MAX && strspn(name, NAME_CHARS) == len && *name != '.' &&
	       *name != '-' && strcmp(name, "control");
}

int parse_export(const char *s, void *value)
{
	struct target_exports *exports = value;
	size_t prefix = strlen(EXPORT_VDUSE);
	const char *name = s + prefix + 1;

	if (strncmp(s, EXPORT_VDUSE, prefix) || (s[prefix] && s[prefix] != ':') || exports->nr == TARGET_SOCKETS_MAX)
		return -EINVAL;
	if (!s[prefix])
		name = TARGET_EXPORT_NAME;
	if (!export_name_valid(name))
		return -EINVAL;
	exports->name[exports->nr++] = name;
	return 0;
}

void format_exports(const void *value, char *buf, size_t len)
{
	const struct target_exports *exports = value;
	size_t at = 0;

	buf[0] = '\0';
	for (unsigned int i = 0; i < exports->nr && at < len; i++)
		at += (size_t)snprintf(buf + at, len - at, "%s" EXPORT_VDUSE ":%s", i ? " " : "", exports->name[i]);
}

int parse_backend(const char *s, void *value)
{
	struct target_backend *b = value;
	size_t prefix = strlen(FILE_PREFIX);

	b->path[0] = '\0';
	if (!strcmp(s, "null")) {
		b->ops = &null_backend;
	} else if (!strcmp(s, "ram")) {
		b->ops = &ram_backend;
	} else if (!strncmp(s, FILE_PREFIX, prefix) && s[prefix] &&
		   strlen(s + prefix) < sizeof(b->path)) {
		b->ops = &file_backend;
		strcpy(b->path, s + prefix);
	} else {
		return -EINVAL;
	}
	return 0;
}

void format_backend(const void *value, char *buf, size_t len)
{
	const struct target_backend *b = value;

	snprintf(buf, len, "%s%s", b->path[0] ? FILE_PREFIX : b->ops->name, b->path);
}

int parse_aio(const char *s, void *value)
{
	enum target_aio *aio = value;

	for (enum target_aio i = TARGET_AIO_THREADS; i <= TARGET_AIO_INLINE; i++) {
		if (!strcmp(s, aio_names[i])) {
			*aio = i;
			return 0;
		}
	}
	return -EINVAL;
}

void format_aio(const void *value, char *buf, size_t len)
{
	const enum target_aio *aio = value;

	snprintf(buf, len, "%s", aio_names[*aio] ? : "");
}

/* A delay that is as another one unless it is given */
void format_own_delay(const void *value, char *buf, size_t len)
{
	const struct delay *d = value;

	*buf = '\0';
	if (d->kind != DELAY_NONE)
		delay_format(d, buf, len);
}

int parse_delay(const char *s, void *value)
{
	return delay_parse(s, value);
}

void format_delay(const void *value, char *buf, size_t len)
{
	delay_format(value, buf, len);
}

int parse_device(const char *s, void *value)
{
	struct target_devices *devices = value;
	char *end;
	unsigned long number = strtoul(s, &end, 10);

	if (*s < '0' || *s > '9' || *end || number > TARGET_DEVICE_MAX || devices->nr == TARGET_SOCKETS_MAX)
		return -EINVAL;
	devices->number[devices->nr++] = (int)number;
	return 0;
}

void format_devices(const void *value, char *buf, size_t len)
{
	const struct target_devices *devices = value;
	size_t at = 0;

	buf[0] = '\0';
	for (unsigned int i = 0; i < devices->nr && at < len; i++)
		at += (size_t)snprintf(buf + at, len - at, "%s%d", i ? " " : "", devices->number[i]);
}

/* parse_map() - Read "0,1,1": the iothread of the first queue, the second, … */
int parse_map(const char *s, void *value)
{
	struct target_map map = { 0 };
	char *end;

	do {
		unsigned long iothread = strtoul(s, &end, 10);

		if (*s < '0' || *s > '9' || iothread >= TARGET_IOTHREADS_MAX || map.nr == TARGET_MAP_MAX)
			return -EINVAL;
		map.iothread[map.nr++] = (uint16_t)iothread;
		s = end + 1;
	} while (*end == ',');
	if (*end)
		return -EINVAL;
	*(struct target_map *)value = map;
	return 0;
}

void format_map(const void *value, char *buf, size_t len)
{
	const struct target_map *map = value;
	size_t at = 0;

	buf[0] = '\0';
	for (unsigned int i = 0; i < map->nr && at < len; i++)
		at += (size_t)snprintf(buf + at, len - at, "%s%u", i ? "," : "", map->iothread[i]);
}

static int check_place(const struct target_options *o, const char *argv0)
{
	if (o->sockets.nr && o->run)
		return options_error(argv0, "run", "brings its own socket, so it excludes --socket");
	for (unsigned int i = 0; i < o->sockets.nr; i++)
		for (unsigned int j = 0; j < i; j++)
			if (!strcmp(o->sockets.path[i], o->sockets.path[j]))
				return options_error(argv0, "socket", "'%s' is given twice",
						     o->sockets.path[i]);
	return 0;
}

static int check_backend(const struct target_options *o, const char *argv0)
{
	bool file = o->backend.path[0];

	if (o->size % o->block_size)
		return options_error(argv0, "size",
				     "%" PRIu64 " is not a multiple of --block-size %" PRIu64,
				     o->size, o->block_size);
	if (!file && (o->aio == TARGET_AIO_NATIVE || o->aio == TARGET_AIO_IO_URING))
		return options_error(argv0, "aio", "%s needs --backend file:PATH", aio_names[o->aio]);
	if (!file && o->direct)
		return options_error(argv0, "direct", "needs --backend file:PATH");
	/* io_submit(2) would block the iothread in the page cache; QEMU refuses it, too. */
	if (o->aio == TARGET_AIO_NATIVE && !o->direct)
		return options_error(argv0, "aio", "native needs --direct");
	if ((o->iopoll || o->hybrid_iopoll) && (o->aio != TARGET_AIO_IO_URING || !o->direct))
		return options_error(argv0, o->iopoll ? "iopoll" : "hybrid-iopoll", "needs --aio io_uring and --direct");
	if (o->sqpoll && o->aio != TARGET_AIO_IO_URING)
		return options_error(argv0, "sqpoll", "needs --aio io_uring");
	if (o->device_parallel && o->delay.kind == DELAY_NONE)
		return options_error(argv0, "device-parallel", "needs a --delay, as it limits how many run at once");
	if (o->error_rate > 1)
		return options_error(argv0, "error-rate", "%g is not from 0 to 1", o->error_rate);
	if (o->pool_min > o->pool_threads)
		return options_error(argv0, "pool-min", "%" PRIu32 " is more than --pool-threads %" PRIu32,
				     o->pool_min, o->pool_threads);
	return 0;
}

static int check_polling(const struct target_options *o, const char *argv0)
{
	/* QEMU takes a factor of 1 and then never grows, which nobody means */
	if (o->poll_grow == 1)
		return options_error(argv0, "poll-grow",
				     "a factor of 1 never grows (0 for QEMU's own, or 2 and more)");
	return 0;
}

static int check_map(const struct target_options *o, const char *argv0)
{
	for (unsigned int i = 0; i < o->iothread_map.nr; i++)
		if (o->iothread_map.iothread[i] >= o->iothreads)
			return options_error(argv0, "iothread-map", "iothread %u does not exist; --iothreads is %" PRIu32,
					     o->iothread_map.iothread[i], o->iothreads);
	return 0;
}

static int check_values(struct target_options *o, const char *argv0)
{
	if (!o->size && !o->backend.path[0])
		o->size = DEFAULT_SIZE;
	if (o->aio == TARGET_AIO_DEFAULT)
		o->aio = o->backend.path[0] ? TARGET_AIO_THREADS : TARGET_AIO_INLINE;
	return check_backend(o, argv0) ? : check_map(o, argv0) ? : check_polling(o, argv0);
}

int target_options_parse(struct target_options *o, const struct target_program *program,
			 int argc, char **argv)
{
	int ret;

	memset(o, 0, sizeof(*o));
	ret = options_parse(program->table, o, argc, argv);
	if (ret)
		return ret;

	if (o->help || o->describe) {
		(o->help ? options_help : options_describe)(stdout, program->text, program->table);
		return 1;
	}

	ret = check_values(o, argv[0]);
	if (ret)
		return ret;
	if (!o->version)
		return check_place(o, argv[0]) ? : program->check(o, argv[0]);
	/* After the checks, so that a script can ask whether values would do. */
	printf("%s %s (%s)\n", program->text->name, program->text->version, PROBES_BUILT);
	return 1;
}

void target_options_cpu(const struct target_options *o, unsigned int index, cpu_set_t *set)
{
	int count = CPU_COUNT(&o->cpus), n = count ? index % count : 0;

	CPU_ZERO(set);
	for (int cpu = 0; count && cpu < CPU_SETSIZE; cpu++) {
		if (CPU_ISSET(cpu, &o->cpus) && !n--) {
			CPU_SET(cpu, set);
			return;
		}
	}
}

static struct throttle_config target_throttle(const struct target_options *o)
{
	return (struct throttle_config) {
		.parallel = o->device_parallel,
		.iops = o->device_iops,
		.bandwidth = o->device_bw,
	};
}

struct backend_config target_options_backend(const struct target_options *o, bool shared)
{
	return (struct backend_config) {
		.ops = o->backend.ops,
		.path = o->backend.path[0] ? o->backend.path : NULL,
		.size = o->size,
		.block_size = o->block_size,
		.shared = shared,
		.read_only = o->read_only,
		.direct = o->direct,
		.polled = o->iopoll || o->hybrid_iopoll,
		.throttle = target_throttle(o),
	};
}

static const struct aio_ops *aio_ops(const struct target_options *o)
{
	switch (o->aio) {
	case TARGET_AIO_THREADS:
		return &threads_aio;
	case TARGET_AIO_NATIVE:
		return &native_aio;
	case TARGET_AIO_IO_URING:
		return &io_uring_aio;
	case TARGET_AIO_DEFAULT:	/* check_values() has chosen */
	case TARGET_AIO_INLINE:
		break;
	}
	return NULL;
}

struct channel_config target_options_channel(const struct target_options *o)
{
	struct throttle_config throttle = target_throttle(o);

	return (struct channel_config) {
		.aio = aio_ops(o),
		.uring = {
			.iopoll = o->iopoll || o->hybrid_iopoll,
			.hybrid = o->hybrid_iopoll,
			.sqpoll = o->sqpoll,
			.sqpoll_idle_ms = o->sqpoll_idle_ns / 1000000,
		},
		.pool = {
			.min_threads = o->pool_min,
			.max_threads = o->pool_threads,
			.wakeup = wakeup_list[o->wakeup],
			.queue = o->pool_queue,
			.completion = o->completion,
		},
		.model = {
			.delay = o->delay,
			.delay_write = o->delay_write,
			.byte_ticks = model_byte_ticks(o->delay_bw),
			.byte_ticks_write = model_byte_ticks(o->delay_write_bw ? : o->delay_bw),
			.throttled = throttle_is_set(&throttle),
			.request_cost_ns = o->request_cost_ns,
			.extra_notify = o->extra_notify,
			.error_rate = o->error_rate,
			.fail_after = o->fail_after,
		},
		.wakeup_cost_ns = o->wakeup_cost_ns,
	};
}

struct poll_policy target_options_policy(const struct target_options *o)
{
	struct poll_policy p;

	poll_policy_init(&p, &(struct poll_config) {
		.mode = o->poll,
		.max_ns = o->poll_max_ns,
		.grow = o->poll_grow,
		.shrink = o->poll_shrink,
		.weight = o->poll_weight,
		.start_rate = o->poll_start_rate,
		.stop_idle_ns = o->poll_stop_idle_ns,
	});
	return p;
}

/* What only a process of its own can do. */
static int check_embedded(const struct target_options *o, const char *argv0)
{
	const char *bad = o->sockets.nr ? "socket" : o->exports.nr ? "export" : o->run ? "run" : o->stats ? "stats" :
			  o->trace ? "trace" : o->help ? "help" : o->describe ? "describe" : o->version ? "version" : NULL;

	if (bad)
		return options_error(argv0, bad, "has no meaning for a target inside fio");
	if (o->iothreads != 1)
		return options_error(argv0, "iothreads",
				     "%" PRIu32 ": a target inside fio has one iothread a job", o->iothreads);
	return 0;
}

#define EMBEDDED_ARGS_MAX	64

int target_options_parse_embedded(struct target_options *o, const struct target_program *program,
				  const char *text, const char *name)
{
	char *argv[EMBEDDED_ARGS_MAX] = { (char *)name, "--poll", "busy" };
	char *copy = strdup(text), *save = NULL;
	int argc = 3, ret;

	if (!copy)
		return -ENOMEM;
	memset(o, 0, sizeof(*o));
	for (char *word = strtok_r(copy, " \t", &save); word; word = strtok_r(NULL, " \t", &save)) {
		if (argc == EMBEDDED_ARGS_MAX) {
			ret = options_error(name, NULL, "more than %d words", EMBEDDED_ARGS_MAX);
			goto out;
		}
		argv[argc++] = word;
	}
	ret = options_parse(program->table, o, argc, argv);
	if (!ret)
		ret = check_values(o, name);
	if (!ret)
		ret = check_embedded(o, name);
out:
	/* The only options that point into it are refused. */
	o->sockets.nr = o->exports.nr = 0;
	o->run = o->stats = o->trace = NULL;
	free(copy);
	return ret;
}
