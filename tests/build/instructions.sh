#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# What a request costs driver and device in instructions, counted under callgrind, is what
# tests/build/instructions.txt says for this compiler, or no more than 5 % beside it. A change that
# makes it another figure on purpose records it: tests/build/instructions.sh --record
. "$(dirname "$0")/../lib.sh"

steps=$FIO_DATAPLANE/tests/unit/virtqueue-steps
record=$SRC/tests/build/instructions.txt
requires_built tests/unit/virtqueue-steps
requires valgrind --version

# The program says what it was built by and with; other flags make other figures.
compiler=$(readelf -p .comment "$steps" | sed -n 's/^ *\[ *[0-9a-f]*\] *//p' | tail -n 1)
flags=$(sed -n 's/^[^ ]* //p' "$FIO_DATAPLANE/flags")
[[ $flags == *" -O2 -g "* && $flags != *-fsanitize* ]] || skip "built with other flags than -O2 -g"
key="$(uname -m) $compiler"

# Names of functions are enough, and not every valgrind can read every debug information.
objcopy --strip-debug "$steps" steps
valgrind --tool=callgrind --callgrind-out-file=out ./steps >requests 2>log || { cat log; fail "$steps under valgrind"; }

# shape driver device: instructions a request
callgrind_annotate --inclusive=yes --threshold=100 out | tr -d , |
	awk 'NR == FNR { requests[$1] = $2; next }
	     match($0, /:(split|packed)_[a-z0-9]+_(driver|both) /) {
		name = substr($0, RSTART + 1, RLENGTH - 2); count[name] = $1
	     }
	     END { for (s in requests) {
		d = count[s "_driver"]
		printf "%s %.0f %.0f\n", s, d / requests[s], (count[s "_both"] - d) / requests[s] } }' \
	requests - | sort >now
[ "$(wc -l <now)" = 6 ] || fail "callgrind names other functions: $(cat now)"

if [ "${1-}" = --record ]; then
	{ grep -v "^$key:" "$record" || true; sed "s/^/$key: /" now; } >new
	cp new "$record"
	exit
fi
printf '%-16s driver device, recorded driver device\n' "$key"
status=0 known=0
while read -r shape driver device; do
	read -r _ was_driver was_device < <(sed -n "s/^$key: $shape /x /p" "$record") || was_driver=
	echo "$shape $driver $device${was_driver:+, $was_driver $was_device}"
	[ -n "$was_driver" ] || continue
	known=1
	for pair in "driver $driver $was_driver" "device $device $was_device"; do
		read -r side n was <<<"$pair"
		((n * 100 <= was * 105 && n * 105 >= was * 100)) && continue
		echo "$shape: $n instructions a request in the $side, recorded $was: more than 5 % apart"
		status=1
	done
done <now
[ $known = 1 ] || skip "no figures recorded for $key"
exit $status
