/* SPDX-License-Identifier: GPL-2.0-only */
/* --run: start a command against this target */

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "targets/run.h"

#define SOCKET_NAME	"socket"
#define DIR_PREFIX	"fio-dataplane-run-"

/* Of the directory of this process, locked for as long as the process lives; -1 without one */
static int private_dir = -1;

/* Remove the directory of a target that was killed: nobody has it locked. */
static void sweep_one(int parent, const char *name)
{
	int dir = openat(parent, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	struct stat st;

	if (dir < 0)
		return;
	if (!fstat(dir, &st) && st.st_uid == geteuid() && !flock(dir, LOCK_EX | LOCK_NB)) {
		if (!fstatat(dir, SOCKET_NAME, &st, AT_SYMLINK_NOFOLLOW) && S_ISSOCK(st.st_mode))
			unlinkat(dir, SOCKET_NAME, 0);
		unlinkat(parent, name, AT_REMOVEDIR);
	}
	close(dir);
}

/*
 * A target that is killed cannot remove its directory, and a process that waits to do it would be
 * one more that is left. So the next target that makes one here removes what it finds.
 */
static void sweep(const char *parent)
{
	DIR *d = opendir(parent);
	struct dirent *entry;

	if (!d)
		return;
	while ((entry = readdir(d)))
		if (!strncmp(entry->d_name, DIR_PREFIX, strlen(DIR_PREFIX)))
			sweep_one(dirfd(d), entry->d_name);
	closedir(d);
}

/* Where locks are not to be had nobody sweeps, so that is no error. */
static int lock_directory(const char *path)
{
	struct stat st;

	private_dir = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (private_dir < 0)
		return -errno;
	flock(private_dir, LOCK_EX);
	/* Another target may have been faster: then it has taken this for one that is left. */
	if (!fstat(private_dir, &st) && st.st_nlink && !access(path, F_OK))
		return 0;
	close(private_dir);
	private_dir = -1;
	return -ENOENT;
}

static int make_directory(const char *parent, char *path, size_t len)
{
	size_t limit = sizeof(((struct sockaddr_un *)0)->sun_path);
	int n, ret;

	if (limit > len)
		limit = len;
	do {
		n = snprintf(path, len, "%s/" DIR_PREFIX "XXXXXX", parent);
		if (n < 0 || (size_t)n + sizeof("/" SOCKET_NAME) > limit)
			return -ENAMETOOLONG;
		if (!mkdtemp(path))
			return -errno;
		ret = lock_directory(path);
	} while (ret == -ENOENT);
	if (ret)
		rmdir(path);
	else
		sweep(parent);
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
	if (!ret)
		strcat(path, "/" SOCKET_NAME);
	return ret;
}

void run_remove_private_socket(const char *path)
{
	char dir[PATH_MAX];
	int len = (int)(strlen(path) - strlen("/" SOCKET_NAME));

	unlink(path);
	snprintf(dir, sizeof(dir), "%.*s", len, path);
	rmdir(dir);
	if (private_dir >= 0)
		close(private_dir);
	private_dir = -1;
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

enum { VAR_SOCKET, VAR_URI, VAR_DEVICE, VAR_DATAPLANE, NUM_VARS };

static const char *const var_names[NUM_VARS] = {
	"socket", "uri", "device", "FIO_DATAPLANE",
};

static bool is_our_variable(const char *const values[NUM_VARS], const char *entry)
{
	for (int i = 0; i < NUM_VARS; i++) {
		size_t len = strlen(var_names[i]);

		if (values[i] && !strncmp(entry, var_names[i], len) && entry[len] == '=')
			return true;
	}
	return false;
}

static void free_environment(char **env, const char *const values[NUM_VARS])
{
	size_t n = 0;

	/* Ours come first; the others belong to the process */
	for (int i = 0; env && i < NUM_VARS; i++)
		if (values[i])
			free(env[n++]);
	free(env);
}

/*
 * The child's environment, made before fork(): afterwards setenv() could meet
 * a lock that another thread held.
 */
static char **make_environment(const char *const values[NUM_VARS])
{
	size_t n = 0, at = 0;
	char **env;

	while (environ && environ[n])
		n++;
	env = calloc(n + NUM_VARS + 1, sizeof(*env));
	if (!env)
		return NULL;

	for (int i = 0; i < NUM_VARS; i++) {
		if (!values[i])
			continue;
		if (asprintf(&env[at], "%s=%s", var_names[i], values[i]) < 0) {
			env[at] = NULL;
			free_environment(env, values);
			return NULL;
		}
		at++;
	}
	for (size_t i = 0; i < n; i++) {
		if (!is_our_variable(values, environ[i]))
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

int run_command(const char *cmd, const struct run_place *place, pid_t *pid)
{
	char dir[PATH_MAX];
	const char *const values[NUM_VARS] = { place->socket, place->uri, place->device, dir };
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

	free_environment(env, values);
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

/*
 * What the command has started. A shell that is killed leaves it behind, and setsid(1) leads out of
 * every process group. But the process that has declared itself a subreaper becomes the parent of
 * all orphans below it (prctl(2)), so whatever is below it by /proc is the command's.
 */

struct process {
	struct family_member id;
	pid_t parent;
	bool dead;
	bool below;
};

struct processes {
	struct process *p;
	unsigned int nr;
	unsigned int room;
};

/* Fields 3, 4 and 22 of proc(5)'s stat; the second may contain blanks and brackets. */
static bool read_process(const char *number, struct process *p)
{
	char path[64], line[1024], state, *rest;
	FILE *f;
	bool ok;

	snprintf(path, sizeof(path), "/proc/%.20s/stat", number);
	f = fopen(path, "re");
	if (!f)
		return false;
	*p = (struct process) { .id.pid = atoi(number) };
	ok = fgets(line, sizeof(line), f) && (rest = strrchr(line, ')')) &&
	     sscanf(rest + 1, " %c %d %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %" SCNu64,
		    &state, &p->parent, &p->id.start) == 3;
	fclose(f);
	p->dead = ok && (state == 'Z' || state == 'X');
	return ok;
}

static int append(struct processes *all, const struct process *p)
{
	if (all->nr == all->room) {
		unsigned int room = all->room ? 2 * all->room : 256;
		struct process *more = realloc(all->p, room * sizeof(*more));

		if (!more)
			return -ENOMEM;
		all->p = more;
		all->room = room;
	}
	all->p[all->nr++] = *p;
	return 0;
}

static int read_processes(struct processes *all)
{
	DIR *proc = opendir("/proc");
	struct dirent *entry;
	int ret = 0;

	*all = (struct processes) { .p = NULL };
	if (!proc)
		return -errno;
	while (!ret && (entry = readdir(proc))) {
		struct process p;

		if (isdigit((unsigned char)entry->d_name[0]) && read_process(entry->d_name, &p))
			ret = append(all, &p);
	}
	closedir(proc);
	if (ret)
		free(all->p);
	return ret;
}

static bool contains(const struct family_member *list, unsigned int nr, const struct process *p)
{
	for (unsigned int i = 0; i < nr; i++)
		if (list[i].pid == p->id.pid && list[i].start == p->id.start)
			return true;
	return false;
}

static int remember(struct family_member **list, unsigned int *nr, const struct process *p)
{
	struct family_member *more = realloc(*list, (*nr + 1) * sizeof(*more));

	if (!more)
		return -ENOMEM;
	more[(*nr)++] = p->id;
	*list = more;
	return 0;
}

/**
 * family_init - take what this process starts from now on, and what that starts, for a family
 * @f: filled in
 *
 * Return: 0 or a negative errno.
 */
int family_init(struct family *f)
{
	struct processes all;
	int ret;

	*f = (struct family) { .nr_before = 0 };
	if (prctl(PR_SET_CHILD_SUBREAPER, 1))
		return -errno;
	ret = read_processes(&all);
	if (ret)
		return ret;
	for (unsigned int i = 0; i < all.nr && !ret; i++)
		if (all.p[i].parent == getpid())
			ret = remember(&f->before, &f->nr_before, &all.p[i]);
	free(all.p);
	return ret;
}

/* Children first, then theirs, until there are no more; /proc has them in any order. */
static void mark(const struct family *f, struct processes *all)
{
	bool more = true;

	for (unsigned int i = 0; i < all->nr; i++)
		all->p[i].below = all->p[i].parent == getpid() &&
				  !contains(f->before, f->nr_before, &all->p[i]);
	while (more) {
		more = false;
		for (unsigned int i = 0; i < all->nr; i++) {
			for (unsigned int j = 0; j < all->nr && !all->p[i].below; j++)
				if (all->p[j].below && all->p[j].id.pid == all->p[i].parent)
					more = all->p[i].below = true;
		}
	}
}

/* Returns whether it is to be waited for. */
static bool tell(struct family *f, const struct process *p, int sig)
{
	if (sig != SIGKILL && contains(f->told, f->nr_told, p))
		return true;
	/* Not ours to signal any more, such as one that sudo has taken over: leave it alone. */
	if (kill(p->id.pid, sig))
		return false;
	/* One that is not remembered gets its signal once more. */
	remember(&f->told, &f->nr_told, p);
	return true;
}

/**
 * family_signal - send a signal to all of a family that have not been sent one
 * @f: the family
 * @sig: the signal; SIGKILL is sent to all
 *
 * To be called again until none is left, as there may be new ones. The dead are not reaped:
 * the process is about to end itself.
 *
 * Return: how many are alive.
 */
unsigned int family_signal(struct family *f, int sig)
{
	struct processes all;
	unsigned int alive = 0;

	if (read_processes(&all))
		return 0;
	mark(f, &all);
	for (unsigned int i = 0; i < all.nr; i++)
		if (all.p[i].below && !all.p[i].dead)
			alive += tell(f, &all.p[i], sig);
	free(all.p);
	return alive;
}

/**
 * family_free - forget a family
 * @f: the family
 */
void family_free(struct family *f)
{
	free(f->before);
	free(f->told);
}
