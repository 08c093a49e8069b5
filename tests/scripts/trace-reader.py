#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only
"""dataplane trace on made-up files of known truth: which requests are the same, what is of neither, and what is refused."""

import subprocess
from pathlib import Path

from made_up_trace import ROOM, SRC, both, clean_up, engine, place, target, tf, write
from dataplane_lib.trace import lifecycle, requests, show, stages, workload


def told(*paths):
    found = requests.load(paths)
    return found, show.digest(found, *show.of_interest(found))


def stage(digest, name):
    return next(row for row in digest["stages"] if row["stage"] == name)


START = 10_000_000
starts = [(START + 2000 * n, n % 2, 4096 * n) for n in range(100)]
io, work = both([target(*s) for s in starts])
here = write("engine", "dataplane-x", [("job", tf.JOB, sum((engine(*s) for s in starts), []))])
there = write("target", "vhost-user-blk-target", [("iothread0", tf.IOTHREAD, io), ("worker0.0", tf.WORKER, work)])

# Every stage, exactly.
found, digest = told(here, there)
assert digest["both"] == 100 and digest["side"] == "both" and not digest["wrong"]
for name, ns in (("submitted", 10), ("kicked", 10), ("target woken", 180), ("taken by the target", 100), ("given to the backend", 10),
                 ("worker begins", 90), ("worker done", 200), ("completed", 100), ("published", 10), ("called", 10), ("engine woken", 230),
                 ("seen by the engine", 50), ("returned to fio", 5), ("all", 1005)):
    row = stage(digest, name)
    assert row["min"] == row["max"] == row["median"] == ns and row["requests"] == 100, (name, row)
load = digest["load"]
assert load["engine"]["size"] == load["target"]["size"] == 4096 and load["engine"]["reads"] == 100
assert load["engine"]["requests"] == load["target"]["requests"] == 100
# Shown to seen is 990 of 2000 ns, taken to shown 410.
assert abs(load["engine"]["lifetime"] - 0.99) < 1e-6 and abs(load["target"]["lifetime"] - 0.41) < 1e-6
assert 48 < load["engine"]["busy"] < 51 and abs(load["engine"]["depth"] * 100 - load["engine"]["busy"]) < 0.01 and load["engine"]["deepest"] == 1

# A guest, or somebody else's daemon, on the other side: the one side's table.
_, digest = told(here)
assert digest["side"] == "engine" and stage(digest, "seen by the engine")["median"] == 50 and "completed" not in {r["stage"] for r in digest["stages"]}
assert stage(digest, "engine woken")["median"] == 930 and stage(digest, "all")["median"] == 1005
_, digest = told(there)
assert digest["side"] == "target" and stage(digest, "all")["median"] == 410 and stage(digest, "worker done")["median"] == 200
assert set(digest["load"]) == {"target"}

# Notifications that came too late to matter are no stage; those put off are for the batches before.
late = [e if e[1] != tf.KICK else (e[0] + 500, *e[1:]) for s in starts for e in engine(*s)]
_, digest = told(write("late", "dataplane-x", [("job", tf.JOB, late)]), there)
assert "kicked" not in {r["stage"] for r in digest["stages"]} and stage(digest, "target woken")["median"] == 190
assert stage(digest, "all")["median"] == 1005 and not digest["wrong"]

# A notification is for the batch before it and for no other, and a wake-up, where the other side's file does not tell what it
# was for, for what was taken at once. Of A to D, D's kick and call are put off, and B has none.
job, io = [], []
for at in range(START, START + 40 * 2000, 2000):
    job += [(at + t, event, 0, tag, 4096 * letter, 4096, 0) for t, event, tag, letter in (
        (0, tf.QUEUE, 0, 0), (10, tf.SUBMIT, 0, 0), (20, tf.KICK, 0, 0), (300, tf.QUEUE, 1, 1), (310, tf.SUBMIT, 0, 0),
        (900, tf.AWAKE, 0, 0), (950, tf.SEEN, 0, 0), (955, tf.RETURN, 0, 0),
        (1000, tf.QUEUE, 0, 2), (1010, tf.SUBMIT, 0, 0), (1020, tf.KICK, 0, 0), (1100, tf.SEEN, 1, 0), (1105, tf.RETURN, 0, 0),
        (1200, tf.QUEUE, 1, 3), (1210, tf.SUBMIT, 0, 0), (1250, tf.SEEN, 0, 0), (1255, tf.RETURN, 0, 0), (1300, tf.KICK, 0, 0),
        (1700, tf.AWAKE, 0, 0), (1750, tf.SEEN, 1, 0), (1755, tf.RETURN, 0, 0))]
    io += [(at + t, event, 0, tag, 4096 * letter, 4096, 0) for t, event, tag, letter in (
        (200, tf.WOKEN, 0, 0), (210, tf.POP, 0, 0), (220, tf.START, 0, 0), (590, tf.DONE, 0, 0), (600, tf.PUBLISH, 0, 0), (610, tf.CALL, 0, 0),
        (700, tf.POP, 1, 1), (710, tf.START, 1, 1), (750, tf.DONE, 1, 0), (760, tf.PUBLISH, 0, 0),
        (1030, tf.WOKEN, 0, 0), (1040, tf.POP, 0, 2), (1050, tf.START, 0, 2), (1150, tf.DONE, 0, 0), (1160, tf.PUBLISH, 0, 0),
        (1220, tf.POP, 1, 3), (1230, tf.START, 1, 3), (1600, tf.DONE, 1, 0), (1610, tf.PUBLISH, 0, 0), (1650, tf.CALL, 0, 0))]
