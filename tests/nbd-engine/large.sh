#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# Blocks larger than the server takes are split, up to any size.
. "$(dirname "$0")/servers.sh"

serve_badly min=512 max=65536
fio_passes --name=job --rw=randrw --bs=1m --size=8m --iodepth=4 --verify=crc32c
# More parts than there are requests at a time.
fio_passes --name=job --rw=randrw --bs=8m --size=16m --iodepth=2 --verify=crc32c
serve_nbdkit memory size=256M
for datapath in direct libnbd; do
	fio_passes --datapath=$datapath --name=job --rw=randrw --bs=128m --size=256m --iodepth=2 --verify=crc32c
done
