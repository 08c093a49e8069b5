#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# What is wrong before the first request is said in a sentence, soon.
. "$(dirname "$0")/servers.sh"

for serialize in 1 0; do
	jobs_badly --create_serialize=$serialize --bs=4k --size=1m <<END
no_greeting act=no_greeting|no answer for 1 s (stuck_timeout)|--rw=read --stuck_timeout=1
dribbles act=dribble_handshake|no answer for 1 s (stuck_timeout)|--rw=read --stuck_timeout=1
floods act=flood_handshake|no answer for 1 s (stuck_timeout)|--rw=read --stuck_timeout=1
leaves act=leave_handshake|cannot connect|--rw=read
empty size=0|size 0|--rw=read
ro_write flags=ro|the export is read-only|--rw=write
ro_trim flags=ro,trim|the export is read-only|--rw=trim
no_trim flags=flush|does not offer trims|--rw=trim
no_zeroes flags=flush|does not offer writing zeroes|--rw=trim --trim_as=write_zeroes
no_fua flags=flush|does not offer FUA, which fua= needs|--rw=write --fua=1
no_fua_sync flags=flush|does not offer FUA, which sync= needs|--rw=write --sync=1
no_flush flags=fua|does not offer flushes|--rw=write --fsync=1
one flags=fua|does not offer several connections at a time, which connections= needs|--rw=read --connections=2
blocks min=4096 max=65536|bs=512 is no multiple of the device's block size, 4096|--rw=read --bs=512
offset min=4096 max=65536|offset 512 is no multiple|--rw=read --offset=512
end size=1048576|past the end|--rw=read --offset=4k
beyond size=1048576|past the end|--rw=read --offset=4m
END
	did_nothing
	[ $serialize = 1 ] || holds fio.json "[job['error'] for job in jobs if job['jobname'] == 'leaves'] == [104]"
	uri='nbd+unix:///?socket=/no/such/socket'
	fio_fails "cannot connect to $uri: " --name=job --rw=read --create_serialize=$serialize
	grep -q 'No such file' fio.err || { said; fail "does not say what is wrong"; }
done

# What fio does on its own asks for no more than there is.
serve_badly flags= structured=0 min=4096 max=65536
fio_passes --name=job --rw=randrw --verify=crc32c --end_fsync=1 --bs=1m --size=8m
serve_badly flags=ro
fio_passes --name=job --rw=randread --bs=4k --size=1m
