# SPDX-License-Identifier: GPL-2.0-only
"""From events to requests: each side's own, and those of both sides found to be the same."""

from dataclasses import dataclass, field

import numpy as np

from . import records as tf
from ..errors import Refused

_ENGINE = (tf.QUEUE, tf.SEEN)
_TARGET = (tf.POP, tf.START, tf.WORK, tf.WORKED, tf.DONE)
# What may be missing, and counts only where it came in time to matter: a polling side needs no notification.
OPTIONAL = (tf.KICK, tf.WOKEN, tf.CALL, tf.AWAKE)
# Which target's queue is an engine's is told by so many requests.
_SAMPLE = 3000


@dataclass
class Requests:
    """Requests of one side, or of both: TIMES has a column for each event, 0 where it was not seen; WHO the thread."""
    times: np.ndarray
    who: np.ndarray
    offset: np.ndarray
    bytes: np.ndarray
    kind: np.ndarray
    queue: np.ndarray
    tag: np.ndarray
    number: np.ndarray      # of the file
    since: int = 0          # the time from which no file of the side has lost any

    def __len__(self):
        return len(self.tag)

    def pick(self, index):
        """Those that INDEX, an array, names."""
        return Requests(*(getattr(self, n)[index] for n in ("times", "who", "offset", "bytes", "kind", "queue", "tag", "number")))


@dataclass
class Traces:
    """What a set of files tells. THREADS are names, by number, and PLACES their (pid, tid); BOTH are the requests that both sides have seen."""
    files: list
    engine: Requests
    target: Requests
    both: Requests = None
    threads: list = field(default_factory=list)
    places: list = field(default_factory=list)
    different: int = 0      # same name at the same time, but not the same request

    @property
    def lost(self):
        return sum(f.lost for f in self.files)


def load(paths):
    """Read the files and put requests together."""
    files = [tf.load(p) for p in paths]
    _check(files)
    threads, places, sides = [], [], {True: [], False: []}
    alone = len({t.role == tf.JOB for f in files for t in f.threads}) == 1
    for number, file in enumerate(files):
        for engine in (True, False):
            mine = [t for t in file.threads if (t.role == tf.JOB) == engine]
            if mine:
                first = len(threads)
                threads += [f"{file.program} {t.name}" for t in mine]
                places += [(file.pid, t.tid) for t in mine]
                sides[engine].append(_side(mine, first, number, engine, alone))
    out = Traces(files, _join(sides[True]), _join(sides[False]), threads=threads, places=places)
    if len(out.engine) and len(out.target):
        _match(out)
    return out


def _check(files):
    if len({f.boot for f in files}) > 1:
        hosts = ", ".join(f"{f.path} ({f.host})" for f in files)
        raise Refused(f"{hosts}: are of different machines or boots, and their clocks have nothing in common")
    if not any(len(t.records) for f in files for t in f.threads):
        raise Refused(f"{', '.join(f.path for f in files)}: no request in the trace")


def _blank(n):
    return Requests(np.zeros((n, tf.EVENTS), np.int64), np.full((n, tf.EVENTS), -1, np.int16), np.zeros(n, np.int64),
                    np.zeros(n, np.int64), np.full(n, -1, np.int8), np.zeros(n, np.int64), np.zeros(n, np.uint64), np.zeros(n, np.int32))


def _side(threads, first_thread, number, engine, alone):
    """Requests of one side of a file, ALONE where no file has the other: from where no thread's records are lost."""
    start = max((int(t.records["time"][0]) for t in threads if t.lost and len(t.records)), default=0)
    every = np.concatenate([t.records for t in threads])
    who = np.concatenate([np.full(len(t.records), first_thread + i, np.int16) for i, t in enumerate(threads)])
    keep = every["time"] >= start
    every, who = every[keep], who[keep]
    own = np.isin(every["event"], _ENGINE if engine else _TARGET)
    found = _own(every[own], who[own], number, engine)
    batch, by = every[~own], who[~own]
    order = np.argsort(batch["time"], kind="stable")
    batch, by = batch[order], by[order]
    _batches(found, batch, by, engine, alone)
    found.since = start
    return found


