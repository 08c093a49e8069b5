#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# Jobs that wait for one another (wait_for=) need no queue each: as many as can run at a time.
. "$(dirname "$0")/../fio.sh"

# job NAME WAITS-FOR [LINE...]
job()
{
	printf '[%s]\n' "$1"
	[ -z "$2" ] || echo "wait_for=$2"
	shift 2
	[ $# = 0 ] || printf '%s\n' "$@"
}
# runs WANTED: the jobs on stdin, which need so many queues
runs()
{
	local wanted=$1
	{ printf '%s\n' '[global]' rw=randread bs=4k size=1m; cat; } >job.fio
	start_target --backend ram --size 16M --num-queues "$wanted"
	fio_passes job.fio
	holds fio.json "all(job['read']['total_ios'] == 256 for job in jobs)"
	stop_target
	[ "$wanted" = 1 ] || needs "$wanted"
}
# needs WANTED: of one queue fewer they have one too few
needs()
{
	start_target --backend ram --size 16M --num-queues $(($1 - 1))
	fio_fails "$1 queues are needed" job.fio
	stop_target
}
runs 1 < <(job j1 ''; for ((i = 2; i < 10; i++)); do job j$i j$((i - 1)); done)
# two at a time that wait for one, and one that waits for two
runs 2 < <(job a ''; job b a numjobs=2; job c b)
# a tree: c and d behind a while b is still there
runs 3 < <(job a ''; job b ''; job c a; job d a; job e c; job f d)
runs 3 < <(job a '' numjobs=3; job b a; job c '' stonewall; job d c numjobs=2; job e b)
# a chain that runs over all of a wave and another job beside it
runs 2 < <(job a ''; job b a; job c b; job other ''; job later '' stonewall numjobs=2)
# What waits for a job of an earlier wave does not wait in its own.
runs 3 < <(job a ''; job b '' stonewall; job c a; job d a)
