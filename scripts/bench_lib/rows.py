# SPDX-License-Identifier: GPL-2.0-only
"""The rows of the table: what runs, and the bar it is held against."""

from dataclasses import dataclass

BATCH = ("--iodepth_batch_submit=16", "--iodepth_batch_complete_min=16", "--iodepth_batch_complete_max=32")
NULL = "--poll busy --backend null --size 1G"


@dataclass(frozen=True)
class Row:
    """One path.

    fio's ENGINE is one of this project's, "stock-nbd" (fio's own nbd) or "spdk" (SPDK's plugin); FIO are more
    of its options. TARGET is the command of one of this project's targets, SERVER names a peer in servers.py
    that serves in its place. BAR is (text, function of the medians) or None. CPU rows have the CPU time that
    fio spends an I/O instead of the time it takes; SPREAD ones have both CPUs for either side.
    """
    name: str
    title: str
    engine: str
    fio: tuple
    target: tuple = ()
    server: str = ""
    bar: tuple = None
    cpu: bool = False
    spread: bool = False


def depth(n, *more):
    """Options for N requests in flight."""
    return (f"--iodepth={n}", *more)


def over_noop(noop, share):
    """The bar of a path that may cost SHARE round trips beside fio itself."""
    return f"{noop} + {share} RTT", lambda m: m[noop] + share * m["rtt"]


def times(other, share):
    """The bar of a path that may cost SHARE times what another does."""
    return f"{share} x {other}", lambda m: share * m[other]


def rows(spdk):
    """The table, in its order; with SPDK those that SPDK's programs take part in."""
    return _noop() + _virtio() + _idle() + _nbd() + (_spdk() if spdk else [])


def _noop():
    return [Row(f"noop-{n}", f"noop, {what}", "noop", options) for n, what, options in (
        ("qd1", "depth 1", depth(1)), ("qd32", "depth 32", depth(32)), ("batch", "batches of 16, depth 32", depth(32, *BATCH)))]


def _embedded(backend):
    return f"--target=--poll busy {backend}"


def _vhost(*options):
    return ("vhost-user-blk-target", *NULL.split(), *options)


def _virtio():
    null = _embedded("--backend null --size 1G")
    ram = _embedded("--backend ram --size 256M")
    polls, out = "--wait_mode=poll", []
    for name, title, options, noop, share in (
            ("qd1", "depth 1", depth(1), "noop-qd1", 1.8), ("qd32", "depth 32", depth(32), "noop-qd32", 0.5),
            ("qd128", "depth 128", depth(128), "noop-qd32", 0.5), ("batch", "batches of 16", depth(32, *BATCH), "noop-batch", 0.2)):
        out.append(Row(f"poll-{name}", f"virtio-poll, {title}", "virtio-poll", (*options, null), bar=over_noop(noop, share)))
    for name, n in (("qd1", 1), ("qd32", 32)):
        out.append(Row(f"packed-{name}", f"the same, packed ring, depth {n}", "virtio-poll", (*depth(n), null, "--packed=1"),
                       bar=times(f"poll-{name}", 1.03)))
        out.append(Row(f"vhost-{name}", f"vhost-user-blk, depth {n}", "vhost-user-blk", (*depth(n), polls), _vhost(),
                       bar=times(f"poll-{name}", 1.03)))
    out.append(Row("ram-qd32", "virtio-poll, ram, depth 32", "virtio-poll", (*depth(32), ram)))
    out.append(Row("ram-128k", "virtio-poll, ram, 128 KiB, depth 8", "virtio-poll", (*depth(8), ram, "--bs=128k"),
                   bar=("memcpy / 0.95", lambda m: m["memcpy"] / 0.95)))
    many = depth(8, "--numjobs=64", "--group_reporting")
    served = ("vhost-user-blk-target", "--poll", "off", *NULL.split()[2:], "--num-queues", "64")
    out.append(Row("jobs-block", "vhost-user-blk, 64 jobs at depth 8, block", "vhost-user-blk", many, served, spread=True))
    out.append(Row("jobs-poll", "the same, poll", "vhost-user-blk", (*many, polls), served, bar=times("jobs-block", 1.05), spread=True))
    return out


def _idle():
    return [Row(f"idle-{idle}", f"vhost-user-blk, depth 1, {idle} idle queues beside", "vhost-user-blk",
                (*depth(1), "--wait_mode=poll", f"--num_queues={idle + 1}"), _vhost("--num-queues", "256"), bar=times("vhost-qd1", share))
            for idle, share in ((64, 1.2), (250, 1.5))]


def _nbd():
    ours, polls = ("nbd-target", *NULL.split()), "--wait_mode=poll"
    out = [Row("stock-qd1", "stock nbd engine on nbdkit, depth 1", "stock-nbd", depth(1), server="nbdkit"),
           Row("stock-qd32", "the same, depth 32", "stock-nbd", depth(32), server="nbdkit"),
           Row("nbd-qd1", "nbd, depth 1", "nbd", (*depth(1), polls), ours, bar=("ping-pong / 0.9", lambda m: m["ping-pong"] / 0.9)),
           Row("nbd-qd32", "nbd, depth 32", "nbd", (*depth(32), polls), ours, bar=("stock-qd32 / 9", lambda m: m["stock-qd32"] / 9))]
    for server, share in (("nbdkit", 0.45), ("qemu-nbd", 0.6)):
        out.append(Row(f"cpu-stock-{server}", f"fio's CPU an I/O: stock nbd engine on {server}, depth 32", "stock-nbd", depth(32),
                       server=server, cpu=True))
        out.append(Row(f"cpu-nbd-{server}", f"the same, nbd.so on {server}", "nbd", depth(32), server=server,
                       bar=times(f"cpu-stock-{server}", share), cpu=True))
    return out


def _spdk():
    ours = "--wait_mode=poll"
    return [Row("spdk-qd1", "SPDK's plugin on its vhost, null, depth 1", "spdk", depth(1), server="spdk-null"),
            Row("spdk-qd32", "the same, depth 32", "spdk", depth(32), server="spdk-null"),
            Row("spdk-batch", "the same, batches of 16", "spdk", depth(32, *BATCH), server="spdk-null"),
            Row("spdk-malloc", "the same, malloc, depth 32", "spdk", depth(32), server="spdk-malloc"),
            Row("vs-spdk-qd1", "ours on ours, depth 1", "vhost-user-blk", depth(1, ours), _vhost(), bar=times("spdk-qd1", 0.6)),
            Row("vs-spdk-qd32", "ours on ours, depth 32", "vhost-user-blk", depth(32, ours), _vhost(), bar=times("spdk-qd32", 0.7)),
            Row("vs-spdk-batch", "ours on ours, batches of 16", "vhost-user-blk", depth(32, ours, *BATCH), _vhost(),
                bar=times("spdk-batch", 0.5)),
            Row("vs-spdk-ram", "ours on ours, ram, depth 32", "vhost-user-blk", depth(32, ours),
                ("vhost-user-blk-target", "--poll", "busy", "--backend", "ram", "--size", "256M"), bar=times("spdk-malloc", 0.7)),
            Row("on-spdk-qd1", "our engine on SPDK's vhost, depth 1", "vhost-user-blk", depth(1, ours, "--hugepages=1"), server="spdk-null",
                bar=times("spdk-qd1", 0.75)),
            Row("on-spdk-qd32", "our engine on SPDK's vhost, depth 32", "vhost-user-blk", depth(32, ours, "--hugepages=1"), server="spdk-null",
                bar=times("spdk-qd32", 0.75))]
