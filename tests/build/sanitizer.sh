# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=bash
#
# sanitizer.sh SANITIZER: what the tests of one sanitizer do. The unit tests, bad clients, and both
# targets under load make it say nothing. The engines are the plain ones: fio itself has no
# sanitizer in it.

. "$(dirname "${BASH_SOURCE[0]}")/../lib.sh"

san=$1
requires_built engines/vhost-user-blk.so
requires_built engines/nbd.so
requires fio --version
unset MAKEFLAGS MAKELEVEL MFLAGS

echo 'int main(void){return 0;}' >t.c
"${CC:-gcc}" -fsanitize="$san" -o t t.c || skip "no sanitizer $san for this CPU"

# job_file ENGINE WHERE: job.fio for that engine
job_file()
{
	cat >job.fio <<-EOF
	[global]
	ioengine=external:$FIO_DATAPLANE/engines/$1.so
	$2
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
}

# under_load TARGET OPTION...: fio passes, and the target has nothing to say
under_load()
{
	echo "== $san $*"
	"$out/targets/$1" --iothreads 2 "${@:2}" --run 'fio job.fio' >log 2>&1 || { cat log; fail "$san $*"; }
	! grep -E 'Sanitizer|runtime error' log || fail "$san $*"
}

out=$SRC/build-${san/,/-}
make -C "$SRC" -j "$(nproc)" -k SAN="$san" tests
B=$out "$SRC/tests/run" -j "$(nproc)" unit bad-client

# shellcheck disable=SC2016 # fio expands it
job_file vhost-user-blk 'socket=${socket}'
for poll in off busy adaptive per-source; do
	under_load vhost-user-blk-target --backend ram --size 16M --num-queues 2 --poll $poll --delay uniform:1us,50us
done
truncate -s 16M disk
under_load vhost-user-blk-target --backend file:disk --num-queues 2 --aio threads
# shellcheck disable=SC2016
job_file nbd 'uri=${uri}'
under_load nbd-target --backend file:disk --aio threads --wakeup per-thread --pool-queue per-thread --completion poll
under_load nbd-target --backend file:disk --aio io_uring
