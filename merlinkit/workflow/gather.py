"""What operators learn, gathered on partitions and merged: the tasks of a fit."""

from __future__ import annotations

import functools
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime, time, timedelta
from pathlib import Path

import polars as pl

from merlinkit.data.failures import POLARS_ERRORS, data_error
from merlinkit.engine.base import LocalEngine
from merlinkit.engine.shared import Shared
from merlinkit.ops.base import Finalized, State, Statistics, Table
from merlinkit.schema import JSONValue
from merlinkit.workflow.graph import Applied
from merlinkit.workflow.pieces import Piece
from merlinkit.workflow.program import Program

__all__ = ["Gathered", "Learning", "finish", "gather", "merge_parts"]

Gathered = dict[str, Table]
"""The statistics of an operator by name, as tables in memory or on disk."""


@dataclass(frozen=True)
class Learning:
    """Operators that learn from the same rows, and what has to be run to get these rows.

    Parameters
    ----------
    program
        Gives the input columns of all of them, each named by `column`.
    nodes
        The operators.
    known
        For each the state that is updated; None to learn anew.
    """

    program: Program
    nodes: tuple[Applied, ...]
    known: tuple[State | None, ...]

    @staticmethod
    def column(number: int, name: str) -> str:
        """Return the name under which the program gives an input column of an operator."""
        return f"{number}:{name}"

    def source(self, number: int, frame: pl.LazyFrame) -> pl.LazyFrame:
        """Return the input columns of an operator, of all that the program gives."""
        inputs = self.program.graph.inputs(self.nodes[number])
        return frame.select(pl.col(self.column(number, name)).alias(name) for name in inputs.names)


def gather(
    learning: Shared[Learning],
    piece: Piece,
    is_bucket: bool,
    folder: Path | None,
    engine: LocalEngine,
) -> list[Gathered]:
    """Gather the statistics of operators on some rows.

    Parameters
    ----------
    learning
        The operators.
    piece
        The rows, as they are in the data, or, if `is_bucket`, before the last step of the program.
    folder
        Where statistics are written; None keeps them in memory.
    engine
        Runs the plans.
    """
    level = learning.value
    program = level.program
    frame = (program.last if is_bucket else program.plan)(piece.frame, engine.dialect)
    out = []
    for number, node in enumerate(level.nodes):
        inputs = program.graph.inputs(node)
        try:
            plans = node.operator.statistics(level.source(number, frame), inputs, engine.dialect)
            out.append(_tables(plans, node, engine, folder, str(number)))
        except POLARS_ERRORS as error:
            raise data_error(f"{piece.name} cannot be fitted on", error) from error
    return out


def merge_parts(
    learning: Shared[Learning],
    number: int,
    parts: Sequence[Gathered],
    folder: Path | None,
    name: str,
    engine: LocalEngine,
) -> Gathered:
    """Merge what was gathered of several pieces for one operator."""
    node = learning.value.nodes[number]
    return _tables(_merged(node, parts), node, engine, folder, name)


def finish(
    learning: Shared[Learning],
    number: int,
    parts: Sequence[Gathered],
    folder: Path | None,
    engine: LocalEngine,
) -> State:
    """Return the state of one operator, made of what was gathered of some pieces."""
    level = learning.value
    node, known = level.nodes[number], level.known[number]
    inputs = level.program.graph.inputs(node)
    gathered = parts[0]
    if len(parts) > 1:
        gathered = _tables(_merged(node, parts), node, engine, folder, f"{number}-merged")
    history = [_rows(gathered)]
    while (further := node.operator.refine(_frames(gathered), history)) is not None:
        name = f"{number}-pass-{len(history)}"
        gathered = _tables(further, node, engine, folder, name)
        history.append(_rows(gathered))
    if known is None:
        finalized = node.operator.finalize(_frames(gathered), inputs, engine.dialect)
    else:
        finalized = node.operator.update(known, _frames(gathered), inputs, engine.dialect)
    return _state(finalized, engine, folder, f"{number}-state")


def _merged(node: Applied, parts: Sequence[Gathered]) -> Statistics:
    """Return plans of the statistics of all parts together, merged two by two."""
    level = [_frames(part) for part in parts]
    while len(level) > 1:
        pairs = [level[index : index + 2] for index in range(0, len(level), 2)]
        level = [functools.reduce(node.operator.merge, pair) for pair in pairs]
    return level[0]


def _rows(tables: Mapping[str, Table]) -> dict[str, int]:
    return {name: table.rows for name, table in tables.items()}


def _frames(tables: Mapping[str, Table]) -> Statistics:
    return {name: table.frame for name, table in tables.items()}


def _tables(
    plans: Statistics, node: Applied, engine: LocalEngine, folder: Path | None, prefix: str
) -> Gathered:
    if node.operator.learns_little:
        folder = None
    return _stored(plans, engine, folder, prefix)


def _stored(
    plans: Statistics, engine: LocalEngine, folder: Path | None, prefix: str
) -> dict[str, Table]:
    """Run plans and return their results as tables, on disk where there is a folder."""
    out: dict[str, Table] = {}
    if folder is None:
        for name, frame in zip(plans, engine.collect(list(plans.values())), strict=True):
            out[name] = Table(frame.lazy(), frame.height)
        return out
    folder.mkdir(parents=True, exist_ok=True)
    for number, (name, plan) in enumerate(plans.items()):
        # Numbered, since a column's name need not be fit for a file name.
        path = folder / f"{prefix}-{number}.parquet"
        rows = engine.sink(plan, path)
        out[name] = Table(pl.scan_parquet(path, glob=False), rows)
    return out


def _state(finalized: Finalized, engine: LocalEngine, folder: Path | None, prefix: str) -> State:
    values = dict(
        zip(
            finalized.values,
            (_json_rows(frame) for frame in engine.collect(list(finalized.values.values()))),
            strict=True,
        )
    )
    return State(values, _stored(finalized.tables, engine, folder, prefix))


def _json_rows(frame: pl.DataFrame) -> list[dict[str, JSONValue]]:
    return [{name: _json_value(value) for name, value in row.items()} for row in frame.to_dicts()]


def _json_value(value: JSONValue) -> JSONValue:
    if isinstance(value, float) and not math.isfinite(value):
        return None
    if isinstance(value, datetime | date | time | timedelta):
        return str(value)
    return value
