#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# fio's results are JSON, the plain and the extended kind, and tell the depth that
# was used and an engine's name that no stock engine has.
. "$(dirname "$0")/../fio.sh"

start_target --backend ram --size 16M --delay fixed:200us
for format in json json+; do
	for depth in 1 8 64; do
		fio_passes --output-format=$format --name=job --rw=randread --bs=4k --size=8m --iodepth=$depth \
			--number_ios=1000
		[ "$(head -c 1 fio.json)" = '{' ] || fail "something is before the JSON"
		holds fio.json "jobs[0]['job options']['iodepth'] == '$depth'" \
			"sum(jobs[0]['iodepth_level'].values()) > 99" \
			"[v for k, v in jobs[0]['iodepth_level'].items() if k.strip('>=') == '$depth'][0] > 50" \
			"jobs[0]['read']['lat_ns']['min'] >= 200000" \
			"('bins' in jobs[0]['read']['clat_ns']) == ('$format' == 'json+')"
	done
done
fio_passes --output-format=normal --name=job --rw=randread --bs=4k --size=1m
grep -q "ioengine=dataplane-$ENGINE," fio.json || fail "the engine's name is not in: $(cat fio.json)"
