#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# --export vduse in the guest, with drivers by hand on vhost-vdpa: memory is used as it is mapped now
# and not otherwise, and a driver that is wrong is stopped with a line, without harm to the next one.
# timeout: 200
. "$(dirname "$0")/guest.sh"
. "$SRC/tests/guest/vduse-guest.sh"
requires_built engines/virtio-poll.so
gcc -std=gnu11 -D_GNU_SOURCE -Wall -Wextra -Werror -O1 -I"$SRC" -o vdpa-client "$SRC/tests/guest/vdpa-client.c" \
	"$SRC/engines/transport/vhost-vdpa.c" || fail "vdpa-client does not build"

# shellcheck disable=SC2016 # expanded in the guest
guest "$vduse_words"'
# stopped TEXT CASE: the client sees no answer, and the target says why
stopped()
{
	: >target.err
	vdpa-client $2 || return 1
	waits_for grep -q "^vhost-user-blk-target: vduse disk: $1" target.err || { cat target.err; return 1; }
	[ $(wc -l <target.err) = 1 ] || { cat target.err; return 1; }
}
for options in "--backend ram --size 16M" "--backend file:image --poll busy"; do
	truncate -s 16M image
	target $options --num-queues 2
	check "on the bus ($options)" on_the_bus
	check "vhost-vdpa takes it" drive vhost_vdpa
	waits_for test -c /dev/vhost-vdpa-0
	check "memory exchanged while the queue runs" vdpa-client exchange
	check "how far a queue has come" vdpa-client base
	check "memory that may only be read is not written" vdpa-client read-only
	check "none of that is worth a line" test ! -s target.err
	check "an address that was never mapped" stopped "an address lies outside the shared memory; stopped until" unmapped
	check "one that is mapped no more" stopped "an address lies outside the shared memory; stopped until" taken-away
	check "a ring that is mapped no more" stopped "an address lies outside the shared memory; stopped until" ring-taken-away
	check "a chain that loops" stopped "a descriptor chain loops; stopped until" chain-loops
	case $options in
	*ram*) check "memory that is truncated" stopped "shared memory was truncated" truncated ;;
	esac
	: >target.err
	check "the next driver finds nothing wrong" job --rw=randwrite --verify=crc32c --size=4m --iodepth=16
	check "the target ends" finish
done
target --backend ram --size 16M --max-client-memory 4K
on_the_bus
drive vhost_vdpa
check "more memory than --max-client-memory" fails "it does not start" vdpa-client unmapped
check "for which there is a line" grep -q "cannot start the driver.s queues: shared memory exceeds --max-client-memory" target.err
' --timeout 180 "${vduse_files[@]}" --file "$FIO_DATAPLANE/engines/virtio-poll.so:/usr/lib/virtio-poll.so" --file vdpa-client
