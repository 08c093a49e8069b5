#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# Trims, flushes, FUA and writes of zeroes arrive as what they are.
. "$(dirname "$0")/servers.sh"

# logged COUNT COMMAND [FLAGS]: how often nbdkit's log has it
logged()
{
	local seen
	seen=$(grep -cE " $2 .*${3-}" nbdkit.log || true)
	[ "$seen" = "$1" ] || { head -n 40 nbdkit.log; fail "$seen times $2 ${3-}, not $1"; }
}

zeroes='--rw=read --bs=64k --size=4m --verify=pattern --verify_pattern=0x00'
for datapath in direct libnbd; do
	rm -f nbdkit.log
	serve_nbdkit --filter=log memory size=4M logfile=nbdkit.log
	run() { fio_passes --datapath=$datapath --name=job --bs=64k --size=4m --iodepth=8 "$@"; }
	run --rw=write
	logged 64 Write 'fua=0'
	run --rw=write --fua=1
	logged 64 Write 'fua=1'
	run --rw=write --sync=1
	logged 128 Write 'fua=1'
	run --rw=randwrite --iodepth=1 --fsync=16 --end_fsync=1
	logged 4 Flush
	run --rw=randwrite --iodepth=1 --fdatasync=8
	logged 11 Flush
	run --rw=randtrim
	logged 64 Trim 'fua=0'
	# shellcheck disable=SC2086 # words
	run $zeroes
	run --rw=write
	run --rw=randtrim --trim_as=write_zeroes --fua=1
	logged 64 Zero 'fua=1'
	logged 64 Trim
	# shellcheck disable=SC2086
	run $zeroes
	stop_server
done
