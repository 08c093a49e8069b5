#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# fio's own client and server.
. "$(dirname "$0")/../fio.sh"

start_target --backend ram --size 16M --num-queues 2
fio --server=sock:fio.sock >server.log 2>&1 &
server=$!
cleanup_fn kill_fio $server
wait_for 10 test -S fio.sock
cat >job.fio <<END
[global]
ioengine=$engine
socket=$socket
$([ "$ENGINE" != virtio-poll ] || echo transport=vhost-user)
rw=randwrite
bs=4k
size=1m
iodepth=16
verify=crc32c
[job]
numjobs=2
offset_increment=1m
END
timeout 60 fio --client=sock:fio.sock --output-format=json --output=fio.json job.fio >fio.err 2>&1 || {
	said
	cat server.log
	fail "fio --client"
}
holds fio.json "[j['read']['total_ios'] for j in d['client_stats'] if j['jobname'] == 'job'] == [256, 256]" \
	"all(j['error'] == 0 for j in d['client_stats'])"
