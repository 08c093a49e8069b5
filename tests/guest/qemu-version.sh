#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# Another QEMU for the guest: its disks connect anew by the name that its version has for that.
. "$(dirname "$0")/guest.sh"

# reconnects VERSION OPTION: a QEMU of that version must be given the option
reconnects()
{
	cat >qemu <<-END
		#!/bin/sh
		[ "\$1" != --version ] || { echo "QEMU emulator version $1 (Debian)"; exit; }
		echo "\$@" >asked
	END
	chmod +x qemu
	"$SRC/scripts/guest" --qemu ./qemu --socket /nowhere -- true >console.txt 2>&1 </dev/null || true
	grep -q -- "path=/nowhere,$2 " asked || { cat console.txt asked; fail "QEMU $1: is not given $2"; }
	echo "ok $1: $2"
}
reconnects 7.2.17 reconnect=1
reconnects 9.1.90 reconnect=1
reconnects 9.2.0 reconnect-ms=1000
reconnects 10.0.13 reconnect-ms=1000

ends_with()
{
	local text=$1
	shift
	! "$SRC/scripts/guest" "$@" -- true >console.txt 2>&1 </dev/null || fail "should have failed"
	[ "$(cat console.txt)" = "guest: $text" ] || { cat console.txt; fail "should say '$text'"; }
	echo "ok $text"
}
ends_with "/bin/true --version: prints no version" --qemu /bin/true --socket /nowhere
ends_with "/nowhere is not installed: scripts/install-deps guest" --qemu /nowhere
