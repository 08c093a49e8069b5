#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# --help, --describe and --version; and a mistake is one line that names the option and
# what it accepts, status 1.
. "$(dirname "$0")/../lib.sh"

requires_built targets/vhost-user-blk-target
target=$FIO_DATAPLANE/targets/vhost-user-blk-target
"$target" --help >help 2>err || fail "--help: $(cat err)"
[ ! -s err ] || fail "--help on stderr: $(cat err)"
"$target" --describe >page || fail "--describe"
/usr/bin/python3 -m json.tool page >/dev/null || fail "--describe is no JSON"
for option in socket export run no-packed backend size block-size read-only num-queues queue-size max-client-memory iothreads cpus \
	poll poll-max-ns poll-grow poll-shrink delay request-cost stats help describe version; do
	grep -q -- "--$option" help || fail "--help does not mention --$option"
	grep -q "\"name\": \"$option\"" page || fail "--describe does not mention --$option"
done
[[ $("$target" --version) =~ ^vhost-user-blk-target\ [0-9]+\.[0-9] ]] || fail "--version"

while IFS='|' read -r words text; do
	status=0
	# shellcheck disable=SC2086 # options are words
	timeout 10 "$target" $words >out 2>err || status=$?
	[ $status = 1 ] || fail "$words: status $status"
	[ "$(wc -l <err).$(wc -l <out)" = 1.0 ] || fail "$words: $(cat out err)"
	grep -q "^vhost-user-blk-target: .*$text" err || fail "$words: $(cat err)"
done <<END
|--socket PATH, --export vduse or --run
--socket|--socket: needs a value
--socket a --run true|--run: .*--socket
--socket a --backend disk|--backend: 'disk' .*null, ram
--socket a --size 1000|--size: 1000 .*--block-size 512
--socket a --size 0|--size: '0' .*512
--socket a --size lots|--size: 'lots' .*K, M, G
--socket a --block-size 1000|--block-size: .*power of two
--socket a --num-queues 0|--num-queues: .*1 to 256
--socket a --num-queues 300|--num-queues: .*1 to 256
--socket a --queue-size 100|--queue-size: .*power of two
--socket a --max-client-memory lots|--max-client-memory: .lots. .*K, M, G
--socket a --max-client-memory 0|--max-client-memory: .0. is out of range
--socket a --iothreads many|--iothreads: .*1 to 256
--socket a --iothreads 2 --iothread-map 0,2|--iothread-map: iothread 2 does not exist; --iothreads is 2
--socket a --iothread-map 0,,|--iothread-map: .*a list of iothreads, counted from 0, such as 0,1,1
--socket a --iothread-map -1|--iothread-map: .*a list of iothreads, counted from 0, such as 0,1,1
--socket a --cpus 0,1000|--cpus: .0,1000. is not among the CPUs allowed here (.*0
--socket a --cpus x|--cpus: .*list of CPUs
--socket a --poll always|--poll: .*off, busy, fixed, fixed-1024, adaptive, per-source, weighted, rate, inflight, hybrid
--socket a --poll-max-ns 1h|--poll-max-ns: .*ns, us, ms
--socket a --poll-grow 1|--poll-grow: .*2 and more
--socket a --delay soon|--delay: .*fixed.*uniform.*exp.*lognormal
--socket a --delay uniform:5us,1us|--delay: .*A up to B
--socket a --request-cost -1|--request-cost: .*time
--socket a --unknown|--unknown: no such option
--socket a --read-only=yes|--read-only: takes no value
stray|'stray': not an option
END
