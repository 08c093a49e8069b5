# SPDX-License-Identifier: GPL-2.0-only
"""What runs now and how long it will still take."""

import sys
import time

from rich.console import Console
from rich.progress import BarColumn, Progress as Bar, TextColumn

from .. import units

# Where nobody watches, so many lines say how far it is.
_LINES = 10


class Progress:
    """A bar on a terminal; elsewhere some ten lines without control characters."""

    def __init__(self, total, guess, stream=None):
        self.total = total
        self.guess = guess
        self.stream = stream or sys.stderr
        self.done = self._told = 0
        self.start = time.monotonic()
        self._bar = self._task = None
        if self.stream.isatty():
            columns = TextColumn("[{task.completed:.0f}/{task.total:.0f}]"), BarColumn(20), TextColumn("{task.description}", markup=False)
            self._bar = Bar(*columns, console=Console(file=self.stream), transient=True)
            self._task = self._bar.add_task("", total=total)
            self._bar.start()

    def left(self):
        """Seconds still to go, from the runs done so far."""
        each = (time.monotonic() - self.start) / self.done if self.done else self.guess
        return each * (self.total - self.done)

    def begin(self, slot):
        """A run starts."""
        what = "warm-up" if slot.warmup else f"repeat {slot.repeat}"
        text = f"{slot.arm.name}, {what}, {units.duration(self.left())} left"
        if self._bar:
            self._bar.update(self._task, description=text, completed=self.done, total=self.total)
        elif self.done == 0 or (self.done - self._told) * _LINES >= self.total:
            self._told = self.done
            self.stream.write(f"[{self.done + 1}/{self.total}] {text}\n")
            self.stream.flush()

    def say(self, text):
        """A line that stays."""
        if self._bar:
            self._bar.console.print(text, markup=False, highlight=False)
        else:
            self.stream.write(f"{text}\n")
            self.stream.flush()

    def end(self, text):
        """The run is over; TEXT says what it gave."""
        self.done += 1
        if self._bar:
            self._bar.update(self._task, completed=self.done, description=f"last: {text}, {units.duration(self.left())} left")

    def close(self):
        """Leave the terminal's line free."""
        if self._bar:
            self._bar.stop()
