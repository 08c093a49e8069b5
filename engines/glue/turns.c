/* SPDX-License-Identifier: GPL-2.0-only */
#include "engines/glue/glue.h"

/*
 * Which jobs of a run can be there at the same time. A job with stonewall= waits for all before
 * it, so that jobs come in waves. Inside a wave wait_for= makes a forest: a job and its clones are
 * a node, and those that wait for them its children.
 */

/**
 * struct turn - a job and its clones
 * @own: how many of them count
 * @later: the most that count at the same time among those that wait for them
 */
struct turn {
	unsigned int own;
	unsigned int later;
};

/* Whether a job is a clone (numjobs=) of the one before it, which waits for the same. */
static bool is_clone(const struct thread_data *td)
{
	return td->subjob_number;
}

/* The job of this wave that a job waits for; the job's own index when there is none. */
static unsigned int waits_for(unsigned int i, unsigned int wave)
{
	const char *name = tnumber_to_td(i)->o.wait_for;

	for (unsigned int k = wave; name && k < i; k++) {
		struct thread_data *td = tnumber_to_td(k);

		if (!is_clone(td) && !strcmp(td->o.name, name))
			return k;
	}
	return i;
}

/* The most of the jobs from @wave to @end; what is waited for always comes first in the file. */
static unsigned int most_of_wave(struct turn *turn, unsigned int wave, unsigned int end)
{
	unsigned int sum = 0;

	for (unsigned int i = end; i-- > wave; ) {
		unsigned int most = max(turn[i].own, turn[i].later);
		unsigned int waitee;

		if (i > wave && is_clone(tnumber_to_td(i))) {
			turn[i - 1].own += turn[i].own;
			continue;
		}
		waitee = waits_for(i, wave);
		if (waitee == i)
			sum += most;
		else
			turn[waitee].later += most;
	}
	return sum;
}

/**
 * glue_count_jobs - how many jobs of a kind can run at the same time
 * @counts: whether a job is of the kind
 * @arg: second argument of @counts
 *
 * Jobs that only start later (startdelay=) are counted as if they overlapped, as nobody knows how
 * long the others take.
 *
 * Return: the number, the highest of all waves; without memory to find out, all jobs.
 */
unsigned int glue_count_jobs(bool (*counts)(const struct thread_data *td, const void *arg),
			     const void *arg)
{
	struct turn *turn = calloc(thread_number, sizeof(*turn));
	unsigned int i, wave = 0, most = 0;
	struct thread_data *td;

	if (!turn)
		return thread_number;
	for_each_job(td, i) {
		if (td->o.stonewall) {
			most = max(most, most_of_wave(turn, wave, i));
			wave = i;
		}
		turn[i].own = counts(td, arg);
	}
	most = max(most, most_of_wave(turn, wave, i));
	free(turn);
	return most;
}
