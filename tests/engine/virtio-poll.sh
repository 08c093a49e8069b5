#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# virtio-poll over vhost-user passes what vhost-user-blk does; these, and all of
# them with CHECK_FULL=1.
. "$(dirname "$0")/../lib.sh"
here=$SRC/tests/engine
tests=(verify-forms trims)
if [ "${CHECK_FULL-}" = 1 ]; then
	tests=()
	for test in "$here"/*.sh; do
		grep -qE "ENGINE=virtio-poll|each_engine" "$test" || tests+=("$(basename "$test" .sh)")
	done
fi
for test in "${tests[@]}"; do
	status=0
	ENGINE=virtio-poll "$here/$test.sh" >log 2>&1 || status=$?
	case $status in
	0 | 77) echo "$test: $status" ;;
	*) cat log; fail "$test: status $status" ;;
	esac
done
