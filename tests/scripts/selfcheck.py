#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only
"""dataplane selfcheck: a line a pair and status 0; a target that fails is named, and ends it with status 3."""

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

SRC = Path(__file__).resolve().parents[2]
BUILD = (SRC / os.environ.get("B", "build")).resolve()


def selfcheck(home):
    """(status, lines) of selfcheck with what is in HOME."""
    done = subprocess.run([SRC / "scripts" / "dataplane", "selfcheck", "--json", "found.json"], env=os.environ | {"FIO_DATAPLANE": str(home)},
                          capture_output=True, text=True, check=False)
    assert not done.stderr, done.stderr
    return done.returncode, done.stdout.splitlines()


def main():
    """One target is broken, the other is not."""
    if not (BUILD / "targets" / "nbd-target").exists():
        print("SKIP: nbd-target is not built")
        sys.exit(77)
    with tempfile.TemporaryDirectory() as place:
        os.chdir(place)
        # A disk whose every request fails, behind one of the two targets.
        broken = Path("broken")
        (broken / "targets").mkdir(parents=True)
        for name in ("engines", "tools", "targets/vhost-user-blk-target"):
            (broken / name).symlink_to(BUILD / name)
        fails = broken / "targets" / "nbd-target"
        fails.write_text(f'#!/bin/sh\nexec "{BUILD}/targets/nbd-target" --error-rate 1 "$@"\n', encoding="utf-8")
        fails.chmod(0o755)
        status, lines = selfcheck(broken)
        assert status == 3 and len(lines) > 12, lines
        # Where the kernel forbids it, io_uring fails in both.
        refused = {line for line in lines if "io_uring" in line}
        assert all(line.startswith("OK ") for line in lines[:-1] if "on nbd-target" not in line and line not in refused), lines
        for name in ("vhost-user-blk", "virtio-poll", "nbd"):
            assert any(f" {name} " in line for line in lines), (name, lines)
        bad = {line for line in lines[:-1] if line.startswith("BAD")} - refused
        assert bad == {line for line in lines[:-1] if "on nbd-target" in line} - refused and bad, lines
        assert all(": " in line for line in bad), bad
        pairs = json.loads(Path("found.json").read_text(encoding="utf-8"))["pairs"]
        assert [("OK   " if p["passed"] else "BAD  ") + p["name"] + (f": {p['why']}" if p["why"] else "") for p in pairs] == lines[:-1], pairs
        assert sorted(os.listdir()) == ["broken", "found.json"], os.listdir()


main()
