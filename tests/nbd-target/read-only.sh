#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# --read-only is told to clients, and nothing they try changes the data.
. "$(dirname "$0")/target.sh"

requires nbdcopy --version
requires /usr/bin/python3 -c 'import nbd'
image data 4
cp data before
start --backend file:data --read-only
[ "$(nbdinfo --json "$uri" | /usr/bin/python3 -c 'import json, sys
e = json.load(sys.stdin)["exports"][0]
print(e["is_read_only"], e["can_trim"], e["can_zero"], e["can_flush"], e["can_multi_conn"])')" = \
	'True False False True True' ] || fail "nbdinfo"
nbdcopy "$uri" - | cmp - before
stock_passes --name=job --rw=randread --bs=4k --size=4m --iodepth=8
! stock --name=job --rw=randwrite --bs=4k --size=1m || fail "fio could write"
! nbdcopy before "$uri" 2>/dev/null || fail "nbdcopy could write"
# One that does not care what it was told
! /usr/bin/python3 -m nbd -u "$uri" -c 'h.set_strict_mode(0)' -c 'h.pwrite(bytes(4096), 0)' 2>err || fail "a write passed"
grep -q 'Operation not permitted' err || { cat err; fail "EPERM was to be expected"; }
stop_target
cmp data before

# A file that may not be written can be served in this way only.
chmod 444 data
if [ ! -w data ]; then
	! "$target" --socket s --backend file:data 2>err || fail "served for writing"
	start --backend file:data --read-only
	nbdcopy "$uri" - | cmp - before
fi
