#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# alone: fio and what it runs against poll
# dataplane match with real programs: QEMU's and ours run the same point, each over its own protocol.
. "$(dirname "$0")/../fio.sh"

tried=
for peer in qemu-nbd qemu-storage-daemon; do
	command -v $peer >/dev/null || continue
	tried=1
	"$SRC/scripts/dataplane" match --peer $peer --iodepth 4 --bs 4k --steps 0 --repeats 1 --runtime 0.5 --ramp 0.1 \
		--out "$PWD/$peer" >said 2>progress || fail "the match with $peer failed: $(tail -n 1 progress)"
	tr -s ' \n' ' ' <said >words
	grep -q "off those of $peer by .* as it is" words || fail "no sentence about $peer: $(cat said)"
	/usr/bin/python3 - "$peer" <<'END'
import json, sys
arms = {a["values"]["server"]: a["metrics"] for a in json.load(open(f"{sys.argv[1]}/result.json"))["arms"]}
assert set(arms) == {sys.argv[1], "target"}, list(arms)
for who, found in arms.items():
    assert found["iops"]["value"] > 0 and found["target_us_per_io"]["value"] > 0, (who, found)
# Both went through a pool of threads: the file holds data, and is read.
assert arms["target"]["pool_threads"]["value"] >= 1, arms
assert arms[sys.argv[1]]["switches_per_io"]["value"] > 0.05, arms
END
done
[ -n "$tried" ] || skip "neither qemu-nbd nor qemu-storage-daemon is installed"
