#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# A server that breaks the protocol ends the job at once, with EPROTO and a sentence; one
# that leaves, with ECONNRESET.
. "$(dirname "$0")/servers.sh"

# ends ERRNO TEXT ARG...: the job does
ends()
{
	local errno=$1 text=$2
	shift 2
	fio_fails "$text" --name=job --rw=randread --bs=4k --iodepth=8 --size=4m --offset=4k "$@"
	holds fio.json "jobs[0]['error'] == $errno"
}

while IFS='|' read -r act errno text; do
	# shellcheck disable=SC2086 # words
	serve_badly after=100 act=$act
	ends "$errno" "$text"
done <<END
cookie|71|a reply to no request
cookie_large|71|a reply to no request
twice|71|a reply to no request
magic|71|a reply that begins with 0
short|71|4095 bytes in reply to a read of 4096
outside|71|not what was asked for
before|71|not what was asked for
hole_huge|71|not what was asked for
overlap|71|not what was asked for
hole_length|71|not what was asked for
data_length|71|not what was asked for
none_length|71|no end of a reply
unknown|71|what nobody asked for
error_zero|71|no proper error
error_length|71|no proper error
error_message|71|no proper error
unasked structured=0|71|not agreed on
simple_read|71|a simple reply to a read
truncate|104|has closed the connection
truncate_header|104|has closed the connection
leave|104|has closed the connection
END
# libnbd finds fewer of them, and says so in its own words.
serve_badly after=100 act=magic
ends 71 'invalid' --datapath=libnbd
serve_badly after=100 act=leave
ends 104 'has closed the connection' --datapath=libnbd
