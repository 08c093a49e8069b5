#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only
"""The simulation of queues and iothreads keeps to what can be known without it: one thread's rate, the ceiling, the CPUs, a round trip."""

import sys
from dataclasses import replace
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2] / "scripts"))

from dataplane_lib.stats.scale import Costs, Shape, predict  # noqa: E402

COSTS = Costs(driver=200.0, device=50.0, rtt=100.0, notify=1000.0, wakeup=5000.0)
PLENTY = 64


def near(found, wanted, what):
    assert abs(found / wanted - 1) < 0.05, f"{what}: {found:.0f}, not {wanted:.0f}"


# At depth 1 nothing overlaps: both sides' CPU and a round trip.
near(predict(Shape(1, 1, 1, 2), COSTS).iops, 1e9 / (200 + 50 + 100), "depth 1")
# Sleepers add the waker's and the sleeper's time on each side.
asleep = replace(Shape(1, 1, 1, 2), driver_polls=False, device_polls=False)
near(predict(asleep, COSTS).iops, 1e9 / (200 + 50 + 100 + 2 * 5000), "depth 1, asleep")
# One queue is as fast as its driver, eight as their iothread, or as eight drivers with iothreads enough.
one = predict(Shape(1, 1, 256, PLENTY), COSTS)
near(one.iops, 1e9 / 200, "one queue")
assert one.limit() == "drivers", one
served = predict(Shape(8, 1, 256, PLENTY), COSTS)
near(served.iops, 1e9 / 50, "eight queues, one iothread")
assert served.limit() == "iothreads", served
near(predict(Shape(8, 8, 256, PLENTY), COSTS).iops, 8e9 / 200, "eight queues, eight iothreads")
# A ceiling belongs to the device, whatever serves it; merging lifts it.
for iothreads in (1, 4):
    ceiling = predict(Shape(8, iothreads, 32, PLENTY, iops=150000), COSTS)
    near(ceiling.iops, 150000, f"ceiling, {iothreads} iothreads")
    assert ceiling.limit() == "device ceiling", ceiling
near(predict(Shape(1, 1, 256, PLENTY, iops=150000, merge=8), COSTS).iops, 8 * 150000, "merged")
# Two CPUs do no more than their work allows, and lose by switching.
few = predict(Shape(8, 2, 32, 2), COSTS)
assert few.iops < 2e9 / 250 and few.limit() == "CPUs", few
# A slow iothread is shared by more of them.
slow = replace(COSTS, device=2000.0)
near(predict(Shape(8, 1, 32, PLENTY), slow).iops, 1e9 / 2000, "slow iothread")
near(predict(Shape(8, 4, 32, PLENTY), slow).iops, 4e9 / 2000, "four slow iothreads")
# Any service time holds I/Os, not CPUs.
near(predict(Shape(1, 1, 32, 2, service=1e6), COSTS).iops, 32e9 / (1e6 + 32 * 250), "service time")
