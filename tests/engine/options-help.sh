#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# --enghelp explains every option of an engine.
. "$(dirname "$0")/../fio.sh"

fio --enghelp="${engine#external:}" >help.txt
[ "$(wc -l <help.txt)" -ge 8 ] || fail "only: $(cat help.txt)"
! grep -F '(null)' help.txt || fail "an option without help"
! grep -vE '^[a-z_]+ +: [A-Za-z]{3}' help.txt || fail "a line without name and help"
while read -r name _; do
	fio --enghelp="${engine#external:},$name" >one.txt
	grep -q "$name" one.txt || fail "$name: $(cat one.txt)"
	! grep -F '(null)' one.txt || fail "$name has no help"
done <help.txt