def _own(rows, who, number, engine):
    """Requests from the events that bear their names."""
    order = np.lexsort((rows["event"], rows["time"], rows["tag"], rows["queue"]))
    rows, who = rows[order], who[order]
    begins = rows["event"] == (tf.QUEUE if engine else tf.POP)
    same = np.ones(len(rows), bool)
    same[1:] = (rows["tag"][1:] == rows["tag"][:-1]) & (rows["queue"][1:] == rows["queue"][:-1])
    group = np.cumsum(~same)
    which = np.cumsum(begins) - 1
    starts = np.flatnonzero(begins)
    known = which >= 0
    if len(starts):
        known &= group == group[starts[np.maximum(which, 0)]]
    out = _blank(len(starts))
    for event in np.unique(rows["event"]):
        index = np.flatnonzero(known & (rows["event"] == event))
        if event != tf.WORKED:
            index = index[::-1]     # of several, as ranges of a discard have, the first
        out.times[which[index], event] = rows["time"][index]
        out.who[which[index], event] = who[index]
        if event in (tf.QUEUE, tf.START):
            for name in ("offset", "bytes", "kind"):
                getattr(out, name)[which[index]] = rows[name][index]
    out.queue[:], out.tag[:], out.number[:] = rows["queue"][starts], rows["tag"][starts], number
    whole = out.times[:, tf.SEEN if engine else tf.DONE] > 0
    return out.pick(np.flatnonzero(whole))


def _following(times, after):
    """(index of the first of TIMES at or after each of AFTER, is there one?)"""
    index = np.searchsorted(times, after, "left")
    there = index < len(times)
    return np.where(there, index, 0), there


def _batches(found, batch, by, engine, alone):
    """Give requests the events of their batches; BATCH is in order."""
    shown, told, begin = (tf.SUBMIT, tf.KICK, tf.QUEUE) if engine else (tf.PUBLISH, tf.CALL, tf.DONE)
    for queue in np.unique(found.queue):
        mine = np.flatnonzero(found.queue == queue)
        rows = np.flatnonzero((batch["queue"] == queue) & (batch["event"] == shown))
        if not len(rows):
            continue
        times = batch["time"][rows].astype(np.int64)
        index, there = _following(times, found.times[mine, begin])
        mine, index = mine[there], index[there]
        _set(found, mine, shown, times[index], by[rows[index]])
        which = _notifications(rows, np.flatnonzero((batch["queue"] == queue) & (batch["event"] == told)))[index]
        mine, which = mine[which >= 0], which[which >= 0]
        _set(found, mine, told, batch["time"][which], by[which])
    if engine:
        rows = np.flatnonzero(batch["event"] == tf.RETURN)
        if len(rows):
            times = batch["time"][rows].astype(np.int64)
            index, there = _following(times, found.times[:, tf.SEEN])
            _set(found, np.flatnonzero(there), tf.RETURN, times[index[there]], by[rows[index[there]]])
        _wake(found, np.arange(len(found)), (tf.AWAKE, tf.SEEN, tf.RETURN), batch, by, alone)
        return
    for queue in np.unique(found.queue):
        here = batch["queue"] == queue
        _wake(found, np.flatnonzero(found.queue == queue), (tf.WOKEN, tf.POP, tf.PUBLISH), batch[here], by[here], alone)


def _notifications(shown, told):
    """Of each batch, SHOWN, the number of its notification among TOLD, all by number of the event; -1 of one without.

    It is the first between the batch and the next one, written at once or, where it was put off, when nothing more was to be done.
    """
    which = np.full(len(shown), -1)
    of = np.searchsorted(shown, told) - 1
    known = of >= 0
    which[of[known][::-1]] = told[known][::-1]
    return which


