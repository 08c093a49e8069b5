#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# scripts/null_blk says in a line what it accepts, and that it is for root, and then has
# done nothing.
. "$(dirname "$0")/../lib.sh"

# refuses TEXT COMMAND ARG...
refuses()
{
	local text=$1 status=0
	shift
	"$@" >out 2>err || status=$?
	[ $status = 1 ] || fail "$*: status $status"
	[ "$(wc -l <err).$(wc -l <out)" = 1.0 ] || fail "$*: $(cat out err)"
	grep -q -e "^null_blk: .*$text" err || fail "$*: $(cat err)"
}

refuses 'accepts up .*down' "$SRC/scripts/null_blk"
refuses 'sideways: accepts up .*down' "$SRC/scripts/null_blk" sideways
if [ "$(id -u)" = 0 ]; then
	requires setpriv --reuid 65534 --clear-groups test -r "$SRC/scripts/null_blk"
	refuses 'only root' setpriv --reuid 65534 --clear-groups "$SRC/scripts/null_blk" up
else
	refuses 'only root' "$SRC/scripts/null_blk" up
fi
[ ! -e /run/fio-dataplane-null_blk ] || fail "has set something up"
