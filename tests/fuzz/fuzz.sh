#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# libFuzzer with address and undefined-behaviour sanitizers: a minute on rings, half a
# minute each on vhost-user messages and on NBD clients. FUZZ_SECONDS says another number for each.
. "$(dirname "$0")/../lib.sh"

[ -n "${CHECK_FULL-}" ] || skip "make check-full runs it"
requires clang --version

flags=(-std=gnu11 -D_GNU_SOURCE -g -O1 -pthread -I"$SRC"
	"-fsanitize=fuzzer,address,undefined" -fno-sanitize-recover=all)
mapfile -t parts < <(find "$SRC"/base "$SRC"/wire "$SRC"/targets -name '*.c' ! -name '*-target.c')

fuzz()
{
	local name=$1 seconds=${FUZZ_SECONDS:-$2}

	clang "${flags[@]}" -o "$name" "$SRC/tests/fuzz/$name.c" "${parts[@]}" -laio -luring -lm
	mkdir "$name.corpus"
	if ! "./$name" -max_total_time="$seconds" -max_len=2048 -timeout=10 -print_final_stats=1 \
		"$name.corpus" >log 2>&1; then
		tail -n 60 log
		for file in crash-* timeout-* leak-* oom-*; do
			[ -f "$file" ] && echo "input $file:" && base64 "$file"
		done
		fail "$name"
	fi
	sed -n "s/^stat::number_of_executed_units/$name: inputs/p" log
}

fuzz ring 60
fuzz messages 30
fuzz nbd 30