mine = write("batches", "dataplane-x", [("job", tf.JOB, job)])
theirs = write("batches-target", "vhost-user-blk-target", [("iothread0", tf.IOTHREAD, io)])


def which(requests, event):
    """Those of A to D that have EVENT, each of them every time."""
    letters = (requests.offset // 4096)[stages.causal(requests.times)[0][:, event] > 0]
    assert all((letters == letter).sum() == 40 for letter in set(letters)), (event, letters)
    return "".join("ABCD"[letter] for letter in sorted(set(letters)))


found, digest = told(mine)
assert which(found.engine, tf.KICK) == "ACD", digest
assert which(found.engine, tf.AWAKE) == "AD", digest
assert (stage(digest, "kicked")["min"], stage(digest, "kicked")["max"]) == (10, 90), digest
found, _ = told(theirs)
assert which(found.target, tf.CALL) == "AD" and which(found.target, tf.WOKEN) == "AC"
found, digest = told(mine, theirs)
assert len(found.both) == 160 and not digest["wrong"], digest
# D was found before it was kicked, and B complete when A's call woke the engine.
for event, letters in ((tf.KICK, "AC"), (tf.WOKEN, "AC"), (tf.CALL, "AD"), (tf.AWAKE, "ABD")):
    assert which(found.both, event) == letters, (event, which(found.both, event))

# What a study says of it: the largest stage is no majority, and those under way at the edges are no other workload.
for more, text in ((0, "as many requests, of the same size"), (1, "as many requests but for those under way at the edges, of the same size"),
                   (5, "did not see the same workload: a")):
    digest["load"]["target"]["requests"] = 160 + more
    sentences = " ".join(lifecycle.sentences({}, {"a": "a"}, [({"name": "a", "baseline": True}, [digest])]))
    assert text in sentences and "the largest part of all requests' time, " in sentences, sentences
assert [workload.text("iops", 73601.54), workload.text("requests", 65138), workload.text("requests", 7), workload.text("size", 4096.0)] == \
    ["73.6k", "65.1k", "7", "4096"]

# Two queues with the same names in two sessions, and a third nobody else saw: told apart by what was asked for.
others = [(START + 2000 * n + 1, n % 2, 1 << 30 | 4096 * n) for n in range(100)]
first = write("first", "dataplane-x", [("job", tf.JOB, sum((engine(*s) for s in starts), []))])
second = write("second", "dataplane-x", [("job", tf.JOB, sum((engine(*s) for s in others), []))])
io, work = both([target(*s, queue=3 << 8) for s in starts] + [target(*s, queue=7 << 8) for s in others] +
                [target(s[0], s[1], 5, queue=8 << 8) for s in starts])
many = write("many", "vhost-user-blk-target", [("iothread0", tf.IOTHREAD, io), ("worker0.0", tf.WORKER, work)])
found, digest = told(first, second, many)
assert digest["both"] == 200 and not digest["different"], digest
assert (found.both.offset[found.both.number == 1] >= 1 << 30).all() and (found.both.number == 1).sum() == 100

# NBD: connections are numbered by each side for itself, and names are never used again.
names = [(at, n << 32, offset) for n, (at, _, offset) in enumerate(starts)]
io, work = both([target(*s, queue=5) for s in names])
nbd = write("nbd", "nbd-target", [("iothread0", tf.IOTHREAD, io), ("worker0.0", tf.WORKER, work)])
_, digest = told(write("client", "dataplane-nbd", [("job", tf.JOB, sum((engine(*s) for s in names), []))]), nbd)
assert digest["both"] == 100

# One side has lost its first half: the requests of the other half are those of both.
io, work = both([target(*s) for s in starts])
half = write("half", "vhost-user-blk-target", [("iothread0", tf.IOTHREAD, io[300:]), ("worker0.0", tf.WORKER, work[100:])])
_, digest = told(here, half)
assert digest["both"] == 50 and digest["engine"] == 100, digest

# More than there is room for: one less than the room is whole, the rest is lost.
lots = [(START + 2000 * n, n % 2, 4096 * n) for n in range(400)]
full = write("full", "dataplane-x", [("job", tf.JOB, sum((engine(*s) for s in lots), []))])
thread = tf.load(full).threads[0]
assert thread.lost == 6 * len(lots) - ROOM + 1 and len(thread.records) == ROOM - 1 and thread.records["time"][-1] == lots[-1][0] + 1005
_, digest = told(full)
assert digest["lost"] == thread.lost and digest["engine"] == ROOM // 6

# A worker whose oldest are lost: what is told begins where all threads are whole.
busy = write("busy", "vhost-user-blk-target", [("iothread0", tf.IOTHREAD, both([target(*s) for s in lots[:170]])[0]),
                                                ("worker0.0", tf.WORKER, [e for s in lots[:170] for e in 8 * target(*s)[1]])])
found, digest = told(busy)
assert digest["lost"] and stage(digest, "worker begins")["requests"] == stage(digest, "all")["requests"] < 170

# Of two jobs one has lost its oldest, the target nothing: what they saw is compared over the time that all have seen.
few = [(at + 3, n % 2, 1 << 30 | offset) for n, (at, _, offset) in enumerate(lots[::4])]
slow = write("slow", "dataplane-x", [("job", tf.JOB, sum((engine(*s) for s in few), []))])
whole = [(f"iothread{i}", tf.IOTHREAD, [(at + t, event, queue << 8, tag, offset, 4096, 0) for at, tag, offset in requests
                                        for t, event in ((300, tf.POP), (310, tf.START), (700, tf.DONE), (710, tf.PUBLISH))])
         for i, (queue, requests) in enumerate(((1, lots), (2, few)))]
_, digest = told(full, slow, write("whole", "vhost-user-blk-target", whole))
load = digest["load"]
assert digest["lost"] and load["engine"]["requests"] == load["target"]["requests"] and load["engine"]["deepest"] == 2, load

# A clock that goes back is said, and gives no negative stage.
crooked = [e if e[1] != tf.SUBMIT else (e[0] - 100, *e[1:]) for s in starts for e in engine(*s)]
assert all(row["min"] >= 0 for row in told(write("crooked", "dataplane-x", [("job", tf.JOB, crooked)]), there)[1]["stages"])


def run(*argv):
    done = subprocess.run([str(SRC / "scripts" / "dataplane"), "trace", *argv], capture_output=True, text=True, check=False)
    return done.returncode, done.stdout, done.stderr


def refused(text, *argv, expected=2):
    status, _, err = run(*argv)
    assert status == expected and err.count("\n") == 1 and text in err, (argv, status, err)


status, out, _ = run(here, there, "--timeline", "2")
assert status == 0 and out.count(": of median lifetime") == 2 and out.count(": the slowest") == 2, out
assert "vhost-user-blk-target worker0.0" in out and "dataplane-x job" in out, out
status, out, _ = run("--csv", here, there)
assert status == 0 and out.splitlines()[0] == "stage,requests,min,median,p99,p99.9,max,share,share_middle,share_p99,share_p99.9", out
assert out.splitlines()[-1].startswith("all,100,1005,1005.0,"), out

(place / "empty").write_bytes(b"")
(place / "text").write_text("hello, world\n" * 100)
refused("not a trace", str(place / "empty"))
refused("not a trace", str(place / "text"))
refused("No such file", str(place / "nothing"))
refused("must be 0 or more", here, "--timeline", "-1")
refused("have nothing in common", here, write("elsewhere", "nbd-target", [("iothread0", tf.IOTHREAD, io)], boot=b"other"))
refused("no request in the trace", write("idle", "nbd-target", [("iothread0", tf.IOTHREAD, [])]))
cut = Path(there).read_bytes()[:-4096]
(place / "cut").write_bytes(cut)
refused("is cut off", str(place / "cut"), expected=3)
newer = bytearray(Path(there).read_bytes())
newer[8] = 2
(place / "newer").write_bytes(newer)
refused("version 2", str(place / "newer"), expected=3)
refused("were they recorded by the same run?", here, write("stranger", "vhost-user-blk-target",
                                                       [("iothread0", tf.IOTHREAD, both([target(s[0], s[1], 7) for s in starts])[0])]))
clean_up()
