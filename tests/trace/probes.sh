#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# The USDT probes that docs/traces.md lists are in the programs, with so many arguments each, and no others; a build without them has none and says so.
. "$(dirname "$0")/../lib.sh"

requires readelf --version
requires_built targets/vhost-user-blk-target targets/nbd-target engines/vhost-user-blk.so engines/virtio-poll.so engines/nbd.so

"$FIO_DATAPLANE/targets/nbd-target" --version | grep -q 'with USDT probes' || skip "this compiler builds none"

# probes FILE: "name arguments" of each, once
probes()
{
	readelf -n "$1" 2>/dev/null | awk '
		$1 == "Provider:" { if ($2 != "dataplane") print "provider", $2 }
		$1 == "Name:" { name = $2 }
		$1 == "Arguments:" { print name, NF - 1 }' | sort -u
}

# shellcheck disable=SC2016 # the backquotes are the page's
sed -n 's/^| `\([a-z_]*\)(\([^)]*\))` | \([a-z]*\) |.*/\3 \1 \2/p' "$SRC/docs/traces.md" |
	awk '{ print $1, $2, NF - 2 }' | sort >listed
[ "$(wc -l <listed)" = 14 ] || fail "docs/traces.md lists $(wc -l <listed) probes"

# compare SIDES FILE
compare()
{
	grep -E "^($1) " listed | cut -d' ' -f2- | sort -u >wanted
	probes "$2" >there
	diff wanted there || fail "$2 has other probes than docs/traces.md"
}

compare 'target' "$FIO_DATAPLANE/targets/vhost-user-blk-target"
compare 'engine' "$FIO_DATAPLANE/engines/vhost-user-blk.so"
compare 'engine|target' "$FIO_DATAPLANE/engines/virtio-poll.so"
# A socket needs no kicks and calls.
grep -vE ' (kicked|called) ' listed >socket
mv socket listed
compare 'target' "$FIO_DATAPLANE/targets/nbd-target"
compare 'engine' "$FIO_DATAPLANE/engines/nbd.so"

if command -v "${CC:-gcc}" >/dev/null; then
	printf '#include "wire/trace-probe.h"\nconst char *said = PROBES_BUILT;\nint f(int a) { PROBE1(x, IN_REG(a)); return a; }\n' >p.c
	"${CC:-gcc}" -std=gnu11 -I"$SRC" -DNO_PROBES -c p.c -o without.o || fail "does not build without probes"
	[ -z "$(probes without.o)" ] || fail "there are probes without"
	grep -q 'without USDT' without.o || fail "it does not say that it has none"
fi
