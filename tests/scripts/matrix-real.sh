#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# alone: fio and what it runs against poll
# The study of the release sniff test with real programs, at its largest number of jobs.
. "$(dirname "$0")/../fio.sh"

"$SRC/scripts/dataplane" matrix --short --a poll=off --b poll=adaptive --vary 'access=sequential write' --vary jobs=128 \
	--repeats 1 --warmup 0 --runtime 0.5 --ramp 0.1 --out "$PWD/out" >said 2>progress || fail "the matrix failed: $(tail -n 1 progress)"
grep -q 'over all points (1) throughput changes by' said || fail "nothing is said of throughput: $(cat said)"
holds out/result.json 'all(a["metrics"]["bw_mib"]["value"] > 0 for a in d["arms"])' \
	'{r["jobs"] for r in d["runs"]} == {128}' \
	'all("cpu_us_per_mib" in a["metrics"] for a in d["arms"]) or "not be sampled" in " ".join(d["warnings"])'
