#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# A bad option is one line that names it, and status 1; --help and --describe say what there is.
. "$(dirname "$0")/target.sh"

while IFS='|' read -r text options; do
	status=0
	# shellcheck disable=SC2086 # words
	timeout 10 "$target" $options >out 2>err || status=$?
	[ "$status" = 1 ] || fail "$options: status $status"
	[ "$(wc -l <err)" = 1 ] || { cat err; fail "$options: not one line"; }
	grep -qF -- "$text" err || { cat err; fail "$options: does not say '$text'"; }
	[ ! -s out ] || fail "$options: prints something"
done <<END
needs --socket PATH, --port N or --run COMMAND|
needs --socket PATH, --port N or --run COMMAND|--export x
--port: excludes --socket|--socket s --port 10809
--port|--port 0
--port|--port 65536
--port|--port nbd
--bind: needs --port|--socket s --bind 127.0.0.1
--run|--socket s --run true
--size: 1000 is not a multiple of|--socket s --size 1000
--block-size|--socket s --block-size 100
--backend|--socket s --backend file
--num-queues|--socket s --num-queues 2
--export: a name of 5000 bytes is too long|--socket s --export $(printf %05000d 0)
END
[ ! -e s ] || fail "a socket is left"
for option in --help --describe --version; do
	"$target" $option >out || fail "$option: status $?"
	grep -q 'nbd.*target' out || fail "$option"
done
"$target" --help >help
"$target" --describe >description
for option in socket port bind run export backend size block-size read-only direct delay request-cost aio \
	pool-threads wakeup pool-queue completion iothreads cpus poll poll-max-ns stats; do
	grep -q -e "--$option\b" help || fail "--help lacks --$option"
	grep -q "\"name\": \"$option\"" description || fail "--describe lacks --$option"
done
