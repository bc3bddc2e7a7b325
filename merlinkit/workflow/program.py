"""A compiled workflow: the steps between which rows are brought together.

Most workflows are one step: a plan for each partition. Where operators need all rows of a value in
one frame, the rows of all partitions are written into buckets by a hash of that value first, and
the next step has a plan for each bucket. That is one more pass over the data, whatever its size.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import polars as pl

from merlinkit.atomic import atomic_folder
from merlinkit.data.failures import POLARS_ERRORS, data_error
from merlinkit.engine.base import Engine, LocalEngine
from merlinkit.engine.dialect import Dialect
from merlinkit.engine.shared import Shared
from merlinkit.engine.task import Task
from merlinkit.ops.base import State
from merlinkit.workflow.compile import BUCKET, Graph, Route, compile_stretch
from merlinkit.workflow.graph import Node
from merlinkit.workflow.pieces import Piece

__all__ = ["BUCKET_ROWS", "Program", "bring_together", "buckets_for"]

BUCKET_ROWS = 2_000_000
"""Rows of a bucket, about: what operators on groups of rows hold in memory at a time."""

_NO_ROWS = "none.parquet"


@dataclass(frozen=True)
class Program:
    """A route through a graph with what its operators learned.

    Parameters
    ----------
    graph, route
        What is run.
    states
        What was fitted.
    training
        Whether a model is trained on the rows.
    inputs
        How the columns of the data are made ready; None takes them as they are.
    """

    graph: Graph
    route: Route
    states: Mapping[Node, State]
    training: bool
    inputs: tuple[pl.Expr, ...] | None = None

    @property
    def steps(self) -> int:
        """Number of steps between which rows must be brought together."""
        return len(self.route.boundaries) + 1

    def plan(self, frame: pl.LazyFrame, dialect: Dialect) -> pl.LazyFrame:
        """Return the one plan of all steps, for a frame in which all rows are together."""
        return self._stretch(frame, dialect, 0, None)

    def last(self, frame: pl.LazyFrame, dialect: Dialect) -> pl.LazyFrame:
        """Return the plan of the last step."""
        return self._stretch(frame, dialect, self.route.boundaries[-1], None)

    def step(self, index: int, frame: pl.LazyFrame, dialect: Dialect, buckets: int) -> pl.LazyFrame:
        """Return the plan of a step that is not the last, whose rows have a number of a bucket."""
        start = self.route.boundaries[index - 1] if index else 0
        return self._stretch(frame, dialect, start, self.route.boundaries[index], buckets)

    def _stretch(
        self, frame: pl.LazyFrame, dialect: Dialect, start: int, stop: int | None, buckets: int = 1
    ) -> pl.LazyFrame:
        if start == 0 and self.inputs is not None:
            frame = frame.select(self.inputs)
        return compile_stretch(
            self.graph,
            self.route,
            frame,
            self.states,
            dialect,
            training=self.training,
            start=start,
            stop=stop,
            buckets=buckets,
        )


def bring_together(
    program: Shared[Program], pieces: Sequence[Piece], folder: Path, engine: Engine, name: str
) -> list[Piece] | None:
    """Run all steps but the last, and return the buckets that the last one works on.

    Parameters
    ----------
    program
        The program, of more than one step.
    pieces
        The rows.
    folder
        Where buckets are written; those that a killed call of the same finished are kept.
    engine
        Where the steps run.
    name
        Name of the data, for messages.

    Returns
    -------
    list of Piece, or None
        None if all rows are few enough for one frame: then the whole program is one plan.

    Notes
    -----
    Within a bucket, rows are in the order of the pieces. The number of buckets depends on the
    number of rows alone, so what comes out is in the same order on every engine.
    """
    counted = engine.run(
        Task(f"counting the rows of {piece.name}", partial(_count, piece)) for piece in pieces
    )
    buckets = buckets_for(sum(counted))
    if buckets == 1:
        return None
    for index in range(program.value.steps - 1):
        folders = [folder / f"{index}-{number:05d}" for number in range(len(pieces))]
        tasks = [
            Task(
                f"bringing the rows of {piece.name} together",
                partial(_write_buckets, program, index, piece, into, buckets),
            )
            for piece, into in zip(pieces, folders, strict=True)
            if not into.is_dir()
        ]
        for _ in engine.run(tasks):
            pass
        pieces = [_bucket(folders, number, buckets, name) for number in range(buckets)]
    return list(pieces)


def buckets_for(rows: int) -> int:
    """Return into how many buckets so many rows are brought together."""
    return max(1, -(-rows // BUCKET_ROWS))


def _count(piece: Piece, engine: LocalEngine) -> int:
    try:
        return int(engine.collect([piece.frame.select(pl.len())])[0].item())
    except POLARS_ERRORS as error:
        raise data_error(f"{piece.name} cannot be read", error) from error


def _write_buckets(
    program: Shared[Program],
    index: int,
    piece: Piece,
    folder: Path,
    buckets: int,
    engine: LocalEngine,
) -> None:
    """Write the rows of a piece into a file for each bucket that has some."""
    plan = program.value.step(index, piece.frame, engine.dialect, buckets)
    with atomic_folder(folder) as temporary:
        try:
            engine.sink_by(plan, BUCKET, temporary)
            nothing = plan.head(0).drop(BUCKET).collect_schema().to_frame()
        except POLARS_ERRORS as error:
            raise data_error(f"{piece.name} cannot be transformed", error) from error
        # So that a bucket without rows has columns.
        nothing.write_parquet(temporary / _NO_ROWS)


def _bucket(folders: Sequence[Path], number: int, buckets: int, name: str) -> Piece:
    paths = [path for each in folders if (path := each / f"{number}.parquet").is_file()]
    frame = pl.scan_parquet(paths or folders[0] / _NO_ROWS, glob=False)
    return Piece(f"bucket {number + 1} of {buckets} of {name}", frame)
