#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# What `make install` installs works without the source tree.
. "$(dirname "$0")/../lib.sh"

unset MAKEFLAGS MAKELEVEL MFLAGS
make -C "$SRC" -j "$(nproc)" B=build-gcc CC=gcc WERROR=1 install PREFIX=/usr DESTDIR="$PWD/root"
unset FIO_DATAPLANE

make -C "$SRC" B=build-gcc CC=gcc WERROR=1 install PREFIX="/u s" DESTDIR="$PWD/a b" >/dev/null
for program in "a b/u s/bin"/*; do
	"$program" --help >/dev/null || fail "$program --help, below a directory with a blank"
done
rm -r "a b"

for page in root/usr/share/man/man1/*.1; do
	grep -q '^\.TH' "$page" || fail "$page is no manual page"
done
for program in root/usr/bin/*; do
	"$program" --help >/dev/null || fail "$program --help"
done

requires fio --version
# The job file that is installed, with the engine that is installed, on the
# target that is installed.
home=$PWD/root/usr/lib/fio-dataplane
root/usr/bin/vhost-user-blk-target --backend ram --size 16M \
	--run "env | grep ^FIO_DATAPLANE= >exported; fio --output=log --name=j --rw=randwrite --bs=4k \
	--ioengine=external:\$FIO_DATAPLANE/engines/vhost-user-blk.so --socket=\$socket \
	--size=4m --iodepth=8 --verify=crc32c" || { cat log; fail "fio on the installed target"; }
grep -qx "FIO_DATAPLANE=$home" exported || fail "$(cat exported) is not $home"
root/usr/bin/dataplane list | grep poll-max-ns >/dev/null || fail "the studies are not found"
