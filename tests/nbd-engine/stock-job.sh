#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# A job file of fio's own nbd engine runs when its ioengine line is replaced.
. "$(dirname "$0")/servers.sh"

# The words of examples/nbd.fio in fio's source, but for a shorter runtime.
cat >nbd.fio <<'END'
[global]
ioengine=nbd
uri=nbd+unix:///?socket=${unixsocket}
rw=randrw
time_based
runtime=60
group_reporting
iodepth=64

[job0]
offset=0

[job1]
offset=64m

[job2]
offset=128m

[job3]
offset=192m
END
truncate -s 256M disk.raw
trial()
{
	export unixsocket=$server_socket
	sed "s,^ioengine=nbd,ioengine=external:$FIO_DATAPLANE/engines/nbd.so,; s/^runtime=60/runtime=1/" nbd.fio >ours.fio
	fio --output-format=json --output=fio.json ours.fio >fio.err 2>&1 || { said; fail "it does not run"; }
	holds fio.json "len(jobs) == 1" "jobs[0]['error'] == 0" "jobs[0]['read']['total_ios'] > 1000"
}
serve_nbdkit memory size=256M
trial
if qemu-nbd --version >/dev/null 2>&1; then
	serve_qemu_nbd -e 4
	trial
fi
