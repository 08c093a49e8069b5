#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# nbdinfo sees what is exported, under both names, in a list, and where a file has holes.
. "$(dirname "$0")/target.sh"

requires nbdinfo --version

# says OPTION... TEXT: it prints this line
says()
{
	local text=${*: -1}
	nbdinfo "${@:1:$#-1}" >info || fail "nbdinfo ${*:1:$#-1}"
	grep -qxF -- "$text" info || { cat info; fail "nbdinfo does not say '$text'"; }
}

start --backend ram --size 48M --block-size 4096 --export 'a b'
named="nbd+unix:///a%20b?socket=$socket"
for u in "$uri" "$named"; do
	says "$u" 'protocol: newstyle-fixed without TLS, using structured packets'
	says "$u" $'\texport-size: 50331648 (48M)'
	says "$u" $'\t\tbase:allocation'
	for can in cache df fast_zero flush fua multi_conn trim zero; do
		says "$u" $'\t'"can_$can: true"
	done
	says "$u" $'\tis_read_only: false'
	says "$u" $'\tblock_size_minimum: 4096'
	says "$u" $'\tblock_size_maximum: 33554432'
	says --size "$u" 50331648
	nbdinfo --can connect "$u"
done
says --list "$uri" 'export="a b":'
! nbdinfo "nbd+unix:///other?socket=$socket" >info 2>&1 || fail "there is no export of that name"
says --map "$uri" '         0    50331648    0  data'
target_said_nothing
stop_target

truncate -s 1M sparse
printf x | dd of=sparse bs=1 seek=524288 conv=notrunc status=none
start --backend file:sparse
nbdinfo --map "$uri" >info
# Where a file system has its holes is its own to say; these it must keep.
awk '$1 == 0 && $4 != "hole,zero" || $1 <= 524288 && 524288 < $1 + $2 && $4 != "data" { exit 1 }
	{ end = $1 + $2 } END { exit end != 1048576 }' info || { cat info; fail "nbdinfo --map"; }
