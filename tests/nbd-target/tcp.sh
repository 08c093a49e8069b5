#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# --port serves TCP, on loopback unless --bind says otherwise, without Nagle's delays.
. "$(dirname "$0")/target.sh"

requires ss --version

# listens ARG...: start the target on a free port
listens()
{
	for _ in $(seq 20); do
		port=$((20000 + RANDOM % 20000))
		"$target" --port $port --backend ram --size 16M "$@" 2>target.err &
		pid=$!
		cleanup_fn stop_server "$pid"
		wait_for 5 listening && return
		grep -q 'Address already in use' target.err || { cat target.err; fail "it does not listen"; }
	done
}

stop_server()
{
	[ ! -e "/proc/$1" ] || stop "$1"
}

listening()
{
	where=$(ss -Hltn "sport = :$port" | awk '{ print $4 }')
	[ -n "$where" ]
}

listens
[ "$where" = "127.0.0.1:$port" ] || fail "listens on $where"
uri=nbd://127.0.0.1:$port/
stock_passes --name=job --rw=randwrite --bsrange=512-256k --iodepth=32 --size=16m --verify=crc32c
# With Nagle's algorithm on either end requests would take 40 ms.
stock_passes --name=job --rw=randread --bs=512 --iodepth=1 --size=256k
holds fio.json "jobs[0]['read']['clat_ns']['percentile']['50.000000'] < 20e6"
# Many small replies at once
stock_passes --name=job --rw=randwrite --bs=512 --iodepth=64 --size=1m

# Its port is taken.
status=0
"$target" --port "$port" 2>err || status=$?
[ $status = 1 ] || fail "exit $status though its port is taken"
grep -qx "nbd-target: --port: cannot listen on 127.0.0.1 port $port: Address already in use" err || { cat err; fail "what it says"; }
stop "$pid" || fail "status $?"

listens --bind 127.0.0.2
[ "$where" = "127.0.0.2:$port" ] || fail "listens on $where"
stop "$pid" || fail "status $?"
status=0
"$target" --port "$port" --bind nowhere.invalid 2>err || status=$?
[ $status = 1 ] || fail "exit $status at a host that there is none of"
grep -q "^nbd-target: --bind: cannot listen on nowhere.invalid port $port: " err || { cat err; fail "what it says"; }

# The same port again at once, though connections of the last target linger; there is no $socket then.
# shellcheck disable=SC2016 # the command's to expand
"$target" --port "$port" --run 'echo "$uri$socket"; nbdinfo --size "$uri"' --size 32M >out
[ "$(cat out)" = "nbd://127.0.0.1:$port/"$'\n'33554432 ] || { cat out; fail "what --run sees"; }
