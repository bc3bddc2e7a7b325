"""Fit: gather statistics level by level and turn them into states."""

from __future__ import annotations

import math
import secrets
from collections.abc import Callable, Mapping
from datetime import date, datetime, time, timedelta
from pathlib import Path

import polars as pl

from merlinkit.engine.base import Engine
from merlinkit.ops.base import Finalized, State, Statistics, Table
from merlinkit.schema import JSONValue, Schema
from merlinkit.workflow.buckets import buckets_of
from merlinkit.workflow.compile import Graph, compile_plan, resolve
from merlinkit.workflow.graph import Applied, Node

__all__ = ["fit_states", "fitted_nodes", "levels"]

Progress = Callable[[str], None]


def fitted_nodes(output: Node, data: Schema) -> list[Applied]:
    """Return the operators that learn from the data, in the order in which they run."""
    graph = resolve(output, data, {})
    return [node for node in graph.order if node.operator.needs_fit(graph.inputs(node))]


def levels(output: Node, data: Schema) -> list[list[Applied]]:
    """Return the operators that learn, grouped so that a group depends on earlier groups only."""
    graph = resolve(output, data, {})
    depth: dict[Applied, int] = {}
    grouped: list[list[Applied]] = []
    for node in fitted_nodes(output, data):
        # Nodes are hashed by identity, so the graphs of two calls share them.
        needed = [depth[other] for other in graph.before(node) if other in depth]
        depth[node] = max(needed, default=-1) + 1
        if depth[node] == len(grouped):
            grouped.append([])
        grouped[depth[node]].append(node)
    return grouped


def fit_states(
    output: Node,
    data: Schema,
    frame: pl.LazyFrame,
    engine: Engine,
    work_dir: Path | None,
    progress: Progress | None = None,
    known: Mapping[Node, State] | None = None,
) -> dict[Node, State]:
    """Learn the state of every operator that needs one.

    Parameters
    ----------
    output
        The graph.
    data
        Columns of the frame.
    frame
        The data.
    engine
        Where the plans run.
    work_dir
        Folder for statistics and tables; with None they are kept in memory.
    progress
        Called with a line before each operator.
    known
        States of an earlier fit that are updated; with None everything is learned anew.
    """
    if work_dir is not None:
        # A folder of its own, since what an earlier fit learned may still be read from its files.
        work_dir = work_dir / f"fit-{secrets.token_hex(8)}"
    states: dict[Node, State] = {}
    for level in levels(output, data):
        for node in level:
            graph = resolve(output, data, states)
            inputs = graph.inputs(node)
            if progress is not None:
                progress(f"fit {node.operator!r} on {', '.join(inputs.names)}")
            index = graph.order.index(node)
            gathered = _statistics(graph, node, frame, states, engine, work_dir)
            if known is None or node not in known:
                finalized = node.operator.finalize(gathered, inputs, engine.dialect)
            else:
                finalized = node.operator.update(known[node], gathered, inputs, engine.dialect)
            states[node] = _state(finalized, engine, work_dir, f"state-{index}")
            node.operator.check(states[node], inputs)
    return states


def _statistics(
    graph: Graph,
    node: Applied,
    frame: pl.LazyFrame,
    states: Mapping[Node, State],
    engine: Engine,
    work_dir: Path | None,
) -> Statistics:
    """Gather the statistics of an operator, bucket by bucket where rows belong together."""
    inputs = graph.inputs(node)
    prefix = f"statistics-{graph.order.index(node)}"
    gathered: dict[str, Table] = {}
    whole = graph.bucketed(graph.before(node)) is not None
    for bucket in buckets_of(frame, engine) if whole else [None]:
        source = compile_plan(
            graph, frame, states, engine.dialect, until=node, training=True, bucket=bucket
        )
        plans = node.operator.statistics(source, inputs, engine.dialect)
        name = prefix if bucket is None else f"{prefix}-{bucket.index}"
        part = _gather(plans, engine, work_dir, name)
        if gathered:
            merged = node.operator.merge(_frames(gathered), _frames(part))
            part = _gather(merged, engine, work_dir, f"{name}-merged")
        gathered = part
    history = [_rows(gathered)]
    while (further := node.operator.refine(_frames(gathered), history)) is not None:
        gathered = _gather(further, engine, work_dir, f"{prefix}-pass-{len(history)}")
        history.append(_rows(gathered))
    return _frames(gathered)


def _rows(tables: Mapping[str, Table]) -> dict[str, int]:
    return {name: table.rows for name, table in tables.items()}


def _frames(tables: Mapping[str, Table]) -> Statistics:
    return {name: table.frame for name, table in tables.items()}


def _gather(
    plans: Statistics, engine: Engine, work_dir: Path | None, prefix: str
) -> dict[str, Table]:
    """Run plans and return their results as tables, on disk where there is a folder."""
    out: dict[str, Table] = {}
    if work_dir is None:
        for name, frame in zip(plans, engine.collect(list(plans.values())), strict=True):
            out[name] = Table(frame.lazy(), frame.height)
        return out
    work_dir.mkdir(parents=True, exist_ok=True)
    for number, (name, plan) in enumerate(plans.items()):
        # Numbered, since a column's name need not be fit for a file name.
        path = work_dir / f"{prefix}-{number}.parquet"
        rows = engine.sink(plan, path)
        out[name] = Table(pl.scan_parquet(path, glob=False), rows)
    return out


def _state(finalized: Finalized, engine: Engine, work_dir: Path | None, prefix: str) -> State:
    values = dict(
        zip(
            finalized.values,
            (_json_rows(frame) for frame in engine.collect(list(finalized.values.values()))),
            strict=True,
        )
    )
    return State(values, _gather(finalized.tables, engine, work_dir, prefix))


def _json_rows(frame: pl.DataFrame) -> list[dict[str, JSONValue]]:
    return [{name: _json_value(value) for name, value in row.items()} for row in frame.to_dicts()]


def _json_value(value: JSONValue) -> JSONValue:
    if isinstance(value, float) and not math.isfinite(value):
        return None
    if isinstance(value, datetime | date | time | timedelta):
        return str(value)
    return value
