#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# A server that breaks the protocol ends the job at once, with EPROTO and a sentence; one
# that leaves, with ECONNRESET.
. "$(dirname "$0")/servers.sh"

# trial ERRNO ARG...: jobs_badly, each with that errno
trial()
{
	local errno=$1
	shift
	jobs_badly --structured_replies=1 --rw=randread --bs=4k --iodepth=8 --size=4m --offset=4k "$@"
	holds fio.json "all(job['error'] == $errno for job in jobs)" "all(job['job_runtime'] < 10000 for job in jobs)"
}

# What is wrong, in our words.
cat >wrong <<END
cookie after=100 act=cookie|a reply to no request
cookie_large after=100 act=cookie_large|a reply to no request
twice after=100 act=twice|a reply to no request
magic after=100 act=magic|a reply that begins with 0
short after=100 act=short|4095 bytes in reply to a read of 4096
outside after=100 act=outside|not what was asked for
before after=100 act=before|not what was asked for
hole_huge after=100 act=hole_huge|not what was asked for
overlap after=100 act=overlap|not what was asked for
half_twice after=100 act=half_twice|chunks that overlap in reply to a read of 4096
end_twice after=100 act=end_twice|chunks that overlap in reply to a read of 4096
gap after=100 act=gap|3072 bytes in reply to a read of 4096
shifted after=100 act=shifted|chunks that overlap in reply to a read of 4096
hole_length after=100 act=hole_length|not what was asked for
data_length after=100 act=data_length|not what was asked for
none_length after=100 act=none_length|no end of a reply
unknown after=100 act=unknown|what nobody asked for
error_zero after=100 act=error_zero|no proper error
error_length after=100 act=error_length|no proper error
error_message after=100 act=error_message|no proper error
unasked structured=0 after=100 act=unasked|not agreed on
simple_read after=100 act=simple_read|a simple reply to a read
END
trial 71 <wrong
# Libnbd has its own words, and takes an error without a number for EINVAL.
sed '/^error_zero /d; s/|.*/|breaks the protocol/' wrong >wrong.libnbd
trial 71 --datapath=libnbd <wrong.libnbd
trial 71 --datapath=libnbd <<END
half_twice after=100 act=half_twice|chunks that overlap in reply to a read of 4096
end_twice after=100 act=end_twice|chunks that overlap in reply to a read of 4096|--wait_mode=poll
shifted after=100 act=shifted|chunks that overlap in reply to a read of 4096
END
cat >gone <<END
truncate after=100 act=truncate|has closed the connection
truncate_simple after=100 act=truncate|has closed the connection|--structured_replies=0
truncate_header after=100 act=truncate_header|has closed the connection
leave after=100 act=leave|has closed the connection
thread after=100 act=leave|has closed the connection|--thread
END
trial 104 <gone
trial 104 --datapath=libnbd <gone
