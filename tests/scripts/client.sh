#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# alone: fio and what it runs against poll
# --client hands the job to fio servers, here two on ports of loopback; their figures are added up, their histograms merged.
. "$(dirname "$0")/../fio.sh"

requires_built engines/nbd.so targets/nbd-target

read -r one two < <(/usr/bin/python3 -c '
import socket
probes = [socket.socket() for _ in range(2)]
for probe in probes:
    probe.bind(("127.0.0.1", 0))
print(*(probe.getsockname()[1] for probe in probes))')
for port in $one $two; do
	fio --server=ip:127.0.0.1,"$port" >"server.$port" 2>&1 &
	cleanup_fn stop $!
done
# Whether a port listens is asked of the kernel: a probing connection would be a client.
listens()
{
	local port
	for port; do
		grep -q "0100007F:$(printf %04X "$port") 00000000:0000 0A" /proc/net/tcp || return 1
	done
}
wait_for 10 listens "$one" "$two" || fail "fio's servers do not listen: $(cat server.*)"

cat >job.fio <<'END'
[global]
ioengine=external:${FIO_DATAPLANE}/engines/nbd.so
uri=${uri}
dp_stats=${dp_stats}
rw=randread
bs=4k
iodepth=4
time_based=1
runtime=${runtime}
ramp_time=${ramp}
cpus_allowed=${fio_cpus}
lat_percentiles=1
[client]
END
sweep()
{
	"$SRC/scripts/dataplane" sweep job.fio --program nbd-target --target '--backend ram --size 64M' --vary poll=off \
		--repeats 1 --warmup 0 --runtime 0.6 --ramp 0.1 "$@" >said 2>progress
}
sweep --client "127.0.0.1:$one,127.0.0.1:$two" --keep-raw --out "$PWD/out" || fail "the sweep failed: $(tail -n 1 progress)"

PYTHONPATH=$SRC/scripts /usr/bin/python3 - "$one" "$two" <<'END'
import json, sys
from dataplane_lib.read import fiojson, store
doc = store.load("out").runs[0].fio
jobs = {job["jobname"]: job["read"] for job in doc["jobs"]}
assert set(jobs) == {f"127.0.0.1,{port}: client" for port in sys.argv[1:]}, list(jobs)
found = json.load(open("out/result.json"))["arms"][0]["metrics"]
assert abs(found["iops"]["value"] - sum(part["iops"] for part in jobs.values())) < 1, found["iops"]
assert sum(fiojson.bins(doc).values()) == sum(part["lat_ns"]["N"] for part in jobs.values())
assert found["target_cpu"]["value"] > 0, found
END
grep -q "cpus_allowed\|dp_stats\|\${" out/raw/*/client.fio && fail "what is this machine's alone was sent"

# A server that is gone is no result of one.
! sweep --client "127.0.0.1:$one,127.0.0.1:1" --out "$PWD/gone" || fail "a server that is not there went unnoticed"
[ "$(cat progress)" = "dataplane: --client: no fio server answers at 127.0.0.1:1: Connection refused" ] || fail "nothing says why: $(cat progress)"
[ ! -e gone ] || fail "there is a result of it"
