#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# --run: the command finds the export at $uri, whatever it is called, and nothing is left.
. "$(dirname "$0")/target.sh"

requires nbdinfo --version
mkdir "a dir with ?&#%"
export TMPDIR="$PWD/a dir with ?&#%"
for name in '' x 'a b' 'x/y' 'a?b=c&d#e' 100% 'ä'; do
	# shellcheck disable=SC2016 # the command's to expand
	"$target" --backend ram --size 16M ${name:+--export "$name"} \
		--run 'nbdinfo --json "$uri"; stat -c "mode %a" "$socket"; ls "$FIO_DATAPLANE/targets/nbd-target"' >out
	grep -qx 'mode 600' out || fail "the socket's mode: $(cat out)"
	grep -qx "$FIO_DATAPLANE/targets/nbd-target" out || fail "FIO_DATAPLANE: $(cat out)"
	/usr/bin/python3 - "$name" <<'END' || { cat out; fail "nbdinfo at the uri of '$name'"; }
import json, sys
text = open("out", encoding="utf-8").read()
export = json.JSONDecoder().raw_decode(text)[0]["exports"][0]
assert export["export-name"] == sys.argv[1] and export["export-size"] == 16 << 20, export
END
done
[ -z "$(ls "$TMPDIR")" ] || fail "left behind: $(ls "$TMPDIR")"

for status in 0 3 77; do
	got=0
	"$target" --run "exit $status" || got=$?
	[ $got = $status ] || fail "exit $status gave $got"
done

# A stock job file
cat >job.fio <<'END'
[global]
ioengine=nbd
uri=${uri}
rw=randwrite
bs=4k
size=4m
verify=crc32c
iodepth=16
[a]
[b]
offset=4m
END
"$target" --backend ram --size 16M --run 'fio --output=log job.fio' || { cat log; fail "fio job.fio"; }
! "$target" --backend null --run 'fio --output=log job.fio' >/dev/null 2>&1 || fail "null keeps data"
