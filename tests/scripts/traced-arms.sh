#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# --trace with jobs that say nothing of traces: our engine with a target inside it, and fio's own nbd engine, of which the target alone writes one.
. "$(dirname "$0")/../fio.sh"

fio --enghelp 2>&1 | grep -qw nbd || skip "this fio has no nbd engine"
# shellcheck disable=SC2016 # for dataplane to fill in
job()
{
	printf '[global]\n%s\nrw=randread\nbs=4k\nsize=1m\nio_size=8m\ntime_based=1\nruntime=${runtime}\nramp_time=${ramp}\nlat_percentiles=1\n[j]\n' "$1"
}
# shellcheck disable=SC2016 # for dataplane to fill in
{
	job 'ioengine=nbd
uri=${uri}' >foreign.fio
	job 'ioengine=external:${FIO_DATAPLANE}/engines/virtio-poll.so
target=--backend ram --size 1M' >inside.fio
}
cat >study.toml <<-'END'
	job = "inside.fio"
	[target]
	program = "nbd-target"
	options = "--backend ram --size 1M"
	[factors]
	client = ["inside", "foreign"]
	[choices.client]
	foreign = { job = "foreign.fio" }
	inside = {}
	[baseline]
	client = "inside"
END
"$SRC/scripts/dataplane" run ./study.toml --trace --repeats 1 --warmup 0 --runtime 0.5 --ramp 0.1 --cpus none --out "$PWD/out" >said 2>progress ||
	fail "the study failed: $(tail -n 1 progress)"
holds out/result.json '{r["arm"]: r["trace"]["side"] for r in d["runs"]} == {"client=inside": "both", "client=foreign": "target"}' \
	'd["stages"]["view"] == "target" and len(d["stages"]["arms"]) == 2' \
	'all(abs(sum(g["stages"].values()) - g["ns"]) < 0.01 for arm in d["stages"]["arms"].values() for g in arm.values())'
tr -s ' \n' ' ' <said | grep -q 'Where the difference sits' || fail "no table: $(cat said)"
! grep -q dp_trace out/*.fio || fail "the job files that are kept are not the ones given"

# shellcheck disable=SC2016
job 'ioengine=null' | sed 's/bs=4k/bs=${bs}/' >null.fio
status=0
"$SRC/scripts/dataplane" sweep "$PWD/null.fio" --trace --vary bs=4k,8k --out "$PWD/none" >said 2>&1 || status=$?
[ $status = 2 ] || fail "a job that nobody could trace: status $status"
grep -q -- "--trace: neither fio's engine nor the target" said || fail "$(cat said)"
