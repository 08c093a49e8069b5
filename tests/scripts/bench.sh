#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# alone: fio and what it runs against poll
# scripts/bench measures every kind of row, prints the bar where it can be computed, and compares two builds in pairs.
. "$(dirname "$0")/../fio.sh"

requires_built engines/noop.so engines/virtio-poll.so engines/nbd.so targets/nbd-target
[ "$(nproc)" -gt 1 ] || skip 'bars are made of the round trip between two CPUs'

"$SRC/scripts/bench" --rounds 1 --seconds 0.05 --only noop-qd1,poll-qd1,nbd-qd32 >table 2>err || fail "$(cat err)"
grep -q '^round trip of a cache line: [0-9]* ns$' table
grep -Eq '^poll-qd1 +[0-9]+ +[0-9]+ +[0-9]+  virtio-poll, depth 1 \(bar: noop-qd1 \+ 1.8 RTT\)$' table
grep -Eq '^nbd-qd32 +[0-9]+ +[0-9]+ +nbd, depth 32$' table

"$SRC/scripts/bench" --rounds 1 --seconds 0.05 --only noop-qd1 --against "$FIO_DATAPLANE" >table
grep -q 'too few rounds, 6 are needed' table

status=0
"$SRC/scripts/bench" --only colour 2>err || status=$?
[ $status = 2 ]
grep -q 'only colour: not a row' err
