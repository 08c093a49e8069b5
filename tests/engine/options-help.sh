#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# --enghelp explains every option of an engine.
. "$(dirname "$0")/../fio.sh"

for name in vhost-user-blk virtio-poll nbd; do
	requires_built "engines/$name.so"
	engine=$FIO_DATAPLANE/engines/$name.so
	fio --enghelp="$engine" >help.txt
	[ "$(wc -l <help.txt)" -ge 8 ] || fail "only: $(cat help.txt)"
	! grep -F '(null)' help.txt || fail "an option without help"
	! grep -vE '^[a-z_]+ +: [A-Za-z]{3}' help.txt || fail "a line without name and help"
	while read -r option _; do
		fio --enghelp="$engine,$option" >one.txt
		grep -q "$option" one.txt || fail "$option: $(cat one.txt)"
		! grep -F '(null)' one.txt || fail "$option has no help"
	done <help.txt
done
