#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# A file that cannot be served is one line that says why and what would do, status 1, and
# no file is made.
. "$(dirname "$0")/../lib.sh"

requires_built targets/vhost-user-blk-target
target=$FIO_DATAPLANE/targets/vhost-user-blk-target
truncate -s 1M disk
truncate -s 1000 odd
: >empty
mkdir folder
mkfifo fifo

while IFS='|' read -r words text; do
	status=0
	# shellcheck disable=SC2086 # options are words
	timeout 10 "$target" --socket sock $words >out 2>err || status=$?
	[ $status = 1 ] || fail "$words: status $status: $(cat err)"
	[ "$(wc -l <err).$(wc -l <out)" = 1.0 ] || fail "$words: $(cat out err)"
	grep -q -e "$text" err || fail "$words: $(cat err)"
done <<END
--backend file:none|^vhost-user-blk-target: --backend: cannot open none: No such file
--backend file:folder|--backend: folder .*regular file nor a block device
--backend file:fifo|--backend: fifo .*regular file nor a block device
--backend file:/dev/null|--backend: /dev/null .*regular file nor a block device
--backend file:empty|--backend: empty has 0 bytes, accepts .*512
--backend file:odd|--backend: odd has 1000 bytes, accepts .*512
--backend file:disk --size 2M|--size: disk has 1048576 bytes, accepts no more
--backend file:|--backend: 'file:' .*file:PATH
--backend null --aio native|--aio: native .*file:PATH
--backend file:disk --aio native|^vhost-user-blk-target: --aio: native needs --direct
--backend ram --aio io_uring|--aio: io_uring .*file:PATH
--backend ram --direct|--direct: .*file:PATH
--backend file:disk --aio quick|--aio: 'quick' .*threads.*native.*io_uring.*inline
END
[ ! -e none ] || fail "a file was made"
"$target" --run true --backend file:odd --size 512 || fail "a part of a file is not served"
# What was not given is recorded as what it is.
"$target" --run true --backend file:disk --stats stats || fail "status $?"
grep -q '"size": *"1048576"' stats || fail "statistics: $(cat stats)"
grep -q '"aio": *"threads"' stats || fail "statistics: $(cat stats)"
