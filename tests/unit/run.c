/* SPDX-License-Identifier: GPL-2.0-only */
/* targets/run.c: the command of --run sees what it should, and its end is noticed */

#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cmocka.h>

#include "targets/run.h"

#define TIMEOUT_MS	10000

static int run(const char *cmd)
{
	pid_t pid;

	assert_int_equal(run_command(cmd, &(struct run_place) { "/a b/socket", "uri:x", NULL }, &pid), 0);
	return run_status(pid);
}

static void test_status(void **state)
{
	(void)state;
	assert_int_equal(run("true"), 0);
	assert_int_equal(run("exit 7"), 7);
	assert_int_equal(run("kill -TERM $$"), 128 + SIGTERM);
	/* what a shell says of a command that does not exist */
	assert_int_equal(run("/nonexistent/command 2>/dev/null"), 127);
	assert_int_equal(run_status(getpid()), -ECHILD);
}

static void test_environment(void **state)
{
	char exe[PATH_MAX];
	ssize_t n = readlink("/proc/self/exe", exe, sizeof(exe) - 1);

	(void)state;
	assert_true(n > 0);
	exe[n] = '\0';
	*strrchr(exe, '/') = '\0';
	*strrchr(exe, '/') = '\0';

	/* ours win over what is there, the rest is passed on */
	setenv("socket", "old", 1);
	setenv("FIO_DATAPLANE", "old", 1);
	setenv("socket2", "kept", 1);
	setenv("want", exe, 1);
	assert_int_equal(run("test \"$socket\" = '/a b/socket'"), 0);
	assert_int_equal(run("test \"$uri\" = uri:x"), 0);
	assert_int_equal(run("test \"$FIO_DATAPLANE\" = \"$want\""), 0);
	assert_int_equal(run("test \"$socket2\" = kept"), 0);
	assert_int_equal(run("test $(env | grep -c ^socket=) = 1"), 0);
	assert_string_equal(getenv("socket"), "old");
}

static void handler(int sig)
{
	(void)sig;
}

static void test_signals(void **state)
{
	sigset_t set, after;

	(void)state;
	sigfillset(&set);
	sigdelset(&set, SIGUSR2);
	pthread_sigmask(SIG_SETMASK, &set, NULL);
	signal(SIGPIPE, SIG_IGN);
	signal(SIGTERM, handler);
	signal(SIGHUP, SIG_IGN);

	assert_int_equal(run("kill -TERM $$; exit 1"), 128 + SIGTERM);
	assert_int_equal(run("kill -PIPE $$; exit 1"), 128 + SIGPIPE);
	/* ignored by whoever started us, as nohup does */
	assert_int_equal(run("kill -HUP $$; exit 1"), 1);
	assert_int_equal(run("grep -q '^SigBlk:.0*$' /proc/self/status"), 0);

	/* the caller's own mask is as it was */
	pthread_sigmask(SIG_SETMASK, NULL, &after);
	assert_int_equal(sigismember(&after, SIGTERM), 1);
	assert_int_equal(sigismember(&after, SIGUSR2), 0);

	sigemptyset(&set);
	pthread_sigmask(SIG_SETMASK, &set, NULL);
	signal(SIGHUP, SIG_DFL);
	signal(SIGTERM, SIG_DFL);
}

static void test_pidfd(void **state)
{
	struct pollfd p = { .events = POLLIN };
	int gate[2];
	char cmd[64];
	pid_t pid;

	(void)state;
	/* The command ends when the write end is closed, not before */
	assert_int_equal(pipe(gate), 0);
	snprintf(cmd, sizeof(cmd), "exec %d>&-; read x <&%d; exit 3", gate[1],
		 gate[0]);
	assert_int_equal(run_command(cmd, &(struct run_place) { "s", "u", NULL }, &pid), 0);
	p.fd = run_pidfd(pid);
	if (p.fd == -ENOSYS || p.fd == -EPERM) {
		close(gate[1]);
		close(gate[0]);
		run_status(pid);
		skip();
	}
	assert_true(p.fd >= 0);
	assert_int_equal(poll(&p, 1, 50), 0);

	close(gate[1]);
	assert_int_equal(poll(&p, 1, TIMEOUT_MS), 1);
	assert_int_equal(run_status(pid), 3);
	close(gate[0]);
	close(p.fd);
}

