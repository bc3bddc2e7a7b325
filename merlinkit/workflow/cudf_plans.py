"""Every plan that a workflow would run on cuDF, to be proved without a GPU.

The plans are built over frames of nulls with the right types: a translation looks at types and
shapes, never at values.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import polars as pl

from merlinkit.engine.cudf_dialect import CudfDialect
from merlinkit.ops.base import Operator, State
from merlinkit.schema import Schema
from merlinkit.workflow.compile import compile_plan, resolve
from merlinkit.workflow.graph import Node

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
    """Return the plans of fit and transform of a graph.

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
    plans: list[CudfPlan] = []
    frame = null_frame(data, rows)
    graph = resolve(output, data, states)
    for node in graph.order:
        inputs = graph.inputs(node)
        if not node.operator.needs_fit(inputs):
            continue
        dialect = CudfDialect(rows)
        source = compile_plan(graph, frame, states, dialect, until=node)
        step = f"fit {node.operator!r} on {', '.join(inputs.names)}"
        statistics = node.operator.statistics(source, inputs, dialect)
        together = bool(graph.route(node).boundaries)
        for name, plan in statistics.items():
            reason = BUCKET_REASON if together else None
            plans.append(CudfPlan(step, f"statistics of '{name}'", plan, reason))
        gathered = {
            name: null_frame(Schema.from_polars(plan.collect_schema()), rows)
            for name, plan in statistics.items()
        }
        finalized = node.operator.finalize(gathered, inputs, dialect)
        merged = node.operator.merge(gathered, gathered)
        for name, plan in {**finalized.values, **finalized.tables}.items():
            plans.append(CudfPlan(step, f"state of '{name}'", plan, DISTINCT_REASON))
        for name, plan in merged.items():
            plans.append(CudfPlan(step, f"merge of '{name}'", plan, DISTINCT_REASON))
    reason = BUCKET_REASON if graph.route().boundaries else None
    differs = any(
        type(node.operator).transform_training is not Operator.transform_training
        for node in graph.order
    )
    for training in (False, True) if differs else (False,):
        dialect = CudfDialect(rows)
        plan = compile_plan(graph, frame, states, dialect, training=training)
        detail = "rows to train on" if training else "rows"
        plans.append(CudfPlan("transform", detail, plan, reason))
    for part in dialect.list_plans:
        plans.append(CudfPlan("transform", f"elements of '{part.column}'", part.plan))
    for gap in dialect.engine_steps:
        plans.append(CudfPlan(gap, "", None, GAP_REASON))
    return plans


def null_frame(schema: Schema, rows: int) -> pl.LazyFrame:
    """Return a frame of nulls with the columns of a schema."""
    return pl.DataFrame(
        {column.name: [None] * rows for column in schema}, schema=schema.to_polars()
    ).lazy()
