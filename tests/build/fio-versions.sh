#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# alone: make takes all CPUs
# timeout: 3000
# The engines build for other versions of fio, and tests of theirs pass with each. Their
# sources are the directories in $FIO_SRCS, divided by colons; the table goes to $TABLE.
. "$(dirname "$0")/../lib.sh"

[ "${CHECK_FULL-}" = 1 ] || skip "only make check-full tries this"
[ -n "${FIO_SRCS-}" ] || skip "FIO_SRCS names no sources of fio (make check-full FIO_SRCS=DIR:DIR)"
unset MAKEFLAGS MAKELEVEL MFLAGS FIO_SRC

tests=(build/layout engine/other-fio engine/other-layout engine/options-help nbd-engine/options-help engine/verify-forms engine/embedded
	engine/packed engine/trims engine/flushes engine/zone-strided engine/read-only engine/client-server engine/iologs
	engine/json nbd-engine/verify nbd-engine/commands engine/virtio-poll)

: >rows
failed=0
IFS=: read -ra sources <<<"$FIO_SRCS"
for source in "${sources[@]}"; do
	[ -f "$source/FIO-VERSION-GEN" ] || fail "$source is no source tree of fio"
	name=$(basename "$source")
	mkdir -p "bin/$name"
	if [ ! -x "$source/fio" ]; then
		cp -r "$source" "$name"
		(cd "$name" && ./configure --disable-native && make -j "$(nproc)" fio) >"$name.log" 2>&1 ||
			{ tail "$name.log"; fail "$source does not build"; }
		cp "$name/fio" "bin/$name/fio"
	else
		cp "$source/fio" "bin/$name/fio"
	fi
	version=$("bin/$name/fio" --version)
	# A tree of its own, as build/fio.mk says which fio this is for.
	git -C "$SRC" ls-files -z | (cd "$SRC" && tar --create --null --files-from=- --file=-) >tree.tar
	mkdir "tree-$name"
	tar -C "tree-$name" -xf tree.tar
	if ! PATH="$PWD/bin/$name:$PATH" make -C "tree-$name" -j "$(nproc)" WERROR=1 FIO="$PWD/bin/$name/fio" FIO_SRC="$source" tests >build.log 2>&1; then
		tail -n 30 build.log
		echo "| $version | does not build |" >>rows
		failed=1
		continue
	fi
	status=0
	PATH="$PWD/bin/$name:$PATH" B=build "tree-$name/tests/run" "${tests[@]}" >"$name.tests" || status=$?
	grep -v '^ok' "$name.tests" | head -n 60
	ioops=$(sed -n 's/^#define FIO_IOOPS_VERSION[[:space:]]*//p' "$source/ioengines.h")
	echo "| $version | $ioops | $(tail -n 1 "$name.tests") |" >>rows
	[ $status = 0 ] || failed=1
done
{
	echo "| fio | engine interface | tests |"
	echo "|---|---|---|"
	cat rows
} | tee "${TABLE:-table}"
exit $failed
