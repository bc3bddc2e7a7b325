"""The partitions that a workflow is run on."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import polars as pl

from merlinkit.data.coerce import RowSource
from merlinkit.engine.base import Engine

__all__ = ["Piece", "large_pieces", "small_pieces"]


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


def small_pieces(rows: RowSource) -> list[Piece]:
    """Return a piece for each partition, whatever the engine: each becomes files of its own."""
    return [Piece(name, frame) for name, frame in rows.scan_partitions()]


def large_pieces(rows: RowSource, engine: Engine) -> list[Piece]:
    """Return a piece for each worker of an engine: runs of partitions, in their order.

    Each is streamed, so its size does not matter, and what is gathered of few pieces is merged with
    little work: two pieces a worker took 10 percent longer to fit on a log of 26 vocabularies.
    """
    workers = engine.workers
    if workers == 1:
        return [Piece(rows.name, rows.scan())]
    parts = small_pieces(rows)
    count = min(len(parts), workers)
    return [
        _joined(parts[len(parts) * index // count : len(parts) * (index + 1) // count])
        for index in range(count)
    ]


def _joined(parts: Sequence[Piece]) -> Piece:
    if len(parts) == 1:
        return parts[0]
    name = f"{parts[0].name} to {parts[-1].name}"
    return Piece(name, pl.concat([part.frame for part in parts]))
