#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# The unit tests, and a target under load with several queues, make no sanitizer
# speak. The engine is the plain one: fio itself has no sanitizer in it.
. "$(dirname "$0")/../lib.sh"

requires_built engines/vhost-user-blk.so
requires fio --version
unset MAKEFLAGS MAKELEVEL MFLAGS

cat >job.fio <<EOF
[global]
ioengine=external:$FIO_DATAPLANE/engines/vhost-user-blk.so
socket=\${socket}
rw=randwrite
bs=4k
size=4m
iodepth=32
verify=crc32c
stuck_timeout=10
[job]
numjobs=2
offset_increment=4m
EOF

for san in address,undefined thread; do
	# gcc says it itself where it has no such sanitizer for this CPU
	echo 'int main(void){return 0;}' >t.c
	"${CC:-gcc}" -fsanitize=$san -o t t.c || { echo "no sanitizer $san here"; continue; }

	out=$SRC/build-${san/,/-}
	make -C "$SRC" -k SAN=$san tests
	for test in "$out"/tests/unit/*; do
		[ -x "$test" ] || continue
		echo "== $san $test"
		"$test"
	done
	echo "== $san bad clients"
	B=$out "$SRC/tests/run" bad-client

	for poll in off busy adaptive; do
		echo "== $san --poll $poll"
		"$out/targets/vhost-user-blk-target" --backend ram --size 16M --num-queues 2 \
			--iothreads 2 --poll $poll --delay uniform:1us,50us \
			--run 'fio job.fio' >log 2>&1 || { cat log; fail "$san --poll $poll"; }
		! grep -E 'Sanitizer|runtime error' log || fail "$san --poll $poll"
	done
done
