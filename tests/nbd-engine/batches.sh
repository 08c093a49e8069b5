#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# Replies that came together make requests that leave together, unless the job asks for time in between.
. "$(dirname "$0")/servers.sh"

# All that is in flight comes due at the same time, and is answered together.
serve_target --backend null --size 1G --delay fixed:20ms
job=(--name=job --rw=randread --bs=512 --iodepth=32 --number_ios=640)
fio_passes --dp_stats=together "${job[@]}"
holds together.job.1.json "d['sends'] < 160" "sum(n * count for n, count in d['replies']) <= 640"
fio_passes --dp_stats=apart --rate_iops=1000000 "${job[@]}"
holds apart.job.1.json "d['sends'] > 320"
