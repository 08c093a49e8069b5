# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=bash
#
# What the tests that run fio share, on top of lib.sh. Such a test begins with
#
#	. "$(dirname "$0")/../fio.sh"
#
# ENGINE=virtio-poll tries that engine, over vhost-user, in vhost-user-blk's place.

. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

requires fio --version
: "${ENGINE:=vhost-user-blk}"
requires_built "engines/$ENGINE.so"
engine=external:$FIO_DATAPLANE/engines/$ENGINE.so

# run_fio ARG...: fio with the engine on $socket. What comes before the first
# --name= counts for all jobs. The results are in fio.json, and what fio said in
# fio.err. Returns fio's status; 124 if it had not ended in FIO_TIMEOUT seconds.
run_fio()
{
	rm -f fio.json
	engine_words "$@"
	timeout -k 5 "${FIO_TIMEOUT:-60}" fio --output-format=json --output=fio.json "${words[@]}" \
		>fio.err 2>&1
}

# engine_words ARG...: into $words, with the engine before them
engine_words()
{
	words=(--ioengine="$engine")
	[ "$ENGINE" != virtio-poll ] || words+=(--transport=vhost-user)
	[[ $ENGINE != nbd || -z ${uri-} ]] || words+=(--uri="$uri")
	[ -z "${socket-}" ] || words+=(--socket="$socket")
	words+=("$@")
}

# each_engine COMMAND TARGET-ARG...: COMMAND with one engine after another of $ENGINES (all of them), $ENGINE,
# each with a target of its own; a virtio one has $QUEUES (1) queues
each_engine()
{
	local command=$1 socket uri queue_words
	shift
	for ENGINE in ${ENGINES:-vhost-user-blk virtio-poll nbd}; do
		queue_words=(--num-queues "${QUEUES:-1}")
		requires_built "engines/$ENGINE.so"
		engine=external:$FIO_DATAPLANE/engines/$ENGINE.so
		TARGET=vhost-user-blk-target
		[ "$ENGINE" != nbd ] || { TARGET=nbd-target; queue_words=(); }
		start_target "${queue_words[@]}" "$@"
		if [ "$ENGINE" = nbd ]; then
			uri="nbd+unix:///?socket=$socket"
			socket=
		fi
		"$command"
		stop_target || fail "$ENGINE: the target's status is $?"
	done
}

# fio_passes ARG...: run_fio, which must succeed
fio_passes()
{
	local status=0
	run_fio "$@" || status=$?
	[ $status = 0 ] && return
	said
	fail "fio $*: status $status"
}

# fio_passes_each MEBIBYTES ARG...: fio_passes with a job for each line of options on
# stdin; all run at the same time, each in a part of the device of that size
fio_passes_each()
{
	local size=$1 options i=0
	shift
	while read -r options; do
		# shellcheck disable=SC2086 # options are words
		set -- "$@" --name="job$i" --offset=$((i * size))m --size="${size}m" $options
		i=$((i + 1))
	done
	fio_passes "$@"
}

# fio_fails TEXT ARG...: run_fio, which must end by itself with an error and say TEXT
fio_fails()
{
	local text=$1 status=0
	shift
	run_fio "$@" || status=$?
	case $status in
	0) said; fail "fio $*: should have failed" ;;
	124) said; fail "fio $*: hung" ;;
	1?? | 2??) said; fail "fio $*: crashed, status $status" ;;
	esac
	grep -qF -- "$text" <<<"$(said)" && return
	said
	fail "fio $*: does not say '$text'"
}

# said: all that fio said, the results apart
said()
{
	cat fio.err
	[ ! -e fio.json ] || sed '/^{/,$d' fio.json
}

# did_nothing: fio's results, if there are any, tell of no I/O
did_nothing()
{
	! grep -qs '^{' fio.json || holds fio.json \
		"all(job[kind]['total_ios'] == 0 for job in jobs for kind in ('read', 'write', 'trim'))"
}

