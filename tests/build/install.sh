#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# What `make install` installs works without the source tree, and `make uninstall` removes
# that and nothing else.
. "$(dirname "$0")/../lib.sh"

unset MAKEFLAGS MAKELEVEL MFLAGS
make -C "$SRC" -j "$(nproc)" B=build-gcc CC=gcc WERROR=1 install PREFIX=/usr DESTDIR="$PWD/root"
unset FIO_DATAPLANE

make -C "$SRC" B=build-gcc CC=gcc WERROR=1 install PREFIX="/u s" DESTDIR="$PWD/a b" >/dev/null
for program in "a b/u s/bin"/*; do
	"$program" --help >/dev/null || fail "$program --help, below a directory with a blank"
done
mkdir "a b/u s/share/man/man7"
touch "a b/u s/share/man/man7/other.7"
make -C "$SRC" B=build-gcc uninstall PREFIX="/u s" DESTDIR="$PWD/a b" >said
[ "$(find "a b" ! -type d)" = "a b/u s/share/man/man7/other.7" ] || fail "left: $(find "a b" ! -type d)"
grep -q 'share/man' said || fail "what stays is not named: $(cat said)"
rm -r "a b"

# Installed twice over somebody's directories, removed once: these are as they were.
mkdir -p mine/bin mine/share/man/man1
echo mine >mine/bin/other
find mine | sort >before
for _ in 1 2; do
	make -C "$SRC" B=build-gcc CC=gcc WERROR=1 install PREFIX="$PWD/mine" >/dev/null
done
[ -e mine/share/bash-completion/completions/dataplane ] || fail "no completion for bash"
[ -e mine/share/zsh/site-functions/_dataplane ] || fail "no completion for zsh"
make -C "$SRC" B=build-gcc uninstall PREFIX="$PWD/mine" >/dev/null
find mine | sort | diff before -
if make -C "$SRC" B=build-gcc uninstall PREFIX="$PWD/mine" 2>said; then
	fail "uninstalled what is not there"
fi
grep -q 'nothing is installed' said || fail "not said: $(cat said)"

# A package of fio has its engines elsewhere, with other names.
[ -z "$(find root ! -type d ! -path 'root/usr/lib/fio-dataplane/*' ! -path 'root/usr/bin/*' ! -path 'root/usr/share/*')" ] ||
	fail "something is outside of its places"

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
