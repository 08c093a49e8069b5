#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# A job verifies what an earlier one wrote: in the same run, in the next, and
# finds out when somebody else wrote there meanwhile.
. "$(dirname "$0")/../fio.sh"

start_target --backend ram --size 16M
common='--rw=randwrite --bs=4k --size=2m --iodepth=32 --verify=crc32c --randseed=7'
# shellcheck disable=SC2086 # words
fio_passes $common --name=writer --do_verify=0 --name=verifier --stonewall --verify_only=1
holds fio.json "jobs[0]['read']['total_ios'] == 0" \
	"jobs[1]['read']['total_ios'] == 512"
# shellcheck disable=SC2086
fio_passes $common --name=writer --do_verify=0
# shellcheck disable=SC2086
fio_passes $common --name=writer --verify_only=1
fio_passes --name=reader --rw=read --bs=4k --size=2m --iodepth=8 --verify=crc32c
fio_passes --name=other --rw=write --bs=512 --offset=1m --size=512
fio_fails verify --name=reader --rw=read --bs=4k --size=2m --iodepth=8 --verify=crc32c
