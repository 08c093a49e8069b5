# SPDX-License-Identifier: GPL-2.0-only
# agrees.py FIO.JSON CASE TRACE...: the traces of both sides agree with each other and with fio
import json
import sys
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "scripts"))
from dataplane_lib.trace import records as tf, requests, show, stages  # noqa: E402

text = Path(sys.argv[1]).read_text()
job = json.loads(text[text.index("{"):])["jobs"][0]
case, paths = sys.argv[2], sys.argv[3:]
found = requests.load(paths)
told = show.digest(found, *show.of_interest(found))
count = sum(job[k]["total_ios"] for k in ("read", "write", "trim"))
lat = sum(job[k]["lat_ns"]["mean"] * job[k]["total_ios"] for k in ("read", "write", "trim")) / count

# Every request, once, on both sides; the target may have more, of runs before.
assert len(found.engine) == count, (len(found.engine), count)
assert told["both"] == count and told["different"] == 0 and told["wrong"] == 0 and told["lost"] == 0, told
load = told["load"]
assert load["engine"]["requests"] == load["target"]["requests"] == count, load
for key in ("reads", "size"):
    assert abs(load["engine"][key] / load["target"][key] - 1) < 0.01, (key, load)
assert 0 < load["target"]["depth"] <= load["engine"]["depth"] <= load["engine"]["deepest"], load
assert load["engine"]["deepest"] <= int(job["job options"]["iodepth"]), load

# Stages add up, request by request.
times, _ = stages.causal(found.both.times)
parts, life = stages.stages(times)
total = np.zeros(len(life), np.int64)
for _, ns, rows in parts:
    assert (ns >= 0).all()
    total[rows] += ns
assert (total == life).all()
assert (life == times[:, tf.RETURN] - times[:, tf.QUEUE]).all()

# A notification is for the batch before it: it comes before the queue's next one. One file alone says so as well.
for engine, shown, notified in ((True, tf.SUBMIT, tf.KICK), (False, tf.PUBLISH, tf.CALL)):
    alone = requests.load([p for p in paths if ("target" in p) != engine])
    for side in (alone.engine if engine else alone.target), found.both:
        for queue in np.unique(side.queue):
            batch, told_at = side.times[side.queue == queue][:, (shown, notified)].T
            batches = np.append(np.unique(batch), np.iinfo(np.int64).max)
            following = batches[np.searchsorted(batches, batch, "right")]
            assert ((told_at == 0) | (batch <= told_at) & (told_at < following)).all(), (case, notified)

# fio begins before queue() and ends behind getevents(): its latency is ours and a little more. A thread that loses its
# CPU in between adds much to a few, so that "a little" is said of the middle (whose buckets are 3 % wide).
mean, middle = float(life.mean()), float(np.median(life[found.both.kind == 0]))
p50 = job["read"]["lat_ns"]["percentile"]["50.000000"]
assert mean <= lat * 1.001 + 100, (case, mean, lat)
assert middle * 0.96 - 100 <= p50 <= middle * 1.25 + 3000, (case, middle, p50)

names = {row["stage"]: row for row in told["stages"]}
for need in ("submitted", "taken by the target", "given to the backend", "completed", "published",
             "seen by the engine", "returned to fio"):
    assert names[need]["requests"] == count, (need, names)
if case.startswith("block off"):
    # NBD has no kicks and calls of its own: they are what sending does.
    # The target slept before the first one; an engine that loses its CPU may find all completions there.
    for stage in ("target woken", *(() if found.files[0].is_nbd else ("kicked",))):
        assert stage in names, (stage, names)
if case.startswith("block off file"):
    assert names["worker begins"]["requests"] == count and names["worker done"]["requests"] == count, names
assert abs(sum(row["share"] for row in told["stages"][:-1]) - 100) < 0.01
