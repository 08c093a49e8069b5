#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# alone: make takes all CPUs
# Everything builds without a warning with each compiler that is here, and
# building again does nothing.
. "$(dirname "$0")/../lib.sh"

unset MAKEFLAGS MAKELEVEL MFLAGS
tried=0
for cc in gcc clang; do
	command -v $cc >/dev/null || continue
	tried=$((tried + 1))
	make -C "$SRC" -j "$(nproc)" -k B=build-$cc CC=$cc WERROR=1 tests
	again=$(make -s -C "$SRC" B=build-$cc CC=$cc WERROR=1 tests)
	[ -z "$again" ] || fail "$cc: made again: $again"
	make -C "$SRC" B=build-$cc CC=$cc WERROR=1 tests | tee again
	! grep -q -- ' -o ' again || fail "$cc: compiled or linked again"
done
[ $tried -gt 0 ] || skip "no gcc and no clang"
