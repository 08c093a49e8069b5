#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# A server leaves one answer out, or the end of one: the job ends after stuck_timeout, with ETIMEDOUT.
. "$(dirname "$0")/servers.sh"

jobs_badly --stuck_timeout=1 --rw=randread --bs=4k --iodepth=8 --size=16m <<END
silence after=1000 act=silence|stuck_timeout
midway after=1000 act=silence_midway|stuck_timeout
structured after=1000 act=silence_midway|stuck_timeout|--structured_replies=1
END
holds fio.json "[job['error'] for job in jobs] == [110] * 3"
