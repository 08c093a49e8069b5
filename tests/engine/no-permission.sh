#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# A socket one may not use: EACCES, in words.
. "$(dirname "$0")/../fio.sh"

[ "$(id -u)" = 0 ] || skip "needs root, to become somebody else"
requires setpriv --version
start_target --backend null --size 16M
chmod 755 .
mkdir -m 777 away
other=(setpriv --reuid=65534 --regid=65534 --clear-groups)
"${other[@]}" test -r "${engine#external:}" || skip "nobody cannot read ${engine#external:}"
cd away || fail "no directory"
status=0
engine_words --name=job --rw=randread --bs=4k --size=1m
"${other[@]}" timeout 60 fio --output=log "${words[@]}" >err 2>&1 || status=$?
[ $status = 1 ] || fail "status $status"
grep -q 'Permission denied' err || fail "it says: $(cat err)"
