/* SPDX-License-Identifier: GPL-2.0-only */
/* targets/options.c and the target's own table: what is accepted, and what is said otherwise */

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "base/json.h"
#include "targets/target-options.h"

#define ARGS_MAX	32

/* argv points into it, and the options point into argv */
static char words[512];

static int split(char **argv, const char *line)
{
	int argc = 0;

	snprintf(words, sizeof(words), "dir/vhost-user-blk-target %s", line);
	for (char *w = strtok(words, " "); w; w = strtok(NULL, " ")) {
		assert_true(argc < ARGS_MAX - 1);
		argv[argc++] = w;
	}
	argv[argc] = NULL;
	return argc;
}

/* Parses a line of words with stderr going to @said, which the caller frees */
static int parse(struct target_options *o, const char *line, char **said)
{
	FILE *real = stderr;
	char *argv[ARGS_MAX];
	size_t len;
	int argc = split(argv, line), ret;

	stderr = open_memstream(said, &len);
	assert_non_null(stderr);
	ret = target_options_parse(o, &vhost_user_blk_program, argc, argv);
	fclose(stderr);
	stderr = real;
	return ret;
}

static void parse_good(struct target_options *o, const char *line)
{
	char *said;
	int ret = parse(o, line, &said);

	if (ret || *said)
		fail_msg("'%s' gave %d: %s", line, ret, said);
	free(said);
}

/* The message, after the program's name, is exactly @want: one line */
static void parse_bad(const char *line, const char *want)
{
	struct target_options o;
	char *said, all[512];
	int ret = parse(&o, line, &said);

	snprintf(all, sizeof(all), "vhost-user-blk-target: %s\n", want);
	assert_string_equal(said, all);
	assert_int_equal(ret, -EINVAL);
	free(said);
}

static void test_defaults(void **state)
{
	struct target_options o;

	(void)state;
	parse_good(&o, "--socket /s");
	assert_int_equal(o.sockets.nr, 1);
	assert_string_equal(o.sockets.path[0], "/s");
	assert_null(o.run);
	assert_null(o.stats);
	assert_ptr_equal(o.backend.ops, &null_backend);
	assert_true(o.size == 1 << 30 && o.block_size == 512);
	assert_false(o.read_only);
	assert_int_equal(o.delay.kind, DELAY_NONE);
	assert_true(o.request_cost_ns == 0);
	assert_int_equal(o.num_queues, 8);
	assert_int_equal(o.queue_size, 1024);
	assert_int_equal(o.iothreads, 1);
	assert_int_equal(CPU_COUNT(&o.cpus), 0);
	assert_int_equal(o.poll, POLL_ADAPTIVE);
	assert_true(o.poll_max_ns == 32768);
	assert_int_equal(o.poll_grow, 2);
	assert_int_equal(o.poll_shrink, 0);
	assert_int_equal(o.poll_weight, 0);
	assert_int_equal(o.poll_start_rate, 1);
	assert_true(o.poll_stop_idle_ns == 3000000000);
}

static void test_every_option(void **state)
{
	struct target_options o;

	(void)state;
	parse_good(&o, "--run=true --backend ram --size 4M --block-size=4K "
		       "--read-only --delay uniform:1us,2us --request-cost 3us "
		       "--num-queues 256");
	assert_string_equal(o.run, "true");
	assert_int_equal(o.sockets.nr, 0);
	assert_ptr_equal(o.backend.ops, &ram_backend);
	assert_true(o.size == 4 << 20 && o.block_size == 4096);
	assert_true(o.read_only);
	assert_int_equal(o.delay.kind, DELAY_UNIFORM);
	assert_true(o.delay.ns == 1000 && o.delay.hi_ns == 2000);
	assert_true(o.request_cost_ns == 3000);
	assert_int_equal(o.num_queues, 256);

	parse_good(&o, "--socket s --queue-size=2 --iothreads 64 --cpus=0,2-3 "
		       "--poll busy --poll-max-ns 1ms --poll-grow 3 "
		       "--poll-shrink=4 --poll-weight 5 --poll-start-rate 6 "
		       "--poll-stop-idle 7ms --stats f=1");
	assert_int_equal(o.queue_size, 2);
	assert_int_equal(o.iothreads, 64);
	assert_int_equal(CPU_COUNT(&o.cpus), 3);
	assert_true(CPU_ISSET(0, &o.cpus) && CPU_ISSET(2, &o.cpus));
	assert_int_equal(o.poll, POLL_BUSY);
	assert_true(o.poll_max_ns == 1000000);
	assert_int_equal(o.poll_grow, 3);
	assert_int_equal(o.poll_shrink, 4);
	assert_int_equal(o.poll_weight, 5);
	assert_int_equal(o.poll_start_rate, 6);
	assert_true(o.poll_stop_idle_ns == 7000000);
	assert_string_equal(o.stats, "f=1");
}

