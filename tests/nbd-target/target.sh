# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=bash
#
# What the tests of nbd-target share, on top of fio.sh. Such a test begins with
#
#	. "$(dirname "$0")/target.sh"

TARGET=nbd-target
. "$(dirname "${BASH_SOURCE[0]}")/../fio.sh"

requires_built "targets/$TARGET"
# shellcheck disable=SC2034 # for those who start it themselves
target=$FIO_DATAPLANE/targets/$TARGET
fio --enghelp 2>/dev/null | grep -qw nbd || skip "this fio has no nbd engine"

# start ARG...: start_target, which is then found at $uri
start()
{
	start_target "$@"
	uri="nbd+unix:///?socket=$socket"
	export uri
}

# stock ARG...: fio with its own nbd engine on $uri; returns fio's status
stock()
{
	rm -f fio.json
	timeout -k 5 60 fio --output-format=json --output=fio.json --ioengine=nbd --uri="$uri" "$@" \
		>fio.err 2>&1
}

# stock_passes ARG...: which must succeed
stock_passes()
{
	local status=0
	stock "$@" || status=$?
	[ $status = 0 ] && return
	said
	fail "fio $*: status $status"
}

# target_said_nothing: no line on stderr but statistics asked for
target_said_nothing()
{
	[ ! -s target.err ] || { cat target.err; fail "the target said something"; }
}

# image FILE MEBIBYTES: random contents
image()
{
	dd if=/dev/urandom of="$1" bs=1M count="$2" status=none
}
