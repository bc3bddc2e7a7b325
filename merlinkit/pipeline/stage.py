"""Stages: what a run is doing, how long it takes and how much memory it needs."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import psutil

from merlinkit.events import EventLog
from merlinkit.pipeline.console import Console

__all__ = ["Reporter", "StageNotes"]

_SAMPLE_SECONDS = 0.05


@dataclass
class StageNotes:
    """What a stage may add to its end event."""

    rows: int | None = None


class Reporter:
    """Tells the terminal and the event log what is going on.

    Parameters
    ----------
    events
        The log; None for verbs that leave no trace.
    console
        Where people look. Lines go to standard error, so that results can be piped.
    """

    def __init__(self, events: EventLog | None, console: Console) -> None:
        self.events = events
        self.console = console

    def note(self, message: str) -> None:
        """Say something once, and keep it for the report."""
        self.console.print(message, markup=False, highlight=False, soft_wrap=True)
        if self.events is not None:
            self.events.write("note", {"message": message})

    def progress(self, message: str) -> None:
        """Say what is being done, without keeping it."""
        self.console.print(f"  {message}", style="dim", markup=False, highlight=False)

    @contextmanager
    def stage(self, name: str, title: str) -> Iterator[StageNotes]:
        """Run a block as a stage: its time and the highest memory of the process meanwhile."""
        self.console.print(title, style="bold", markup=False, highlight=False)
        self._write(name, {"status": "start"})
        notes = StageNotes()
        began = time.perf_counter()
        with _peak_memory() as peak:
            try:
                yield notes
            except BaseException:
                self._write(name, {"status": "failed", "seconds": time.perf_counter() - began})
                raise
        seconds = time.perf_counter() - began
        end: dict[str, str | float | int] = {
            "status": "end",
            "seconds": seconds,
            "peak_rss_mib": peak[0] / 2**20,
        }
        if notes.rows is not None:
            end["rows"] = notes.rows
        self._write(name, end)
        rows = "" if notes.rows is None else f"{notes.rows:,} rows, "
        self.console.print(
            f"  done: {rows}{seconds:.1f} s, peak memory {peak[0] / 2**20:,.0f} MiB",
            style="dim",
            markup=False,
            highlight=False,
        )

    def _write(self, stage: str, fields: dict[str, str | float | int]) -> None:
        if self.events is not None:
            self.events.write("stage", {"stage": stage, **fields})


@contextmanager
def _peak_memory() -> Iterator[list[int]]:
    """Give a list whose only item is the highest resident memory of the process so far."""
    process = psutil.Process()
    peak = [process.memory_info().rss]
    done = threading.Event()

    def watch() -> None:
        while not done.wait(_SAMPLE_SECONDS):
            peak[0] = max(peak[0], process.memory_info().rss)

    thread = threading.Thread(target=watch, name="merlinkit-memory", daemon=True)
    thread.start()
    try:
        yield peak
    finally:
        done.set()
        thread.join()
        peak[0] = max(peak[0], process.memory_info().rss)