static void test_last_one_counts(void **state)
{
	struct target_options o;

	(void)state;
	parse_good(&o, "--socket s --poll off --size 1M --poll fixed --size=2M");
	assert_int_equal(o.poll, POLL_FIXED);
	assert_true(o.size == 2 << 20);

	parse_good(&o, "--socket a --socket b");
	assert_int_equal(o.sockets.nr, 2);
	parse_bad("--socket a --socket a", "--socket: 'a' is given twice");
	parse_bad("--run a --run b", "--run: may be given only once");
}

static void test_bad_values(void **state)
{
	(void)state;
	parse_bad("--size 12Q",
		  "--size: '12Q' is not a size (a number with K, M, G or T)");
	parse_bad("--size=100", "--size: '100' is out of range (512 to 4E)");
	parse_bad("--size 99999999999999999999",
		  "--size: '99999999999999999999' is out of range (512 to 4E)");
	parse_bad("--block-size 1000",
		  "--block-size: '1000' is out of range (a power of two, 512 to 64K)");
	parse_bad("--queue-size 65536",
		  "--queue-size: '65536' is out of range (a power of two, 2 to 32768)");
	parse_bad("--iothreads 0", "--iothreads: '0' is out of range (1 to 256)");
	parse_bad("--iothreads all", "--iothreads: 'all' is not a number (1 to 256)");
	parse_bad("--poll-shrink 4294967296",
		  "--poll-shrink: '4294967296' is out of range (0 to 4294967295)");
	parse_bad("--poll sometimes",
		  "--poll: 'sometimes' is not one of off, busy, fixed, fixed-1024, "
		  "adaptive, per-source, weighted, rate, inflight, hybrid");
	parse_bad("--poll-max-ns 1x",
		  "--poll-max-ns: '1x' is not a time (a number with ns, us, ms or s)");
	parse_bad("--poll-max-ns 11s",
		  "--poll-max-ns: '11s' is out of range (0 to 10s)");
	parse_bad("--cpus 3-1", "--cpus: '3-1' is not a list of CPUs (such as 0,2-3)");
	parse_bad("--delay 20us",
		  "--delay: '20us' is not none, fixed:T, uniform:A,B, exp:MEAN, "
		  "lognormal:MEDIAN,SIGMA or file:PATH (times up to 100s, A up to B, SIGMA up to 10)");
	parse_bad("--backend file:", "--backend: 'file:' is not null, ram or file:PATH");
	parse_bad("--aio fast", "--aio: 'fast' is not threads, native, io_uring or inline");
	parse_bad("--stats=", "--stats: the FILE is empty");
}

static void test_bad_words(void **state)
{
	(void)state;
	parse_bad("--frob=1", "--frob: no such option, --help lists them");
	/* no abbreviations: a later option could make them ambiguous */
	parse_bad("--sock s", "--sock: no such option, --help lists them");
	parse_bad("disk.img", "'disk.img': not an option, --help lists them");
	parse_bad("-h", "'-h': not an option, --help lists them");
	parse_bad("--", "'--': not an option, --help lists them");
	parse_bad("--size", "--size: needs a value");
	parse_bad("--socket --read-only", "--socket: needs a value");
	parse_bad("--read-only=yes", "--read-only: takes no value");
}

