#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# --export vduse says in a line what it lacks or does not take, and runs nothing then.
. "$(dirname "$0")/../lib.sh"
requires_built targets/vhost-user-blk-target

# refused TEXT ARG...: exit status 1, and one line that has TEXT
refused()
{
	local text=$1 status=0
	shift
	"$FIO_DATAPLANE/targets/vhost-user-blk-target" "$@" >out 2>err || status=$?
	[ $status = 1 ] || fail "$*: status $status"
	[ "$(wc -l <err)" = 1 ] || fail "$*: $(cat err)"
	grep -q -e "^vhost-user-blk-target: .*$text" err || fail "$*: $(cat err)"
	[ ! -s out ] || fail "$*: prints $(cat out)"
}

for value in '' vdus vduse: vduse:a/b vduse:control vduse:.. vduse:-a "vduse:$(printf '%064d' 0)"; do
	refused "--export: '$value' is not vduse or vduse:NAME" --export "$value"
done
refused "--export: 'vduse:dataplane' is given twice" --export vduse --export vduse:dataplane
refused "needs --socket PATH, --export vduse or --run COMMAND" --no-packed

[ ! -e /dev/vduse/control ] || skip "this kernel has the driver, so that its absence cannot be tried"
refused "no /dev/vduse/control: the kernel's VDUSE driver is missing (modprobe vduse; Linux 5.15 or newer)" --export vduse --run 'touch ran'
refused "no /dev/vduse/control" --socket "$PWD/socket" --export "vduse:$(printf '%063d' 0)"
[ ! -e ran ] || fail "the command ran"
[ ! -e socket ] || fail "the socket of the other device is left"