/* A command whose target is killed gets SIGTERM, seen as its pipe being closed */
static void test_dies_with_parent(void **state)
{
	struct pollfd p = { .events = POLLIN };
	int gate[2], status;
	pid_t target, pid;
	char c;

	(void)state;
	assert_int_equal(pipe(gate), 0);
	target = fork();
	assert_true(target >= 0);
	if (target == 0) {
		char cmd[64];

		snprintf(cmd, sizeof(cmd), "echo >&%d; exec sleep 60", gate[1]);
		if (run_command(cmd, &(struct run_place) { "s", "u", NULL }, &pid))
			_exit(1);
		for (;;)
			pause();
	}

	close(gate[1]);
	p.fd = gate[0];
	assert_int_equal(poll(&p, 1, TIMEOUT_MS), 1);
	assert_int_equal(read(gate[0], &c, 1), 1);

	kill(target, SIGKILL);
	waitpid(target, &status, 0);
	assert_int_equal(poll(&p, 1, TIMEOUT_MS), 1);
	assert_int_equal(read(gate[0], &c, 1), 0);
	close(gate[0]);
}

static mode_t mode_of_directory(const char *path)
{
	char dir[PATH_MAX];
	struct stat st;

	snprintf(dir, sizeof(dir), "%s", path);
	*strrchr(dir, '/') = '\0';
	return stat(dir, &st) ? 0 : st.st_mode;
}

static void test_private_socket(void **state)
{
	char path[108], tmp[] = "/tmp/run-test-XXXXXX";
	FILE *f;

	(void)state;
	assert_non_null(mkdtemp(tmp));
	setenv("TMPDIR", tmp, 1);
	assert_int_equal(run_private_socket(path, sizeof(path)), 0);
	assert_int_equal(strncmp(path, tmp, strlen(tmp)), 0);
	assert_int_equal(mode_of_directory(path), S_IFDIR | 0700);
	assert_int_equal(access(path, F_OK), -1);

	f = fopen(path, "w");
	assert_non_null(f);
	fclose(f);
	run_remove_private_socket(path);
	assert_int_equal(mode_of_directory(path), 0);

	/* and where the socket is gone already */
	assert_int_equal(run_private_socket(path, sizeof(path)), 0);
	run_remove_private_socket(path);
	assert_int_equal(mode_of_directory(path), 0);
	assert_int_equal(rmdir(tmp), 0);
}

static void test_private_socket_elsewhere(void **state)
{
	char path[108], small[16], tmp[200];

	(void)state;
	/* Too long for sun_path, so never even looked at */
	memset(tmp, 'x', sizeof(tmp));
	tmp[0] = '/';
	tmp[sizeof(tmp) - 1] = '\0';
	setenv("TMPDIR", tmp, 1);
	assert_int_equal(run_private_socket(path, sizeof(path)), 0);
	assert_int_equal(strncmp(path, "/tmp/", 5), 0);
	run_remove_private_socket(path);

	setenv("TMPDIR", "/nonexistent", 1);
	assert_int_equal(run_private_socket(path, sizeof(path)), -ENOENT);

	unsetenv("TMPDIR");
	assert_int_equal(run_private_socket(small, sizeof(small)), -ENAMETOOLONG);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_status),
		cmocka_unit_test(test_environment),
		cmocka_unit_test(test_signals),
		cmocka_unit_test(test_pidfd),
		cmocka_unit_test(test_dies_with_parent),
		cmocka_unit_test(test_private_socket),
		cmocka_unit_test(test_private_socket_elsewhere),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
