#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# alone: fio and what it runs against poll
# The study poll-max-ns runs over NBD too: an iothread that polls its sockets for
# longer than a request takes sleeps less than one that does not poll.
. "$(dirname "$0")/../lib.sh"

"$SRC/scripts/dataplane" run poll-max-ns --short --vary pair=nbd --vary poll=fixed --vary poll-max-ns=5000000 \
	--repeats 1 --warmup 0 --runtime 0.6 --out "$PWD/out" >said 2>progress ||
	fail "the study failed: $(tail -n 1 progress)"

/usr/bin/python3 - <<'END'
import json
sleeps = {a["values"]["poll"]: a["metrics"]["sleeps_per_io"]["value"] for a in json.load(open("out/result.json"))["arms"]}
# Asleep once for the request and once for the 14 us that it takes.
assert sleeps["off"] > 1.5 and sleeps["fixed"] < 0.5, sleeps
END
xz -dc out/runs.jsonl.xz >runs
grep -q nbd-target runs || fail "the target was not nbd-target"
