#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only
"""A client whose ring is malformed is dropped with a line that says why."""

import bench
from vhost_user_client import FEATURES, INDIRECT, NEXT, WRITE


class Chains(bench.BadClientTest):
    def bad_chain(self, why, *descs, head=0, **options):
        """A chain of (data offset, length, flags, next) from descriptor 0 on."""
        with self.dropped(rf"client \d+ dropped: {why}$", **options) as d:
            for i, (offset, length, flags, following) in enumerate(descs):
                d.ring.desc(i, d.ring.guest(offset), length, flags, following)
            d.ring.post(head)

    def bad_table(self, why, *entries, length=None):
        with self.dropped(rf"client \d+ dropped: {why}$") as d:
            d.ring.table(0, [(d.ring.guest(e[0]), *e[1:]) for e in entries])
            size = 16 * len(entries) if length is None else length
            d.ring.desc(0, d.ring.guest(0), size, INDIRECT)
            d.ring.post(0)

    RANGE = "a descriptor or ring index is out of range"
    LOOP = "a descriptor chain loops"
    FAULT = "an address lies outside the shared memory"
    MALFORMED = "a descriptor is malformed"

    def test_loop(self):
        self.bad_chain(self.LOOP, (512, 16, NEXT, 1), (512, 16, NEXT, 0))

    def test_loop_of_one(self):
        self.bad_chain(self.LOOP, (512, 16, NEXT, 0))

    def test_head_outside_the_queue(self):
        self.bad_chain(self.RANGE, head=16)

    def test_head_far_outside_the_queue(self):
        self.bad_chain(self.RANGE, head=65535)

    def test_next_outside_the_queue(self):
        self.bad_chain(self.RANGE, (512, 16, NEXT, 16))

    def test_empty_segment(self):
        self.bad_chain(self.MALFORMED, (512, 0, 0, 0))

    def test_wrong_direction(self):
        self.bad_chain(self.MALFORMED, (512, 1, WRITE | NEXT, 1), (512, 16, 0, 0))

    def test_address_outside_memory(self):
        self.bad_chain(self.FAULT, (1 << 30, 16, 0, 0))

    def test_segment_past_the_end(self):
        self.bad_chain(self.FAULT, (512, 1 << 20, 0, 0))

    def test_segment_of_4_gib(self):
        self.bad_chain(self.FAULT, (512, 0xFFFFFFFF, WRITE, 0))

    def test_no_status(self):
        self.bad_chain("a request has no room for its status", (512, 16, 0, 0))

    def test_indirect_not_negotiated(self):
        self.bad_chain(self.MALFORMED, (512, 16, INDIRECT, 0), features=FEATURES)

    def test_indirect_with_next(self):
        self.bad_chain(self.MALFORMED, (512, 16, INDIRECT | NEXT, 1), (512, 16, 0, 0))

    def test_table_in_a_table(self):
        self.bad_table(self.MALFORMED, (512, 16, NEXT, 1), (0, 16, INDIRECT, 0))

    def test_table_of_odd_length(self):
        self.bad_table(self.MALFORMED, (512, 16, 0, 0), length=24)

    def test_empty_table(self):
        self.bad_table(self.MALFORMED, (512, 16, 0, 0), length=0)

    def test_table_past_the_end(self):
        self.bad_table(self.FAULT, (512, 16, 0, 0), length=1 << 20)

    def test_loop_in_a_table(self):
        self.bad_table(self.LOOP, (512, 16, NEXT, 1), (512, 16, NEXT, 0))

    def test_next_outside_the_table(self):
        self.bad_table(self.RANGE, (512, 16, NEXT, 1))

    def test_too_many_segments(self):
        self.bad_table("a request has too many segments",
                       *((8192, 512, NEXT, i + 1) for i in range(200)), (8192, 1, WRITE, 0))

    def test_index_jumps(self):
        with self.dropped(self.RANGE) as d:
            d.ring.post(0, count=17)

    def test_index_goes_back(self):
        with self.dropped(self.RANGE) as d:
            d.ring.post(0, count=65535)

    def test_good_ones_before_it_are_returned(self):
        with self.dropped(self.LOOP) as d:
            d.ring.request(0, 0, 512, slot=1, kick=False)
            d.ring.request(0, 8, 512, slot=2, kick=False)
            d.ring.desc(0, d.ring.guest(0), 16, NEXT, 0)
            d.ring.post(0)
            self.assertEqual([d.ring.wait(), d.ring.wait()], [3, 6])


class ChainsDelayed(Chains):
    """The same where requests are set aside for a while."""

    options = ("--delay", "fixed:2ms", "--iothreads", "2")

    # What was taken before the ring broke may be dropped with the client.
    test_good_ones_before_it_are_returned = None


class ChainsPolled(Chains):
    options = ("--poll", "busy")


if __name__ == "__main__":
    bench.main()
