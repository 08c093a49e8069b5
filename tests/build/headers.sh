#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# scripts/fio-headers: takes the source of the installed version only, says what
# to do where there is none, and is done at once when it has been done.
. "$(dirname "$0")/../lib.sh"

unset FIO FIO_SRC FIO_GIT
version=$(fio --version) || skip "needs fio"
[ -e "$SRC/build/$version/.ready" ] || skip "make has not run"
headers=$SRC/scripts/fio-headers

# A made-up fio of a version that nobody released.
cat >fio <<'EOF'
#!/bin/sh
echo fio-9.99
EOF
chmod +x fio

# refused WORD ARG...: fio-headers ends with 1 and a message that has WORD in it
refused()
{
	local word=$1 status=0
	shift
	env "$@" "$headers" out >stdout 2>stderr || status=$?
	cat stderr
	[ $status = 1 ] || fail "exit $status, not 1"
	[ ! -s stdout ] || fail "stdout is not empty"
	grep -q -e "$word" stderr || fail "no word of $word"
}

# Nowhere to be had: FIO_SRC is named.
refused 'make FIO_SRC=' FIO="$PWD/fio" FIO_GIT=/nonexistent
# A tree of another version: both are named.
refused "is $version, but .* is fio-9.99" FIO="$PWD/fio" FIO_SRC="$SRC/build/$version"
refused 'no source tree' FIO_SRC="$PWD"
refused 'no such program' FIO=/nonexistent/fio
[ -z "$(ls -d out/fio-[0-9]* out/fio-headers.?????? 2>/dev/null)" ] || fail "something was left: $(ls out)"

# The right tree, not configured: it is, and the tree given is left as it was.
cp -r "$SRC/build/$version" tree
rm -f tree/config-host.* tree/.ready
find tree -type f -exec md5sum {} + | sort >before
got=$(FIO_SRC=tree "$headers" out)
[ "$got" = "out/$version" ] || fail "printed $got"
grep -q '^#define CONFIG_POSIXAIO$' "$got/config-host.h" || fail "not configured"
# Whatever libraries this machine has.
! grep -E 'CONFIG_(LIBAIO|LIBNUMA|RDMA)' "$got/config-host.h" || fail "depends on the machine"
find tree -type f -exec md5sum {} + | sort | diff before -

# Once more: nothing is looked for, nothing is written.
touch stamp
got=$(FIO_GIT=/nonexistent "$headers" out 2>&1)
[ "$got" = "out/$version" ] || fail "the second time it printed $got"
[ -z "$(find out -newer stamp)" ] || fail "written again: $(find out -newer stamp)"
