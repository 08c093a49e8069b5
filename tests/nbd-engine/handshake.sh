#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# What is wrong before the first request is said in a sentence, soon.
. "$(dirname "$0")/servers.sh"

job='--name=job --bs=4k --size=1m'
uri='nbd+unix:///?socket=/no/such/socket'
for serialize in 0 1; do
	# shellcheck disable=SC2086 # options are words
	fio_fails "cannot connect to $uri: " $job --rw=read --create_serialize=$serialize
	grep -q 'No such file' fio.err || { said; fail "does not say what is wrong"; }
done

while IFS='|' read -r server text options; do
	# shellcheck disable=SC2086 # words
	serve_badly $server
	for serialize in 1 0; do
		# shellcheck disable=SC2086
		fio_fails "$text" $job $options --create_serialize=$serialize
		did_nothing
	done
done <<END
act=no_greeting|no answer for 1 s (stuck_timeout)|--rw=read --stuck_timeout=1
act=leave_handshake|cannot connect|--rw=read
size=0|size 0|--rw=read
flags=ro|the export is read-only|--rw=write
flags=ro,trim|the export is read-only|--rw=trim
flags=flush|does not offer trims|--rw=trim
flags=flush|does not offer writing zeroes|--rw=trim --trim_as=write_zeroes
flags=flush|does not offer FUA, which fua= needs|--rw=write --fua=1
flags=flush|does not offer FUA, which sync= needs|--rw=write --sync=1
flags=fua|does not offer flushes|--rw=write --fsync=1
flags=fua|does not offer several connections at a time, which connections= needs|--rw=read --connections=2
min=4096 max=65536|bs=512 is no multiple of the device's block size, 4096|--rw=read --bs=512
min=4096 max=65536|offset 512 is no multiple|--rw=read --offset=512
size=1048576|past the end|--rw=read --offset=4k
size=1048576|past the end|--rw=read --offset=4m
END

# What fio does on its own asks for no more than there is.
serve_badly flags= structured=0 min=4096 max=65536
# shellcheck disable=SC2086
fio_passes $job --rw=randrw --verify=crc32c --end_fsync=1 --bs=1m --size=8m
serve_badly flags=ro
# shellcheck disable=SC2086
fio_passes $job --rw=randread
