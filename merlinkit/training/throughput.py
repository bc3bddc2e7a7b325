"""How many rows a second are learned, pauses left out."""

from __future__ import annotations

import time
from collections.abc import Callable

__all__ = ["Throughput"]


class Throughput:
    """A stopwatch that counts rows.

    Parameters
    ----------
    clock
        Gives the time in seconds.

    Attributes
    ----------
    seconds, rows
        What was counted in all, up to the last `lap` or `stop`.

    Examples
    --------
    >>> ticks = iter([0.0, 2.0, 10.0, 11.0])
    >>> watch = Throughput(lambda: next(ticks))
    >>> watch.start()
    >>> watch.add(100)
    >>> watch.stop()
    50.0
    >>> watch.start()
    >>> watch.add(80)
    >>> watch.lap(), watch.seconds, watch.rows
    (80.0, 3.0, 180)
    """

    def __init__(self, clock: Callable[[], float] = time.perf_counter) -> None:
        self._clock = clock
        self._since = 0.0
        self._pending = 0
        self.seconds = 0.0
        self.rows = 0

    def start(self) -> None:
        """Begin a lap; what passed since `stop` does not count."""
        self._since = self._clock()

    def add(self, rows: int) -> None:
        """Count rows into the lap."""
        self._pending += rows

    def lap(self) -> float:
        """End the lap, begin the next one, and return the rows per second of the lap."""
        now = self._clock()
        seconds, rows = now - self._since, self._pending
        self.seconds += seconds
        self.rows += rows
        self._since, self._pending = now, 0
        return rows / seconds if seconds > 0 else 0.0

    def stop(self) -> float:
        """End the lap and return its rows per second; call `start` before the next one."""
        return self.lap()

    def total(self) -> float:
        """Return rows per second of all laps."""
        return self.rows / self.seconds if self.seconds > 0 else 0.0