static void test_combinations(void **state)
{
	(void)state;
	parse_bad("", "needs --socket PATH, --export vduse or --run COMMAND, see --help");
	parse_bad("--socket s --run r",
		  "--run: brings its own socket, so it excludes --socket");
	parse_bad("--run r --block-size 4K --size 1000000",
		  "--size: 1000000 is not a multiple of --block-size 4096");
	parse_bad("--run r --aio native", "--aio: native needs --backend file:PATH");
	parse_bad("--run r --backend file:f --aio native", "--aio: native needs --direct");
	parse_bad("--run r --backend file:f --direct --iopoll", "--iopoll: needs --aio io_uring and --direct");
	parse_bad("--run r --backend file:f --aio io_uring --hybrid-iopoll", "--hybrid-iopoll: needs --aio io_uring and --direct");
	parse_bad("--run r --backend file:f --sqpoll", "--sqpoll: needs --aio io_uring");
	parse_bad("--run r --direct", "--direct: needs --backend file:PATH");
	parse_bad("--run r --device-parallel 4",
		  "--device-parallel: needs a --delay, as it limits how many run at once");
	parse_bad("--run r --error-rate 1.5", "--error-rate: 1.5 is not from 0 to 1");
	parse_bad("--run r --pool-min 3 --pool-threads 2",
		  "--pool-min: 3 is more than --pool-threads 2");
	parse_bad("--run r --poll-grow 1",
		  "--poll-grow: a factor of 1 never grows (0 for QEMU's own, or 2 and more)");
}

/* The kernel's sun_path holds 107 bytes and a zero */
static void test_long_socket(void **state)
{
	char path[109], line[128], want[256];
	struct target_options o;

	(void)state;
	memset(path, 'x', 107);
	path[107] = '\0';
	snprintf(line, sizeof(line), "--socket %s", path);
	parse_good(&o, line);

	memset(path, 'x', 108);
	path[108] = '\0';
	snprintf(line, sizeof(line), "--socket %s", path);
	snprintf(want, sizeof(want),
		 "--socket: '%s' is not one of at most 256 paths of up to 107 bytes", path);
	parse_bad(line, want);
}

static void test_json(void **state)
{
	struct target_options o;
	struct json w;
	char *text;
	size_t len;
	FILE *f = open_memstream(&text, &len);

	(void)state;
	parse_good(&o, "--socket /s --size 1M --delay exp:1.5us --cpus 3,1,2 "
		       "--read-only --poll fixed --poll-max-ns 4us");
	json_init(&w, f);
	json_open_object(&w, NULL);
	options_json(&w, vhost_user_blk_program.table, &o);
	json_close_object(&w);
	assert_int_equal(json_finish(&w), 0);
	fclose(f);
	assert_string_equal(text, "{\n"
				  "  \"socket\": \"/s\",\n"
				  "  \"backend\": \"null\",\n"
				  "  \"size\": \"1048576\",\n"
				  "  \"block-size\": \"512\",\n"
				  "  \"read-only\": true,\n"
				  "  \"direct\": false,\n"
				  "  \"delay\": \"exp:1500\",\n"
				  "  \"device-parallel\": \"0\",\n"
				  "  \"request-cost\": \"0\",\n"
				  "  \"wakeup-cost\": \"0\",\n"
				  "  \"extra-notify\": \"0\",\n"
				  "  \"error-rate\": \"0\",\n"
				  "  \"aio\": \"inline\",\n"
				  "  \"iopoll\": false,\n"
				  "  \"hybrid-iopoll\": false,\n"
				  "  \"sqpoll\": false,\n"
				  "  \"sqpoll-idle\": \"1000000000\",\n"
				  "  \"pool-threads\": \"64\",\n"
				  "  \"pool-min\": \"0\",\n"
				  "  \"wakeup\": \"cond-unlocked\",\n"
				  "  \"pool-queue\": \"global\",\n"
				  "  \"completion\": \"eventfd\",\n"
				  "  \"num-queues\": \"8\",\n"
				  "  \"queue-size\": \"1024\",\n"
				  "  \"no-packed\": false,\n"
				  "  \"max-client-memory\": \"1099511627776\",\n"
				  "  \"max-clients\": \"64\",\n"
				  "  \"iothreads\": \"1\",\n"
				  "  \"cpus\": \"1-3\",\n"
				  "  \"poll\": \"fixed\",\n"
				  "  \"poll-max-ns\": \"4000\",\n"
				  "  \"poll-grow\": \"2\",\n"
				  "  \"poll-shrink\": \"0\",\n"
				  "  \"poll-weight\": \"0\",\n"
				  "  \"poll-start-rate\": \"1\",\n"
				  "  \"poll-stop-idle\": \"3000000000\"\n"
				  "}\n");
	free(text);
}

