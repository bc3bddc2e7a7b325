"""Every plan that a workflow would run on cuDF, to be proved without a GPU.

The plans are built over frames of nulls with the right types: a translation looks at types and
shapes, never at values.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass

import polars as pl

from merlinkit.engine.cudf_dialect import CudfDialect
from merlinkit.errors import MerlinkitError
from merlinkit.ops.base import Operator, State
from merlinkit.schema import Schema
from merlinkit.workflow.backward import Backward
from merlinkit.workflow.compile import BUCKET, Graph, Route, resolve
from merlinkit.workflow.graph import Applied, Node
from merlinkit.workflow.program import Program

__all__ = ["CudfPlan", "cudf_plans"]

DISTINCT_REASON = "what it learned, a row for each distinct value, fits one partition"
BUCKET_REASON = "one bucket of rows that belong together fits one partition"
GAP_REASON = "the engine does it with libcudf, outside of plans"


@dataclass(frozen=True)
class CudfPlan:
    """One plan, or one step that is not a plan.

    Parameters
    ----------
    step
        What it is a part of, for example ``"fit Normalize() on price"``.
    detail
        Which plan of the step.
    plan
        The plan; None for what the engine does outside of plans.
    one_partition_reason
        Why the plan may gather its rows into one partition; None where it must not.
    """

    step: str
    detail: str
    plan: pl.LazyFrame | None
    one_partition_reason: str | None = None


def cudf_plans(
    output: Node, data: Schema, states: Mapping[Node, State], rows: int = 1_000
) -> list[CudfPlan]:
    """Return the plans of fit, update, transform and inverse of a graph.

    Parameters
    ----------
    output
        The graph.
    data
        Columns of the data.
    states
        What was fitted, if only on a few rows: the plans depend on its shape alone.
    rows
        Rows of the frames that the plans are built over.
    """
    frame = null_frame(data, rows)
    graph = resolve(output, data, states)
    plans: list[CudfPlan] = []
    for node in graph.order:
        if node.operator.needs_fit(graph.inputs(node)):
            plans += _fit_plans(graph, node, frame, states, rows)
    differs = any(
        type(node.operator).transform_training is not Operator.transform_training
        for node in graph.order
    )
    dialect = CudfDialect(rows)
    for training in (False, True) if differs else (False,):
        detail = "rows to train on" if training else "rows"
        dialect = CudfDialect(rows)
        plan, together = _steps(graph, graph.route(), frame, states, dialect, training)
        plans += [CudfPlan("transform", f"{detail}, {step}", part) for step, part in together]
        reason = BUCKET_REASON if together else None
        plans.append(CudfPlan("transform", detail, plan, reason))
    if any(node.operator.invertible for node in graph.order):
        with suppress(MerlinkitError):  # where two columns would come back as one
            back = Backward(graph, states).plan(null_frame(graph.output_schema, rows), dialect)
            plans.append(CudfPlan("inverse", "rows", back))
    for part in dialect.list_plans:
        plans.append(CudfPlan("transform", f"elements of '{part.column}'", part.plan))
    for gap in dialect.engine_steps:
        plans.append(CudfPlan(gap, "", None, GAP_REASON))
    return plans


def _fit_plans(
    graph: Graph, node: Applied, frame: pl.LazyFrame, states: Mapping[Node, State], rows: int
) -> list[CudfPlan]:
    """Return the plans by which an operator learns, and learns more."""
    inputs = graph.inputs(node)
    operator = node.operator
    dialect = CudfDialect(rows)
    step = f"fit {operator!r} on {', '.join(inputs.names)}"
    source, together = _steps(graph, graph.route(node), frame, states, dialect, True)
    plans = [CudfPlan(step, detail, plan) for detail, plan in together]
    statistics = operator.statistics(source, inputs, dialect)
    for name, plan in statistics.items():
        reason = BUCKET_REASON if together else None
        plans.append(CudfPlan(step, f"statistics of '{name}'", plan, reason))
    gathered = _nulls_like(statistics, rows)
    learned: dict[str, dict[str, pl.LazyFrame]] = {"merge": operator.merge(gathered, gathered)}
    further = operator.refine(gathered, [dict.fromkeys(gathered, rows)])
    if further is not None:
        learned["another pass"] = further
    finalized = operator.finalize(gathered, inputs, dialect)
    learned["state"] = {**finalized.values, **finalized.tables}
    if node in states:
        with suppress(MerlinkitError):  # of operators that cannot be updated
            updated = operator.update(states[node], gathered, inputs, dialect)
            learned["update"] = {**updated.values, **updated.tables}
    for detail, made in learned.items():
        for name, plan in made.items():
            plans.append(CudfPlan(step, f"{detail} of '{name}'", plan, DISTINCT_REASON))
    return plans


def _steps(
    graph: Graph,
    route: Route,
    frame: pl.LazyFrame,
    states: Mapping[Node, State],
    dialect: CudfDialect,
    training: bool,
) -> tuple[pl.LazyFrame, list[tuple[str, pl.LazyFrame]]]:
    """Return the plan of the last step, and those by which rows are brought together before."""
    program = Program(graph, route, states, training)
    together: list[tuple[str, pl.LazyFrame]] = []
    for index in range(program.steps - 1):
        plan = program.step(index, frame, dialect, buckets=7)
        together.append((f"rows brought together, step {index + 1}", plan))
        schema = Schema.from_polars(plan.drop(BUCKET).collect_schema())
        frame = null_frame(schema, dialect.rows)
    last = program.last if together else program.plan
    return last(frame, dialect), together


def _nulls_like(plans: Mapping[str, pl.LazyFrame], rows: int) -> dict[str, pl.LazyFrame]:
    return {
        name: null_frame(Schema.from_polars(plan.collect_schema()), rows)
        for name, plan in plans.items()
    }


def null_frame(schema: Schema, rows: int) -> pl.LazyFrame:
    """Return a frame of nulls with the columns of a schema."""
    return pl.DataFrame(
        {column.name: [None] * rows for column in schema}, schema=schema.to_polars()
    ).lazy()