def _wake(found, mine, events, batch, by, alone):
    """The last wake-up before MINE were taken; what came before its cause is sorted out later (trace_stages.causal()).

    The cause is in the other side's file. Without one (ALONE) those are left that were taken at once: EVENTS are the
    wake-up, the taking, and what ends the round of work that a wake-up begins.
    """
    event, taken, end = events
    rows = np.flatnonzero(batch["event"] == event)
    times = batch["time"][rows].astype(np.int64)
    when = found.times[mine, taken]
    index = np.searchsorted(times, when, "right") - 1
    there = index >= 0
    if alone and len(rows):
        ends = batch["time"][batch["event"] == end].astype(np.int64)
        there &= np.searchsorted(ends, times[index], "right") == np.searchsorted(ends, when, "left")
    _set(found, mine[there], event, times[index[there]], by[rows[index[there]]])


def _set(found, rows, event, times, who):
    found.times[rows, event] = times
    found.who[rows, event] = who


def _join(sides):
    """Requests of several files in one."""
    all_of = sides or [_blank(0)]
    out = Requests(*(np.concatenate([getattr(r, n) for r in all_of])
                     for n in ("times", "who", "offset", "bytes", "kind", "queue", "tag", "number")))
    out.since = max(r.since for r in all_of)
    return out


def _match(out):
    """Find requests that both sides have: the same name, and the target's part of its life inside the engine's."""
    pairs = []
    for number in np.unique(out.engine.number):
        for queue in np.unique(out.engine.queue[out.engine.number == number]):
            mine = np.flatnonzero((out.engine.number == number) & (out.engine.queue == queue))
            theirs = _partner(out, mine, queue, out.files[number].is_nbd)
            if theirs is not None:
                pairs.append(_pairs(out, mine, theirs))
    if not pairs:
        return
    ours, theirs = (np.concatenate(p) for p in zip(*pairs))
    good = _agree(out, ours, theirs)
    out.different = int(np.sum(~good))
    ours, theirs = ours[good], theirs[good]
    both, other = out.engine.pick(ours), out.target.pick(theirs)
    columns = [tf.WOKEN, tf.POP, tf.START, tf.WORK, tf.WORKED, tf.DONE, tf.PUBLISH, tf.CALL]
    both.times[:, columns], both.who[:, columns] = other.times[:, columns], other.who[:, columns]
    out.both = both


def _partner(out, mine, queue, nbd):
    """The target's requests of the queue that most of MINE went through; numbers of queues are the same in a virtio pair only."""
    best, most = None, 0
    sample = mine[-_SAMPLE:]
    for number in np.unique(out.target.number):
        if out.files[number].is_nbd != nbd:
            continue
        for other in np.unique(out.target.queue[out.target.number == number]):
            if not nbd and other % 256 != queue:
                continue
            theirs = np.flatnonzero((out.target.number == number) & (out.target.queue == other))
            ours, found = _pairs(out, sample, theirs)
            agreed = int(np.sum(_agree(out, ours, found)))
            if agreed > most:
                best, most = theirs, agreed
    return best


def _pairs(out, mine, theirs):
    """(engine's, target's) numbers of requests: of one name they alternate."""
    tags = np.concatenate([out.engine.tag[mine], out.target.tag[theirs]])
    times = np.concatenate([out.engine.times[mine, tf.QUEUE], out.target.times[theirs, tf.POP]])
    ours = np.concatenate([np.ones(len(mine), bool), np.zeros(len(theirs), bool)])
    index = np.concatenate([mine, theirs])
    order = np.lexsort((~ours, times, tags))
    a, b = order[:-1], order[1:]
    pair = ours[a] & ~ours[b] & (tags[a] == tags[b])
    left, right = index[a[pair]], index[b[pair]]
    inside = out.target.times[right, tf.DONE] <= out.engine.times[left, tf.SEEN]
    return left[inside], right[inside]


def _agree(out, ours, theirs):
    """Whether the two are the same request; one that got no further than the target's checks has no more than its name."""
    known = out.target.times[theirs, tf.START] > 0
    same = np.ones(len(ours), bool)
    for name in ("offset", "kind"):
        same &= getattr(out.engine, name)[ours] == getattr(out.target, name)[theirs]
    return same | ~known
