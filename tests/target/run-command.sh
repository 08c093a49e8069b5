#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# --run: the command sees the device, its status is the target's, and nothing
# is left behind.
. "$(dirname "$0")/../fio.sh"

target=$FIO_DATAPLANE/targets/vhost-user-blk-target
mkdir tmp
export TMPDIR=$PWD/tmp
socket=
# shellcheck disable=SC2016 # the command's to expand
"$target" --backend ram --size 16M --run 'echo "$socket $uri $FIO_DATAPLANE"; stat -c %a "$socket"' >out
{
	read -r sock uri dir
	read -r mode
} <out
[[ $mode.$uri == 600.?* && $dir -ef $FIO_DATAPLANE ]] || fail "it saw: $(cat out)"
[[ $sock == "$TMPDIR"/* ]] || fail "the socket was $sock"

for status in 0 1 3 77; do
	got=0
	"$target" --run "exit $status" || got=$?
	[ $got = $status ] || fail "exit $status gave $got"
done
for signal in TERM KILL SEGV; do
	got=0
	"$target" --run "kill -$signal \$\$" || got=$?
	[ $got = $((128 + $(kill -l $signal))) ] || fail "SIG$signal gave $got"
done
got=0
"$target" --run /no/such/program 2>/dev/null || got=$?
[ $got = 127 ] || fail "no such program gave $got"

cat >job.fio <<END
[global]
ioengine=external:\${FIO_DATAPLANE}/engines/vhost-user-blk.so
socket=\${socket}
rw=randwrite
bs=4k
size=4m
verify=crc32c
[a]
iodepth=1
[b]
stonewall
iodepth=32
[c]
stonewall
iodepth=256
END
"$target" --backend ram --size 16M --run 'fio --output=log job.fio' || { cat log; fail "fio job.fio"; }
! "$target" --backend null --run 'fio --output=log job.fio' >/dev/null 2>&1 || fail "null keeps data"

# A signal to the target is one to its command.
"$target" --run 'trap "exit 9" TERM; echo ready; while :; do sleep 0.1; done' >ready &
pid=$!
cleanup_fn kill -KILL $pid
wait_for 10 grep -qs ready ready
got=0
stop $pid || got=$?
[ $got = 9 ] || fail "SIGTERM gave $got"
# One that dies of it leaves the status that a shell would give the target.
for signal in TERM INT HUP; do
	env --default-signal=HUP "$target" --run 'echo ready; exec sleep 60' >ready.$signal &
	pid=$!
	cleanup_fn kill -KILL $pid
	wait_for 10 grep -qs ready ready.$signal
	kill -$signal $pid
	got=0
	wait $pid || got=$?
	[ $got = $((128 + $(kill -l $signal))) ] || fail "SIG$signal gave $got"
done
# Whatever the command has started ends as well: lists, what is in the background or in a session of its own, and
# what is started when it is told to end; at last what does not listen.
ended()
{
	local pid
	while read -r pid; do
		! kill -0 "$pid" 2>/dev/null || grep -qs '^State:.Z' "/proc/$pid/status" || return 1
	done < <(cat pids.*)
}
cat >family <<'END'
sh -c 'echo $$ >pids.a; exec sleep 61' &
setsid sh -c 'echo $$ >pids.b; sleep 62; true' &
setsid sh -c 'sh -c "echo \$\$ >pids.c; exec sleep 63" & exit' &
sh -c 'trap "sleep 64 & echo \$! >pids.d; exit" TERM; echo ready >trap; while :; do sleep 0.1; done' &
while ! [ -s pids.a ] || ! [ -s pids.b ] || ! [ -s pids.c ] || ! [ -s trap ]; do sleep 0.1; done
echo ready
sleep 65; true
END
for signal in TERM INT HUP; do
	rm -f pids.* trap ready.family
	env --default-signal=HUP "$target" --run '. ./family' >ready.family &
	pid=$!
	cleanup_fn kill -KILL $pid
	wait_for 20 grep -qs ready ready.family || fail "no family: $(ls)"
	kill -$signal $pid
	got=0
	wait $pid || got=$?
	[ $got = $((128 + $(kill -l $signal))) ] || fail "SIG$signal to a family gave $got"
	[ -s pids.d ] || fail "SIG$signal: one was not told"
	ended || fail "SIG$signal leaves $(cat pids.*)"
done
# A second signal kills what the first one does not end.
"$target" --run 'trap "" TERM; echo $$ >pids.deaf; while :; do sleep 0.1; done' &
pid=$!
cleanup_fn kill -KILL $pid
wait_for 10 [ -s pids.deaf ]
kill -TERM $pid
sleep 0.3
kill -0 $pid || fail "it does not wait for its command"
stop $pid || true
ended || fail "left behind: $(cat pids.*)"
# What is left when the command ends by itself; and a child that the target has from before is not its own.
sh -c 'sleep 67 & echo $! >before; exec "$0" --run "sleep 66 & echo \$! >pids.left"' "$target" || fail "status $?"
ended || fail "left behind by the end: $(cat pids.left)"
kill "$(cat before)" || fail "killed what it has not started"
[ -z "$(ls tmp)" ] || fail "left behind: $(ls tmp)"
# One that is killed takes its command along, no process waits to tidy up after it, and its directory goes with the
# next one, which leaves those alone that are in use.
"$target" --run 'echo ready >other; exec sleep 60' &
other=$!
cleanup_fn kill -KILL $other
wait_for 10 grep -qs ready other
in_use=$(ls tmp)
"$target" --run 'echo $$ >pids.killed; exec sleep 60' &
pid=$!
wait_for 10 [ -s pids.killed ]
[ "$(find tmp -mindepth 1 -maxdepth 1 | wc -l)" = 2 ] || fail "two targets have $(ls tmp)"
kill -KILL $pid
wait $pid || true
wait_for 10 ended || fail "SIGKILL leaves $(cat pids.killed)"
mkdir "tmp/fio-dataplane-run-kept00"
touch "tmp/fio-dataplane-run-kept00/socket"
"$target" --run true
[ "$(echo tmp/*)" = "$(printf '%s\n' "tmp/$in_use" tmp/fio-dataplane-run-kept00 | sort | paste -sd ' ')" ] ||
	fail "after SIGKILL and another run: $(ls tmp), of which $in_use is in use"
[ -S "tmp/$in_use/socket" ] || fail "the socket of another target is gone"
rm -r tmp/fio-dataplane-run-kept00
stop $other || true
[ -z "$(ls tmp)" ] || fail "left behind: $(ls tmp)"
got=0
TMPDIR=$PWD/nowhere "$target" --run true 2>err || got=$?
[ $got = 1 ] || fail "no TMPDIR gave $got"
grep -q -e "^vhost-user-blk-target: --run: .*$PWD/nowhere (\$TMPDIR): No such file" err || fail "it says: $(cat err)"
