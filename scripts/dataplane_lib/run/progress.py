# SPDX-License-Identifier: GPL-2.0-only
"""What runs now and how long it will still take."""

import shutil
import sys
import time

from .. import units


class Progress:
    """One line rewritten on a terminal, else one line a run."""

    def __init__(self, total, guess, stream=None):
        self.total = total
        self.guess = guess
        self.stream = stream or sys.stderr
        self.tty = self.stream.isatty()
        self.done = 0
        self.start = time.monotonic()
        self.last = ""

    def left(self):
        """Seconds still to go, from the runs done so far."""
        each = (time.monotonic() - self.start) / self.done if self.done else self.guess
        return each * (self.total - self.done)

    def begin(self, slot):
        """A run starts."""
        what = "warm-up" if slot.warmup else f"repeat {slot.repeat}"
        text = (f"[{self.done + 1}/{self.total}] {slot.arm.name}, {what}, "
                f"{units.duration(self.left())} left")
        if self.tty:
            width = shutil.get_terminal_size().columns - 1
            self.stream.write(f"\r\x1b[K{(text + self.last)[:width]}")
        else:
            self.stream.write(text + "\n")
        self.stream.flush()

    def end(self, text):
        """The run is over; TEXT says what it gave."""
        self.done += 1
        self.last = f"  (last: {text})"

    def close(self):
        """Leave the terminal's line free."""
        if self.tty:
            self.stream.write("\r\x1b[K")
            self.stream.flush()