/* What target_options_parse() prints on stdout for a line of words */
static char *printed(const char *line)
{
	struct target_options o;
	FILE *real = stdout;
	char *argv[ARGS_MAX], *text;
	size_t len;
	int argc = split(argv, line), ret;

	stdout = open_memstream(&text, &len);
	assert_non_null(stdout);
	ret = target_options_parse(&o, &vhost_user_blk_program, argc, argv);
	fclose(stdout);
	stdout = real;
	assert_int_equal(ret, 1);
	return text;
}

static size_t longest_line(const char *text)
{
	size_t longest = 0;

	while (*text) {
		size_t len = strcspn(text, "\n");

		longest = len > longest ? len : longest;
		text += len + (text[len] == '\n');
	}
	return longest;
}

static void test_help_lists_all(void **state)
{
	char *help = printed("--help"), *described = printed("--describe");

	(void)state;
	for (const struct option_desc *o = vhost_user_blk_program.table;
	     o->type != OPT_END; o++) {
		char line[64];

		if (o->type == OPT_TOPIC)
			snprintf(line, sizeof(line), "\n%s:\n", o->help);
		else
			snprintf(line, sizeof(line), "\n  --%s", o->name);
		if (!strstr(help, line))
			fail_msg("--help lacks %s", line + 1);

		snprintf(line, sizeof(line), "\"%s\": \"%s\"", o->type == OPT_TOPIC ? "topic" : "name",
			 o->type == OPT_TOPIC ? o->help : o->name);
		if (!strstr(described, line))
			fail_msg("--describe lacks %s", line);
	}
	assert_in_range(longest_line(help), 60, 80);
	assert_non_null(strstr(help, "(default 32768)"));
	free(help);
	free(described);
}

static void test_version(void **state)
{
	char *text = printed("--version");

	(void)state;
	assert_int_equal(strncmp(text, "vhost-user-blk-target 0.", 24), 0);
	free(text);
}

/* The types no option of the target uses yet */
static void test_double(void **state)
{
	struct { double rate; } o = { 0 };
	const struct option_desc table[] = {
		{ OPT_DOUBLE, "rate", "P", .def = "0.5", .help = "a rate" },
		{ .type = OPT_END },
	};
	char *good[] = { "t", "--rate", "0.25", NULL };
	char *bad[] = { "t", "--rate=-1", NULL };
	FILE *real = stderr;
	char *said;
	size_t len;

	(void)state;
	assert_int_equal(options_parse(table, &o, 1, good), 0);
	assert_true(o.rate == 0.5);
	assert_int_equal(options_parse(table, &o, 3, good), 0);
	assert_true(o.rate == 0.25);

	stderr = open_memstream(&said, &len);
	assert_int_equal(options_parse(table, &o, 2, bad), -EINVAL);
	fclose(stderr);
	stderr = real;
	assert_string_equal(said, "t: --rate: '-1' is not a number from 0 up\n");
	free(said);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_defaults),
		cmocka_unit_test(test_every_option),
		cmocka_unit_test(test_last_one_counts),
		cmocka_unit_test(test_bad_values),
		cmocka_unit_test(test_bad_words),
		cmocka_unit_test(test_combinations),
		cmocka_unit_test(test_long_socket),
		cmocka_unit_test(test_json),
		cmocka_unit_test(test_help_lists_all),
		cmocka_unit_test(test_version),
		cmocka_unit_test(test_double),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
