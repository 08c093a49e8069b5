#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# The installed fio lays its structs out as the headers do that we compiled with.
. "$(dirname "$0")/../lib.sh"

requires_built tests/build/layout.so
requires "${FIO:=fio}" --version

# Other options than the defaults, for the engine to find again.
cat >layout.fio <<EOF
[layout]
ioengine=external:$FIO_DATAPLANE/tests/build/layout.so
filename=layout-file
rw=randread
bs=12k
size=768k
iodepth=16
numjobs=2
EOF
"$FIO" --output-format=json --output=out.json layout.fio

# 64 blocks a job, each of them checked on its way.
/usr/bin/python3 - <<'EOF'
import json
jobs = json.load(open("out.json"))["jobs"]
assert [j["error"] for j in jobs] == [0, 0], jobs
assert [j["read"]["total_ios"] for j in jobs] == [64, 64], jobs
EOF
