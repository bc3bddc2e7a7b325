"""The partitions that a workflow is run on."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import polars as pl

from merlinkit.data.coerce import RowSource
from merlinkit.engine.base import Engine

__all__ = ["Piece", "file_pieces", "large_pieces"]

_PIECES_A_WORKER = 2
"""So that a worker that is done early finds something to do, and a lost one costs little."""


@dataclass(frozen=True)
class Piece:
    """Some of the rows of a data set.

    Parameters
    ----------
    name
        What they are, for messages.
    frame
        Plan that reads them.
    """

    name: str
    frame: pl.LazyFrame


def file_pieces(rows: RowSource) -> list[Piece]:
    """Return a piece for each file."""
    return [Piece(name, frame) for name, frame in rows.scan_files()]


def large_pieces(rows: RowSource, engine: Engine) -> list[Piece]:
    """Return as few pieces as keep the workers of an engine busy: runs of files, in their order.

    What is gathered of fewer pieces is merged with less work. A single worker gets all rows as one
    piece, which it streams.
    """
    if engine.workers == 1:
        return [Piece(rows.name, rows.scan())]
    files = file_pieces(rows)
    count = min(len(files), _PIECES_A_WORKER * engine.workers)
    return [
        _joined(files[len(files) * index // count : len(files) * (index + 1) // count])
        for index in range(count)
    ]


def _joined(files: Sequence[Piece]) -> Piece:
    if len(files) == 1:
        return files[0]
    name = f"{files[0].name} to {files[-1].name}"
    return Piece(name, pl.concat([file.frame for file in files]))
