#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# The study of where a request's time goes with real programs: both sides of its arms are traced, and found to be the same.
. "$(dirname "$0")/../fio.sh"

"$SRC/scripts/dataplane" run lifecycle -v --short --vary device=pool --vary wait_mode=block --vary poll=off,busy \
	--repeats 1 --warmup 0 --runtime 0.5 --ramp 0.1 --out "$PWD/out" >said 2>progress || fail "the study failed: $(tail -n 1 progress)"
tr -s ' \n' ' ' <said >words
for text in 'Where the time goes' 'worker begins' 'returned to fio' 'Both sides saw the same workload in every arm'; do
	grep -q "$text" words || fail "nothing is said of '$text': $(cat said)"
done
holds out/result.json 'all(r["trace"]["side"] == "both" and r["trace"]["both"] > 100 for r in d["runs"])' \
	'all(abs(sum(s["share"] for s in r["trace"]["stages"][:-1]) - 100) < 0.01 for r in d["runs"])' \
	'all(r["trace"]["load"]["engine"]["size"] == 4096 == r["trace"]["load"]["target"]["size"] for r in d["runs"])'
for text in 'Stages of' 'event by event' 'slowest 0.1 %'; do
	grep -q "$text" out/report.html || fail "the page says nothing of '$text'"
done
[ -z "$(find out -name '*.trace' -o -name 'trace.target')" ] || fail "the traces were kept"
