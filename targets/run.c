/* SPDX-License-Identifier: GPL-2.0-only */
/* --run: start a command against this target */

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "targets/run.h"

#define SOCKET_NAME	"/socket"

static int make_directory(const char *parent, char *path, size_t len)
{
	size_t limit = sizeof(((struct sockaddr_un *)0)->sun_path);
	int n = snprintf(path, len, "%s/fio-dataplane-XXXXXX", parent);

	if (limit > len)
		limit = len;
	if (n < 0 || (size_t)n + sizeof(SOCKET_NAME) > limit)
		return -ENAMETOOLONG;
	return mkdtemp(path) ? 0 : -errno;
}

/*
 * A target that is killed cannot tidy up. So that its directory does not stay, a shell waits
 * for the other end of a pipe to be gone. In a session of its own, it outlives a terminal too.
 */
static int leave_a_sweeper(const char *dir)
{
	char *argv[] = {
		(char *)"sh", (char *)"-c",
		(char *)"while read -r line; do :; done; rm -f \"$0" SOCKET_NAME "\"; rmdir \"$0\"",
		(char *)dir, NULL
	};
	posix_spawn_file_actions_t files;
	posix_spawnattr_t attr;
	int ends[2], ret;
	pid_t pid;

	if (pipe2(ends, O_CLOEXEC))
		return -errno;
	posix_spawn_file_actions_init(&files);
	posix_spawn_file_actions_adddup2(&files, ends[0], STDIN_FILENO);
	posix_spawn_file_actions_addopen(&files, STDOUT_FILENO, "/dev/null", O_WRONLY, 0);
	posix_spawn_file_actions_adddup2(&files, STDOUT_FILENO, STDERR_FILENO);
	posix_spawnattr_init(&attr);
	posix_spawnattr_setflags(&attr, POSIX_SPAWN_SETSID);
	ret = -posix_spawn(&pid, "/bin/sh", &files, &attr, argv, environ);
	posix_spawnattr_destroy(&attr);
	posix_spawn_file_actions_destroy(&files);
	close(ends[0]);
	/* The other end is closed with the process, however that ends. */
	if (ret)
		close(ends[1]);
	return ret;
}

int run_private_socket(char *path, size_t len)
{
	const char *tmp = getenv("TMPDIR");
	int ret = -ENAMETOOLONG;

	if (tmp && *tmp)
		ret = make_directory(tmp, path, len);
	if (ret == -ENAMETOOLONG)
		ret = make_directory("/tmp", path, len);
	if (ret)
		return ret;
	ret = leave_a_sweeper(path);
	if (ret) {
		rmdir(path);
		return ret;
	}

	strcat(path, SOCKET_NAME);
	return 0;
}

void run_remove_private_socket(const char *path)
{
	char dir[PATH_MAX];
	int len = (int)(strlen(path) - strlen(SOCKET_NAME));

	unlink(path);
	snprintf(dir, sizeof(dir), "%.*s", len, path);
	rmdir(dir);
}

/* The build or install directory this program belongs to */
static int dataplane_directory(char *dir, size_t len)
{
	ssize_t n = readlink("/proc/self/exe", dir, len - 1);

	if (n < 0)
		return -errno;
	if ((size_t)n == len - 1)
		return -ENAMETOOLONG;
	dir[n] = '\0';

	for (int up = 0; up < 2; up++) {
		char *slash = strrchr(dir, '/');

		if (!slash)
			return -ENOENT;
		*slash = '\0';
	}
	return 0;
}

enum { VAR_SOCKET, VAR_URI, VAR_DATAPLANE, NUM_VARS };

static const char *const var_names[NUM_VARS] = {
	"socket", "uri", "FIO_DATAPLANE",
};

static int is_our_variable(const char *entry)
{
	for (int i = 0; i < NUM_VARS; i++) {
		size_t len = strlen(var_names[i]);

		if (!strncmp(entry, var_names[i], len) && entry[len] == '=')
			return 1;
	}
	return 0;
}

static void free_environment(char **env)
{
	/* Ours come first; the others belong to the process */
	for (int i = 0; env && i < NUM_VARS; i++)
		free(env[i]);
	free(env);
}

/*
 * The child's environment, made before fork(): afterwards setenv() could meet
 * a lock that another thread held.
 */
static char **make_environment(const char *const values[NUM_VARS])
{
	size_t n = 0, at = NUM_VARS;
	char **env;

	while (environ && environ[n])
		n++;
	env = calloc(n + NUM_VARS + 1, sizeof(*env));
	if (!env)
		return NULL;

	for (int i = 0; i < NUM_VARS; i++) {
		if (asprintf(&env[i], "%s=%s", var_names[i], values[i]) < 0) {
			env[i] = NULL;
			free_environment(env);
			return NULL;
		}
	}
	for (size_t i = 0; i < n; i++) {
		if (!is_our_variable(environ[i]))
			env[at++] = environ[i];
	}
	return env;
}

static void reset_signals(void)
{
	struct sigaction sa;
	sigset_t none;

	/*
	 * What whoever started us ignores stays ignored (nohup), but SIGPIPE
	 * is of our own doing.
	 */
	for (int sig = 1; sig < NSIG; sig++) {
		if (!sigaction(sig, NULL, &sa) &&
		    (sa.sa_handler != SIG_IGN || sig == SIGPIPE))
			signal(sig, SIG_DFL);
	}
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
}

static _Noreturn void run_child(const char *cmd, char **env, pid_t parent)
{
	char *argv[] = { (char *)"sh", (char *)"-c", (char *)cmd, NULL };

	prctl(PR_SET_PDEATHSIG, SIGTERM);
	/* The parent may have died before it was asked for */
	if (getppid() != parent)
		_exit(128 + SIGTERM);

	reset_signals();
	execve("/bin/sh", argv, env);
	_exit(127);
}

int run_command(const char *cmd, const char *socket_path, const char *uri,
		pid_t *pid)
{
	char dir[PATH_MAX];
	const char *const values[NUM_VARS] = { socket_path, uri, dir };
	pid_t parent = getpid(), child;
	sigset_t all, before;
	char **env;
	int ret;

	ret = dataplane_directory(dir, sizeof(dir));
	if (ret)
		return ret;
	env = make_environment(values);
	if (!env)
		return -ENOMEM;

	/* Or a handler of ours could run in the child */
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	child = fork();
	if (child == 0)
		run_child(cmd, env, parent);
	ret = child < 0 ? -errno : 0;
	pthread_sigmask(SIG_SETMASK, &before, NULL);

	free_environment(env);
	if (!ret)
		*pid = child;
	return ret;
}

int run_pidfd(pid_t pid)
{
	int fd = (int)syscall(SYS_pidfd_open, pid, 0);

	return fd < 0 ? -errno : fd;
}

int run_status(pid_t pid)
{
	int status;

	while (waitpid(pid, &status, 0) < 0) {
		if (errno != EINTR)
			return -errno;
	}
	return WIFSIGNALED(status) ? 128 + WTERMSIG(status)
				   : WEXITSTATUS(status);
}
