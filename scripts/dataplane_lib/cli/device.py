# SPDX-License-Identifier: GPL-2.0-only
"""dataplane device: a dozen short runs on a disk, and the --target that behaves like it."""

import shlex
import statistics
import sys
from pathlib import Path

from .. import files, units
from . import for_json
from ..host import system
from ..errors import Faults, Refused

# A device whose first and last run differ by more than this share is not steady.
_STEADY = 0.10
_AIM_IOPS, _AIM_P99 = 0.10, 0.15


def add(command):
    """Add device to the command line; COMMAND(name, text, run) makes a parser."""
    sub = command("device", "measure a disk, and print the --target that behaves like it", _run)
    sub.add_argument("device", metavar="PATH", help="a block device or a file; also the socket of a vhost-user device, or the URI of an NBD server")
    sub.add_argument("--write-ok", action="store_true", help="measure writes too, which OVERWRITES what is at PATH (default: it is only read)")
    sub.add_argument("--runtime", default="1", metavar="S", help="time measured in a run, in s, or such as 500ms (default: %(default)s)")
    for_json.add(sub)
    sub.add_argument("--out", metavar="DIR", help="directory of what was measured (default: results/DATE-device-NAME)")


def _run(args):
    with for_json.delivered(args, "device") as data:
        data.update(_measured(args))


def _measured(args):
    """Measure, and tell; returns what device.json has."""
    from ..run import device_run  # numpy takes a while, and other commands have no need of it
    from ..stats import device_fit
    system.require_modules()
    faults = Faults()
    seconds = faults.check(units.seconds, args.runtime, "--runtime")
    device = faults.check(device_run.Device, args.device)
    if seconds is not None and seconds < 0.1:
        faults.add(f"--runtime={args.runtime}: must be 0.1 s or more")
    faults.raise_any()
    grid = [(size, depth, False) for size, depth in device_run.READS] + [(size, depth, True) for size, depth in device_run.WRITES if args.write_ok]
    place = files.result_directory(f"device-{_name(args.device)}", args.out)
    _say(f"{device.kind} {args.device}: {2 * len(grid) + 1} runs of {1.25 * seconds:.1f} s, "
         f"{'which overwrite it' if args.write_ok else 'reading only'}: about {units.duration((2 * len(grid) + 1) * (1.25 * seconds + 0.5))}")
    points = [device_run.measure(device.arguments, *each, seconds, args.device) for each in grid]
    again = device_run.measure(device.arguments, *grid[0], seconds, args.device)
    model = device_fit.fit(points)
    options = _options(model, place, device.size)
    own = [device_run.measure(device_run.target_like(options), *each, seconds, "the target") for each in grid]
    return _tell(device, points, again, own, model, options, place)


def _name(text):
    return "".join(c if c.isalnum() or c in "._-" else "-" for c in Path(text).name) or "disk"


def _say(text):
    print(f"dataplane: {text}", file=sys.stderr, flush=True)


def _options(model, place, size):
    """The target's options that MODEL stands for; times that follow no simple law are in a file in PLACE."""
    out = ["--backend null", *([f"--size {size // 512 * 512}"] if size else [])]
    for option, service, name in (("delay", model.reads, "reads"), ("delay-write", model.writes, "writes")):
        if service:
            out.append(f"--{option} {_delay(service, place / f'delay-{name}.txt')}")
    for option, service in (("delay-bw", model.reads), ("delay-write-bw", model.writes)):
        if service and service.per_byte:
            out.append(f"--{option} {round(1e9 / service.per_byte)}")
    for option, value in (("device-parallel", model.parallel), ("device-iops", model.iops), ("device-bw", model.bandwidth)):
        if value:
            out.append(f"--{option} {max(1, round(value))}")
    return " ".join(out)


