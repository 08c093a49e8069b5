#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# nbdcopy and the programs of QEMU bring an image there and back unchanged.
. "$(dirname "$0")/target.sh"

requires nbdcopy --version
requires qemu-img --version

image data 24
truncate -s 40M data
printf 'at the end' | dd of=data bs=1 seek=$((40 * 1048576 - 10)) conv=notrunc status=none
sum=$(sha256sum <data)

# same FILE: it has the image's contents
same()
{
	[ "$(sha256sum <"$1")" = "$sum" ] || fail "$1 is not what was sent"
	rm "$1"
}

truncate -s 40M file
for options in '--backend ram --size 40M' '--backend ram --size 40M --iothreads 2 --aio threads' \
	'--backend file:file' '--backend file:file --aio inline --block-size 4096'; do
	# shellcheck disable=SC2086 # words
	start $options
	nbdcopy data "$uri"
	nbdcopy "$uri" out
	same out
	nbdcopy --connections=4 --requests=32 --request-size=524288 "$uri" out
	same out
	nbdcopy --synchronous "$uri" - >out
	same out

	qemu-io -f raw -c 'write -P 0x5a 1M 17M' -c 'discard 2M 1M' -c 'write -z 4M 1M' \
		-c 'flush' -c 'read -P 0x5a 5M 1M' -c 'read -P 0 4M 1M' "$uri" >log || { cat log; fail "qemu-io"; }
	! grep -iE 'error|fail|mismatch' log || fail "qemu-io"
	! qemu-img compare -q -f raw -F raw data "$uri" || fail "the image should have changed"
	qemu-img convert -n -f raw -O raw data "$uri"
	qemu-img compare -f raw -F raw data "$uri"
	qemu-img convert -f raw -O raw -m 16 -W "$uri" out
	same out
	target_said_nothing
	stop_target
done
