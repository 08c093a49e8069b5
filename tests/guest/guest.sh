# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=bash
#
# What the tests with a Linux guest share, on top of fio.sh. Such a test begins with
#
#	. "$(dirname "$0")/guest.sh"
#
# and prints a line for each behaviour. The guest is emulated: it tells whether
# Linux's virtio_blk and the target understand each other, and nothing of speed.
# GUEST_QEMU=PROGRAM tries that QEMU.

. "$(dirname "${BASH_SOURCE[0]}")/../fio.sh"

[ -n "${CHECK_GUEST-}${CHECK_FULL-}" ] || skip "boots guests, which is slow: make check-guest"
requires "${GUEST_QEMU:=qemu-system-x86_64}" --version
_status=0
"$SRC/scripts/guest" --prepare >prepare.log 2>&1 || _status=$?
case $_status in
0) ;;
77) skip "$(tail -n 1 prepare.log)" ;;
*) cat prepare.log >&2; fail "scripts/guest --prepare: status $_status" ;;
esac

# What commands in the guest can use.
# shellcheck disable=SC2016 # expanded in the guest
_guest_words='
set -e
# check WHAT COMMAND ARG...: the command must succeed, and then WHAT is said
check()
{
	local what=$1 rc=0
	shift
	"$@" >/tmp/said 2>&1 </dev/null || rc=$?
	[ $rc != 0 ] || { echo "ok $what"; return; }
	echo "NOT ok $what: status $rc of $*"
	cat /tmp/said
	return 1
}
# is WANT COMMAND ARG...: the command must print WANT
is()
{
	local want=$1 got
	shift
	got=$("$@")
	[ "$got" = "$want" ] || { echo "$* is $got, should be $want"; return 1; }
}
# fails TEXT COMMAND ARG...: it must fail, saying so
fails()
{
	local text=$1
	shift
	! "$@" >/tmp/heard 2>&1 || { cat /tmp/heard; return 1; }
	grep -q -e "$text" /tmp/heard || { cat /tmp/heard; return 1; }
}
# waits_for COMMAND ARG...: it succeeds within $patience tenths of a second, by default 20 s
waits_for()
{
	local n=0
	until "$@"; do
		n=$((n + 1))
		[ $n -lt ${patience:-200} ] || return 1
		sleep 0.1
	done
}
# io DISK ARG...: fio on a whole disk, by default 4 KiB requests, 16 in flight
io()
{
	local disk=$1
	shift
	fio --name=io --filename="$disk" --allow_file_create=0 --direct=1 --ioengine=libaio --iodepth=16 --bs=4k "$@"
}
# The shell would take its own one, which writes no zeroes.
blkdiscard()
{
	/usr/bin/blkdiscard -f "$@"
}
# zeroes DISK OFFSET LENGTH: that part of the disk, in MiB, is all zeroes
zeroes()
{
	is 0 sh -c "dd if=$1 bs=1M skip=$2 count=$3 2>/dev/null | tr -d \"\\\\0\" | wc -c"
}
'

# run_guest COMMANDS ARG...: boot with $socket, if there is one, as /dev/vda, run COMMANDS;
# returns their status, and leaves what was said in console.txt
run_guest()
{
	local commands=$1 status=0
	shift
	"$SRC/scripts/guest" --qemu "$GUEST_QEMU" ${socket:+--socket "$socket"} "$@" -- "$_guest_words$commands" \
		>console.txt 2>&1 </dev/null || status=$?
	cat console.txt
	return $status
}

# guest COMMANDS ARG...: run_guest, which must succeed, and the target, if there is one, live on
guest()
{
	local status=0
	run_guest "$@" || status=$?
	[ $status = 0 ] || { cat target.err; fail "the guest: status $status"; }
	[ -z "${target_pid-}" ] || kill -0 "$target_pid" || { cat target.err; fail "the target is gone"; }
}

# guest_fails TEXT COMMANDS ARG...: run_guest, which must fail, TEXT being said
guest_fails()
{
	local text=$1 status=0
	shift
	run_guest "$@" || status=$?
	[ $status != 0 ] || fail "should have failed in the guest"
	grep -q -- "$text" console.txt || fail "nothing in the guest says '$text'"
}

# start_guest INPUT COMMANDS ARG...: run_guest in the background, INPUT being its
# console's; its process is $guest_pid, and what it says goes to console.txt
start_guest()
{
	local input=$1 commands=$2
	shift 2
	"$SRC/scripts/guest" --qemu "$GUEST_QEMU" --socket "$socket" "$@" -- "$_guest_words$commands" \
		>console.txt 2>&1 <"$input" &
	guest_pid=$!
	cleanup_fn stop "$guest_pid"
}

# guest_says TEXT: wait for it from start_guest's guest
guest_says()
{
	wait_for 90 grep -qs -- "$1" console.txt || { cat console.txt; fail "the guest does not say '$1'"; }
}

# guest_ends STATUS: wait for start_guest's guest, which must end with it
guest_ends()
{
	local status=0
	wait "$guest_pid" || status=$?
	cat console.txt
	[ $status = "$1" ] || fail "the guest: status $status, should be $1"
}

# counted WHAT EXPR...: the stats in stats.json hold, and then WHAT is said
counted()
{
	local what=$1
	shift
	holds stats.json "$@"
	echo "ok $what"
}
