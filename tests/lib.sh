# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=bash
#
# What the shell tests share. A test begins with
#
#	. "$(dirname "$0")/lib.sh"	(or ../lib.sh)
#
# and then is in an empty directory of its own, removed at the end. $SRC is the
# source tree, $FIO_DATAPLANE the build directory. A test fails when a command
# of its fails; exit 77 says that it could not be tried here.

set -euo pipefail

SRC=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
: "${B:=build}"
# make takes a B from the environment: a test that calls it says which it wants.
export -n B
case $B in
/*) export FIO_DATAPLANE=$B ;;
*) export FIO_DATAPLANE=$SRC/$B ;;
esac

_work=$(mktemp -d "${TMPDIR:-/tmp}/fio-dataplane.XXXXXX")
_cleanups=()

_at_exit()
{
	local status=$? i
	set +e
	for ((i = ${#_cleanups[@]} - 1; i >= 0; i--)); do
		eval "${_cleanups[i]}"
	done
	cd /
	rm -rf "$_work"
	exit $status
}
trap _at_exit EXIT
trap 'exit 143' TERM
trap 'exit 130' INT
cd "$_work"

# cleanup_fn COMMAND ARG...: run it when the test ends, the last one first
cleanup_fn()
{
	_cleanups+=("$(printf '%q ' "$@")")
}

# skip REASON...: this cannot be tried here
skip()
{
	echo "SKIP: $*"
	exit 77
}

# fail WORD...: say what is wrong, and end
fail()
{
	echo "FAIL: $*" >&2
	exit 1
}

# requires COMMAND ARG...: skip unless it succeeds ("requires fio --version")
requires()
{
	"$@" >/dev/null 2>&1 </dev/null || skip "needs: $*"
}

# requires_built FILE...: skip unless it is in the build directory
requires_built()
{
	local file
	for file; do
		[ -e "$FIO_DATAPLANE/$file" ] || skip "$file is not built"
	done
}

# stop PID [SECONDS]: SIGTERM, wait, and return its exit status; a process that
# is still there after SECONDS is killed, with status 137
stop()
{
	local pid=$1 status=0 tries=$((${2:-10} * 20))
	kill -TERM "$pid" 2>/dev/null || true
	while kill -0 "$pid" 2>/dev/null && ((tries-- > 0)); do
		# A zombie is still there for kill, but has ended.
		grep -qs '^State:.Z' "/proc/$pid/status" && break
		sleep 0.05
	done
	((tries > 0)) || kill -KILL "$pid" 2>/dev/null || true
	wait "$pid" 2>/dev/null || status=$?
	return $status
}

# wait_for SECONDS COMMAND ARG...: until it succeeds
wait_for()
{
	local tries=$(($1 * 20))
	shift
	until "$@"; do
		((tries-- > 0)) || return 1
		sleep 0.05
	done
}

# start_target ARG...: start vhost-user-blk-target, or $TARGET, in the background, its
# socket at $socket and its process $target_pid; a test may stop it before its own end.
# Its stderr goes to target.err.
start_target()
{
	local target=targets/${TARGET:-vhost-user-blk-target}
	requires_built "$target"
	socket=$_work/target.sock
	export socket
	"$FIO_DATAPLANE/$target" --socket "$socket" "$@" \
		</dev/null 2>target.err &
	target_pid=$!
	cleanup_fn stop_target
	if ! wait_for 10 _target_listens || ! kill -0 "$target_pid"; then
		cat target.err >&2
		fail "the target did not start: $*"
	fi
}

# A file may be left of an earlier one: what counts is that somebody accepts.
_target_listens()
{
	[ -S "$socket" ] && grep -q " 00010000 .* $socket\$" /proc/net/unix
}

# stop_target: end it and return its exit status; nothing if it was ended
stop_target()
{
	local pid=${target_pid-}
	target_pid=
	[ -z "$pid" ] || stop "$pid"
}
