#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# Guests of a real QEMU as arms of a study: fio's figures, the CPU of what served the disk and that of QEMU come
# back from both kinds of disks, and what an emulated CPU gives is called no measurement.
# timeout: 300
. "$(dirname "$0")/guest.sh"

requires_built tools/rtt

cat >job.fio <<'END'
[global]
ioengine=external:${FIO_DATAPLANE}/engines/vhost-user-blk.so
socket=${socket}
wait_mode=${wait_mode}
dp_stats=${dp_stats}
cpus_allowed=${fio_cpus}
rw=randwrite
bs=${bs}
iodepth=4
time_based=1
runtime=${runtime}
ramp_time=${ramp}
lat_percentiles=1
write_iops_log=${iops_log}
log_avg_msec=${sample_ms}
log_unix_epoch=1
[job]
END
cat >study.toml <<'END'
job = "job.fio"
warmup = 0
repeats = 1
runtime = 2
ramp = 0.2
sample = 0.5
file = "64m"
[variables]
bs = "4k"
wait_mode = "block"
[choices.device]
qemu = { program = "guest", options = "--accel tcg --backend file:$file --aio threads --cache writeback" }
ours = { program = "guest", options = "--accel tcg --disk vhost-user-blk --engine io_uring --vcpus 2 --num-queues 2 --backend ram --size 64M --poll adaptive" }
[factors]
device = ["qemu", "ours"]
poll-max-ns = [32768]
END
"$SRC/scripts/dataplane" run study.toml -v --keep-raw --out out >said.txt 2>&1 || { cat said.txt; fail "the study: status $?"; }
cat said.txt
# Lines are broken where the terminal ends.
tr -s '\n ' '  ' <said.txt >flat.txt
grep -q "server: qemu (QEMU's virtio-blk, file:\$file), ours (a guest's vhost-user-blk, ram); policy: adaptive; job: job.fio " flat.txt ||
	fail "does not say what serves the disks"
grep -q '! device=qemu [^:]*, device=ours [^:]*: no measurement: QEMU emulated' flat.txt || fail "is not called no measurement"
grep -q '\* No conclusion for 2 of 2 arms: software emulation is not a measurement\.' flat.txt || fail "a conclusion is drawn from emulated guests"
grep -q '^qemu .* no measurement' said.txt || fail "the table does not say it"
grep -q 'no measurement' out/report.html || fail "the report does not say it"
echo "ok what is emulated is told"

# arm WHAT EXPRESSION: holds for each run r, m being its metrics and d the folder of its raw files
arm()
{
	local what=$1
	/usr/bin/python3 - "$2" <<'END' || fail "$what"
import json, os, sys
result = json.load(open("out/result.json"))
for r in result["runs"]:
    m, d = r["metrics"], os.path.join("out/raw", r["directory"])
    def raw(name):
        return json.load(open(os.path.join(d, name)))
    job = raw("fio.json")["jobs"][0]
    if not eval(sys.argv[1]):
        sys.exit(f"{r['directory']}: {m}")
END
	echo "ok $what"
}
arm "fio's own JSON comes back, with errors if there are any" 'm["iops"] > 0 and job["error"] == 0 and job["write"]["total_ios"] > 10'
arm "through the engine that was asked for" 'raw("fio.json")["global options"]["ioengine"] == {"qemu": "libaio", "ours": "io_uring"}[r["arm"].split()[0][7:]]'
arm "and its logs" 'len(r["samples"]) >= 2 and max(r["samples"]) > 0'
# However little a busy host leaves to them, emulated CPUs take more than what serves the disk.
arm "the CPU of what served the disk is a part of the whole" '0 < m["target_cpu"] < 150 and m["target_cpu"] < m["qemu_cpu"] < 350'
# Threads are added up by name, without their numbers.
arm "it is the iothread and its workers, or the target" \
	'set(r["threads"]) <= ({"IO io", "worker"} if "qemu" in r["arm"] else {"iothread", "session", "guard", "closer", "stderr", "vhost-user-blk-"})'
arm "QEMU's iothread did what fio asked for" '"qemu" not in r["arm"] or r["threads"]["IO io"]["user"] + r["threads"]["IO io"]["system"] > 0'
arm "the target served what fio counted" '"qemu" in r["arm"] or sum(t["requests"]["write"] for t in raw("target-stats.json")["iothreads"]) >= job["write"]["total_ios"]'

# fio's own words are what a failure says. This one only the guest's disk makes.
sed 's/^rw=.*/&\noffset=1g/' job.fio >bad.fio
sed 's/job.fio/bad.fio/' study.toml >bad.toml
! "$SRC/scripts/dataplane" run bad.toml --vary device=qemu --out bad >said.txt 2>&1 || fail "a job that fio refuses passed"
cat said.txt
grep -q '^dataplane: device=qemu.*fio in the guest: exit status 1: .*offset' said.txt || fail "does not say why"
echo "ok a job that fio refuses in the guest is told in fio's words"