# What an EXPR below can use: d is the JSON, jobs fio's jobs, threads the target's
# iothreads; total() adds up a histogram, sums() a figure over all iothreads.
_query='
import json, sys
text = open(sys.argv[1]).read()
d = json.JSONDecoder().raw_decode(text[text.index("{"):])[0]
jobs, threads = d.get("jobs"), d.get("iothreads")
def total(hist):
	return sum(count for low, count in hist)
def sums(*path):
	result = 0
	for figure in threads:
		for key in path:
			figure = figure[key]
		result += figure
	return result
'

# holds FILE EXPR...: each is Python, and true of the JSON in FILE
holds()
{
	/usr/bin/python3 -c "$_query"'
for expr in sys.argv[2:]:
	if not eval(expr):
		print(text)
		sys.exit(f"FAIL: not true of {sys.argv[1]}: {expr}")
' "$@"
}

# value FILE EXPR: print what it is
value()
{
	/usr/bin/python3 -c "$_query"'
print(eval(sys.argv[2]))
' "$@"
}

# start_fio ARG...: run_fio in the background, without a time limit; its process is $fio_pid
start_fio()
{
	rm -f fio.json
	engine_words "$@"
	fio --output-format=json --output=fio.json "${words[@]}" >fio.err 2>&1 &
	fio_pid=$!
	cleanup_fn kill_fio $fio_pid
}

# Jobs that are processes do not end with a parent that was killed.
kill_fio()
{
	local children
	children=$(cat "/proc/$1/task/$1/children" 2>/dev/null)
	# shellcheck disable=SC2086 # one a word
	kill -KILL "$1" $children 2>/dev/null
}

# fio_ends SECONDS: wait for start_fio's fio; its exit status in $fio_status
# shellcheck disable=SC2034 # the caller's to look at
fio_ends()
{
	wait_for "$1" _gone "$fio_pid" || { said; fail "fio still runs after $1 s"; }
	fio_status=0
	wait "$fio_pid" || fio_status=$?
}

_gone()
{
	[ ! -e "/proc/$1" ] || grep -qs '^State:.Z' "/proc/$1/status"
}

# target_stats FILE: what the target counts now, without ending it
target_stats()
{
	local before
	before=$(_stats_printed)
	kill -USR1 "$target_pid"
	wait_for 10 _printed_more_than "$before" || fail "no statistics after SIGUSR1"
	awk '/^{/ { text = "" } { text = text $0 "\n" } END { printf "%s", text }' target.err >"$1"
}

_stats_printed()
{
	grep -c '^}' target.err || true
}

_printed_more_than()
{
	(($(_stats_printed) > $1))
}

# in_flight N: the target has been given N requests to read or write
in_flight()
{
	target_stats _stats
	[ "$(value _stats "sums('requests', 'read') + sums('requests', 'write')")" = "$1" ]
}

# target_cpu_us: CPU time of the target's threads
target_cpu_us()
{
	cat "/proc/$target_pid"/task/*/schedstat | awk '{ ns += $1 } END { printf "%d\n", ns / 1000 }'
}

# idles TENTHS-OF-PERCENT: for half a second the target takes no more of a CPU than that
idles()
{
	local before took
	before=$(target_cpu_us)
	sleep 0.5
	took=$(($(target_cpu_us) - before))
	echo "$took us of CPU in 0.5 s"
	((took <= $1 * 500))
}

# fio_runs: wait until the target gets requests from start_fio's fio
fio_runs()
{
	_requests_before=0
	_requests || true
	wait_for 10 _requests || { said; fail "no I/O after 10 s"; }
}

# Returns whether there have been some since the last call.
_requests()
{
	local now before=$_requests_before
	target_stats _stats
	now=$(value _stats "sum(sum(t['requests'].values()) for t in threads)")
	_requests_before=$now
	((now > before))
}
