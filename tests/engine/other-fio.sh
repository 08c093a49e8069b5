#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# An engine built for another fio than the one that loads it is refused with a
# sentence that names both and says what to do.
. "$(dirname "$0")/../fio.sh"

requires python3 --version
version=$(fio --version)
python3 - "$version" "$FIO_DATAPLANE/engines/noop.so" noop.so <<'END'
import sys
version, source, copy = sys.argv[1].encode(), *sys.argv[2:]
engine = open(source, "rb").read()
assert version in engine, "the engine does not say what it was built for"
open(copy, "wb").write(engine.replace(version, version[:-1] + b"?"))
END

status=0
timeout 30 fio --name=job --ioengine=external:./noop.so --size=1m --rw=read >said 2>&1 || status=$?
cat said
[ $status != 0 ] || fail "fio ran it"
grep -qF "built for ${version%?}?, but this is $version" said || fail "not said"
grep -q "rebuild fio-dataplane" said || fail "what to do is not said"

# The unchanged one runs.
timeout 30 fio --name=job --ioengine=external:"$FIO_DATAPLANE/engines/noop.so" --size=1m --rw=read >said 2>&1 ||
	{ cat said; fail "the engine for this fio is refused"; }
