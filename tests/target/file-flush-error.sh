#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# A flush that fails is answered as an error, in each way to the file: here of a file
# system (QEMU's FUSE export) whose disk takes writes and refuses every flush.
. "$(dirname "$0")/../fio.sh"

[ -w /dev/fuse ] || skip "/dev/fuse is not to be had"
requires qemu-storage-daemon --version
requires qemu-io --version
requires_built targets/nbd-target
truncate -s 16M disk
: >broken
qemu-storage-daemon --blockdev driver=file,node-name=file,filename=disk \
	--blockdev driver=blkdebug,node-name=bad,image=file,inject-error.0.event=none,inject-error.0.iotype=flush,inject-error.0.once=off \
	--export type=fuse,id=bad,node-name=bad,mountpoint="$PWD/broken",writable=on >daemon.log 2>&1 &
daemon=$!
cleanup_fn stop $daemon

is_there()
{
	[ "$(stat -c %s broken)" = $((16 << 20)) ]
}
wait_for 10 is_there || skip "no FUSE export: $(tail -n 1 daemon.log)"

for aio in inline threads "native --direct" io_uring; do
	export aio
	# shellcheck disable=SC2086 # words
	start_target --backend "file:$PWD/broken" --aio $aio --direct --stats stats.json
	fio_passes --name=job --rw=write --bs=64k --size=4m
	fio_fails 'a flush has failed' --name=job --rw=write --bs=64k --size=4m --fsync=8
	stop_target || fail "$aio: status $?"
	holds stats.json "sums('requests', 'write') >= 64" "sums('requests', 'flush') >= 1" \
		"sums('errors') == sums('requests', 'flush')"
	# qemu-io does look: at a flush of its own, and at a write that is to be durable.
	# shellcheck disable=SC2016,SC2086 # for the shell of --run; words
	"$FIO_DATAPLANE/targets/nbd-target" --backend "file:$PWD/broken" --aio $aio --run '
		io="qemu-io -t writeback -f raw"
		$io -c "write 0 64k" "$uri" || echo "no write"
		$io -c flush "$uri" && echo "a flush"
		# FUSE does not see that an asynchronous direct write is to be durable.
		if [ "$aio" != "native --direct" ]; then
			$io -c "write -f 0 64k" "$uri" && echo "a durable write"
		fi' >io.log 2>&1 || true
	[ "$(grep -c '^wrote 65536/65536' io.log)" = 1 ] || { cat io.log; fail "$aio: not one write"; }
	! grep "^no write\|^a " io.log || fail "$aio: $(cat io.log)"
done
