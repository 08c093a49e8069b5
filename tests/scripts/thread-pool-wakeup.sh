#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# alone: fio and what it runs against poll
# The study of wake-ups runs with the real programs: our target, qemu-nbd that
# serves one client at a time, our engine and fio's own.
. "$(dirname "$0")/../lib.sh"

command -v qemu-nbd >/dev/null || skip "qemu-nbd is not installed"
fio --enghelp | grep -qw nbd || skip "this fio has no nbd engine"

"$SRC/scripts/dataplane" run thread-pool-wakeup -v --vary wakeup=sem --vary completion=eventfd-locked \
	--vary 'server=nbd-target,qemu-nbd -e 1' --vary scenario=write \
	--repeats 1 --warmup 0 --runtime 1 --ramp 0.1 --out "$PWD/out" >said 2>progress ||
	fail "the study failed: $(tail -n 1 progress)"

/usr/bin/python3 - <<'END'
import json
arms = {(a["values"]["server"], a["values"]["engine"]): a["metrics"] for a in json.load(open("out/result.json"))["arms"]}
assert len(arms) == 4, list(arms)
for (server, engine), found in arms.items():
    assert found["iops"]["value"] > 0 and found["sample_mean"]["value"] > 0, (server, engine)
    turns = found["at_once"]["value"]
    assert (turns < 1.3) == (server == "qemu-nbd -e 1"), (server, engine, turns)
ours = arms["nbd-target", "nbd.so"]
assert ours["pool_threads"]["value"] >= 1, ours
END
tr -s ' \n' ' ' <said >words
grep -q 'one after another.*qemu-nbd -e 1' words || fail "the report does not say that jobs waited"
grep -q 'Baseline server=nbd-target' words || fail "the report has no words"
