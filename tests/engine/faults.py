"""Data that does something to the process that reads it; workers import this file."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import polars as pl

from merlinkit import Dataset


def kill(process: int | None, times: int, marks: Path, frame: pl.DataFrame) -> pl.DataFrame:
    """Kill a process, by default this one, until so many marks are in a folder."""
    for number in range(times):
        try:
            os.close(os.open(marks / str(number), os.O_CREAT | os.O_EXCL))
        except FileExistsError:
            continue
        os.kill(process or os.getpid(), signal.SIGKILL)
    return frame


class Deadly:
    """Rows of a data set, one file of which kills who reads it, so many times."""

    def __init__(self, data: Dataset, file: int, times: int, marks: Path, process=None) -> None:
        self.name, self.schema = data.name, data.schema
        self._data, self._file = data, file
        marks.mkdir(exist_ok=True)
        self._deadly = partial(kill, process, times, marks)

    def scan_partitions(self) -> Iterator[tuple[str, pl.LazyFrame]]:
        for index, (name, frame) in enumerate(self._data.scan_files()):
            if index == self._file:
                schema = frame.collect_schema()
                frame = frame.map_batches(self._deadly, schema=schema, streamable=False)
            yield name, frame

    def scan(self) -> pl.LazyFrame:
        return pl.concat([frame for _, frame in self.scan_partitions()])
