#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# Nothing at socket=, or nobody behind it: an error that says which.
. "$(dirname "$0")/../fio.sh"

job='--name=job --rw=randread --bs=4k --size=1m'
socket=$PWD/missing
# shellcheck disable=SC2086 # words
fio_fails 'No such file or directory' $job
holds fio.json "jobs[0]['error'] == 2"
start_target --backend null
kill -KILL "$target_pid"
wait "$target_pid" || true
# shellcheck disable=SC2086
fio_fails 'Connection refused' $job
holds fio.json "jobs[0]['error'] == 111"
socket=$PWD/file
: >file
# shellcheck disable=SC2086
fio_fails 'Connection refused' $job
socket=$PWD
# shellcheck disable=SC2086
fio_fails 'cannot connect' $job