def _delay(service, path):
    """What --delay says of SERVICE: a law where one fits, else the file PATH, which is written."""
    from ..stats import device_fit
    found = device_fit.family(service.quantiles)
    if found is None:
        if any(c.isspace() for c in str(path)):
            raise Refused(f"--out {path.parent}: a path without blanks is needed, as it becomes part of a target's options")
        files.write_bytes(path, "".join(f"{round(ns)}ns\n" for ns in service.quantiles).encode())
        return f"file:{path}"
    name, values = found
    texts = [f"{round(values[0])}ns", *(f"{v:.3f}" if name == "lognormal" else f"{round(v)}ns" for v in values[1:])]
    return f"{name}:{','.join(texts)}"


def _tell(device, points, again, own, model, options, place):
    """Print what was measured and what it comes to, keep it in PLACE, and return what is kept."""
    from ..report import table, terminal
    rows, ratios = [], []
    for seen, ours in zip(points, own):
        iops, p99 = ours.iops / seen.iops, ours.percentile(99) / seen.percentile(99)
        ratios.append((iops, p99))
        rows.append(["write" if seen.write else "read", f"{seen.size >> 10}k", str(seen.depth), units.short(seen.iops), units.time(seen.percentile(50)),
                     units.time(seen.percentile(99)), units.percent(100 * (iops - 1)), units.percent(100 * (p99 - 1))])
    kept = {
        "device": device.text, "kind": device.kind, "size": device.size, "target": options, "host": system.facts(),
        "points": [{"size": p.size, "depth": p.depth, "write": p.write, "iops": p.iops, "bins": {str(k): v for k, v in p.histogram.items()},
                    "target_iops": o.iops, "target_p99_ns": o.percentile(99), "p99_ns": p.percentile(99)} for p, o in zip(points, own)]}
    files.write_json(place / "device.json", kept)
    one = table.Table(["", "block", "iodepth", "IOPS", "p50", "p99", "target's IOPS", "target's p99"], rows,
                      note="The last two columns are how far off the target is that is printed below.")
    print("\n".join([*terminal.lines(one), ""]))
    sentences = list(_sentences(device, points[0], again, model, ratios))
    for text in sentences:
        print("\n".join(terminal.wrapped(text, "* ")))
    print(f"\n--target {shlex.quote(options)}\n\nkept in {place}")
    return {**kept, "sentences": sentences, "directory": str(place)}


def _sentences(device, first, again, model, ratios):
    """What the figures come to."""
    for note in device.notes:
        yield f"{note}."
    yield (f"A read of {first.size >> 10} KiB alone takes {units.time(first.percentile(50))} (p50), {units.time(first.percentile(99))} (p99)"
           + (f", and {units.time(1024 * model.reads.per_byte)} more for each KiB" if model.reads.per_byte else "") + ".")
    limits = [text for value, text in ((model.parallel, f"{model.parallel} requests at once"), (model.iops, f"{units.short(model.iops)} requests a second"),
                                       (model.bandwidth, f"{units.short(model.bandwidth)} bytes a second")) if value]
    yield f"Most it does: {', '.join(limits)}." if limits else "No ceiling was found at these depths."
    off = [[abs(each[n] - 1) for each in ratios] for n in (0, 1)]
    yield (f"Error of the target over {len(ratios)} points: IOPS {100 * statistics.median(off[0]):.0f} % (median), {100 * max(off[0]):.0f} % at worst; "
           f"p99 {100 * statistics.median(off[1]):.0f} %, {100 * max(off[1]):.0f} % at worst.")
    moved = abs(again.iops / first.iops - 1)
    if moved > _STEADY:
        yield (f"The device is not steady: the first point, measured again at the end, had {units.percent(100 * (again.iops / first.iops - 1))} IOPS. "
               "No target follows it more closely than that.")
    elif statistics.median(off[0]) > _AIM_IOPS or statistics.median(off[1]) > _AIM_P99:
        yield f"The device is steady, but the target is not within {100 * _AIM_IOPS:.0f} % of its IOPS and {100 * _AIM_P99:.0f} % of its p99: a busy host, or no device that these options can be."
