#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# ublk-target says in a line what it lacks or does not take, and runs nothing then.
. "$(dirname "$0")/../lib.sh"
requires_built targets/ublk-target

# refused TEXT ARG...: exit status 1, and one line that has TEXT
refused()
{
	local text=$1 status=0
	shift
	"$FIO_DATAPLANE/targets/ublk-target" "$@" >out 2>err || status=$?
	[ $status = 1 ] || fail "$*: status $status"
	[ "$(wc -l <err)" = 1 ] || fail "$*: $(cat err)"
	grep -q -e "^ublk-target: .*$text" err || fail "$*: $(cat err)"
	[ ! -s out ] || fail "$*: prints $(cat out)"
}

refused "--device: 'a' is not one of at most 256 numbers from 0 to 1048575" --device a
refused "--device: '1048576' is not" --device 1048576
refused "--device: 3 is given twice" --device 3 --device 3
refused "--remove: needs --device N" --remove
refused "--remove: .*excludes --run" --remove --device 0 --run true
refused "--block-size: the kernel accepts at most a page" --block-size 64K
refused "--zero-copy: needs --backend file:PATH and --aio io_uring" --zero-copy --backend ram
refused "--zero-copy: .*excludes --iopoll" --zero-copy --backend file:/dev/null --aio io_uring --direct --iopoll
refused "--queue-size: '4097' is out of range" --queue-size 4097
refused "--iothread-map: iothread 1 does not exist" --iothread-map 0,1
refused "--socket: no such option" --socket x

[ ! -e /dev/ublk-control ] || skip "this kernel has the driver, so that its absence cannot be tried"
refused "no /dev/ublk-control: the kernel's ublk driver is missing (modprobe ublk_drv; Linux 6.4 or newer)" --run 'touch ran'
refused "no /dev/ublk-control" --device 0 --remove
[ ! -e ran ] || fail "the command ran"
