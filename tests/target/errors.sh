#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# Errors asked for reach fio as I/O errors, as many as asked for.
. "$(dirname "$0")/../fio.sh"

start_target --backend null --size 1G --fail-after 100
fio_fails 'Input/output error' --name=job --rw=randread --bs=4k --iodepth=4 --number_ios=1000
holds fio.json "jobs[0]['error'] == 5" "96 <= jobs[0]['read']['total_ios'] <= 104"
stop_target

start_target --backend null --size 1G --error-rate 0.5
fio_passes --name=job --rw=randread --bs=4k --iodepth=4 --number_ios=1000 --norandommap --continue_on_error=io
# fio goes on until a thousand have gone well.
holds fio.json "600 < jobs[0]['total_err'] < 1500"
