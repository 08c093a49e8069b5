/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A shell that is killed leaves what it has started behind, and setsid(1) leads out of every
 * process group. But the process that has declared itself a subreaper becomes the parent of
 * all orphans below it (prctl(2)), so that whoever is below it by /proc is the command's.
 */

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "targets/run-family.h"

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
static bool send(struct family *f, const struct process *p, int sig)
{
	if (sig != SIGKILL && contains(f->told, f->nr_told, p))
		return true;
	/* Somebody else's by now, such as sudo's: it is theirs to end. */
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
			alive += send(f, &all.p[i], sig);
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
