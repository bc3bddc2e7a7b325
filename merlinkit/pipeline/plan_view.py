"""``merlinkit plan``: what a run would do, without doing it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from rich.table import Table

from merlinkit.engine.plan import is_available, prove
from merlinkit.engine.polars_dialect import PolarsDialect
from merlinkit.errors import PlanError
from merlinkit.ops.base import State
from merlinkit.pipeline.config import RunConfig, read_config
from merlinkit.pipeline.console import Console
from merlinkit.pipeline.memory import memory_estimate
from merlinkit.pipeline.preflight import check_against_data
from merlinkit.pipeline.source import Peek, peek
from merlinkit.schema import Schema
from merlinkit.workflow.compile import Graph, Route, compile_plan, resolve
from merlinkit.workflow.cudf_plans import CudfPlan, cudf_plans, null_frame
from merlinkit.workflow.fit import levels, reads
from merlinkit.workflow.graph import Applied, Node
from merlinkit.workflow.program import BUCKET_ROWS, buckets_for
from merlinkit.workflow.workflow import Workflow

__all__ = ["ProvedStep", "prove_steps", "show_plan"]

ProvedStep = tuple[CudfPlan, str, bool]
"""A step, what is to be said of it on cuDF, and whether that is as it should be."""


def show_plan(raw: Mapping[str, Any], console: Console) -> None:
    """Print graph, passes, output columns, memory and engines of a run; execute nothing.

    Columns are read from the footers or first rows of the data. Domains that are learned from
    the data are shown as such.

    Raises
    ------
    ConfigError
        With everything that would stop the run.
    """
    config = read_config(raw)
    found = peek(config.dataset)
    data, rows = found.schema, found.rows
    check_against_data(config, data, needs_target=True)
    say = console.print
    size = "unknown number of" if rows is None else f"{rows:,}"
    say(
        f"data: {config.dataset.name}, {size} rows in {_partitions(found)}, {len(data)} columns",
        style="bold",
    )
    say(f"split: {config.split!r}", markup=False, highlight=False)
    _show_graph(config, data, console)
    _show_passes(config, found, console)
    say("\noutput columns (domains of encoded columns are learned at fit)", style="bold")
    say(
        repr(Workflow(config.features).fit_schema(data)),
        markup=False,
        highlight=False,
        soft_wrap=True,
    )
    _show_memory(config, data, rows, console)
    _show_engines(config, data, console)


def _show_graph(config: RunConfig, data: Schema, console: Console) -> None:
    graph = resolve(config.features, data, {})
    console.print("\ngraph, in the order in which it runs", style="bold")
    for index, node in enumerate(graph.order, start=1):
        inputs, outputs = graph.inputs(node).names, graph.schemas[node].names
        into = "" if inputs == outputs else f" -> {', '.join(outputs)}"
        console.print(
            f"  {index:>2}. {', '.join(inputs)} >> {node.operator!r}{into}",
            markup=False,
            highlight=False,
            soft_wrap=True,
        )


def _show_passes(config: RunConfig, found: Peek, console: Console) -> None:
    console.print("\npasses over the data", style="bold")
    data = found.schema
    lines = [f"split: reads {', '.join(config.split.columns(data))}"]
    # Fitted on nulls: how often the data is read does not depend on what is learned.
    states = Workflow(config.features).fit(null_frame(data, 10)).states
    graph = resolve(config.features, data, states)
    for number, level in enumerate(levels(config.features, data), start=1):
        for nodes in reads(graph, level):
            lines += _gathering(config, graph, nodes, states, found, f"fit, level {number}")
    lines += _together(graph, graph.route(), found.rows, "transform")
    where = ""
    if config.engine.name == "dask":
        where = ", as many at once as there are workers"
    written = _partitions(found)
    if graph.route().boundaries and found.rows is not None:
        written = f"{buckets_for(found.rows):,} buckets"
    lines.append(
        f"transform: reads {', '.join(sorted(graph.data_columns()))}, writes parquet for each of "
        f"{written}{where}"
    )
    for line in lines:
        console.print(f"  {line}", markup=False, highlight=False, soft_wrap=True)


def _partitions(found: Peek) -> str:
    return "1 partition" if found.partitions == 1 else f"{found.partitions:,} partitions"


def _gathering(
    config: RunConfig,
    graph: Graph,
    nodes: Sequence[Applied],
    states: Mapping[Node, State],
    found: Peek,
    what: str,
) -> list[str]:
    """Say how some operators learn that learn from the same rows."""
    read = sorted(
        {
            name
            for node in nodes
            for source in graph.sources(node).values()
            for name in graph.origins(source)
        }
    )
    frame, dialect = null_frame(found.schema, 10), PolarsDialect()
    queries = sum(
        len(
            node.operator.statistics(
                compile_plan(graph, frame, states, dialect, until=node, training=True),
                graph.inputs(node),
                dialect,
            )
        )
        for node in nodes
    )
    learned = "; ".join(
        f"{node.operator!r} of {', '.join(graph.inputs(node).names)}" for node in nodes
    )
    on = "of all rows"
    if config.engine.name == "dask":
        on = "of a run of partitions on each worker, merged"
    counted = "1 query" if queries == 1 else f"{queries} queries"
    return [
        *_together(graph, graph.route(nodes[-1]), found.rows, what),
        f"{what}: {counted}, each of its own columns of {', '.join(read)}, {on}, for {learned}",
    ]


def _together(graph: Graph, route: Route, rows: int | None, what: str) -> list[str]:
    """Say where rows are brought together for operators that need it, and into how many buckets."""
    lines = []
    for boundary in route.boundaries:
        node = route.order[boundary]
        names = node.operator.rows_together(graph.inputs(node)) or ["nothing, all together"]
        key = ", ".join(names)
        count = "buckets" if rows is None else f"{buckets_for(rows)} buckets"
        lines.append(
            f"{what}: brings rows together by {key} for {node.operator!r}, writing all of them "
            f"into {count} of about {BUCKET_ROWS:,} rows and reading them again"
            if rows is None or buckets_for(rows) > 1
            else f"{what}: {node.operator!r} gets all rows in one plan, so few are they"
        )
    return lines


def _show_memory(config: RunConfig, data: Schema, rows: int | None, console: Console) -> None:
    console.print("\nmemory, beyond about 0.3 GiB of imports (estimates)", style="bold")
    for what, size, how in memory_estimate(config, data, rows):
        shown = "?" if size is None else f"{size / 2**20:,.0f} MiB"
        line = f"  {shown:>12}  {what}: {how}"
        console.print(line, markup=False, highlight=False, soft_wrap=True)


def _show_engines(config: RunConfig, data: Schema, console: Console) -> None:
    console.print(f"\nengine of each step: {config.engine.name}", style="bold")
    if not is_available():
        console.print(
            "  whether the steps would run on cuDF is not shown: pip install 'merlinkit[plan]'",
            markup=False,
        )
        return
    table = Table("step", config.engine.name, "on cuDF")
    by_step: dict[str, list[ProvedStep]] = {}
    for proved in prove_steps(config, data):
        by_step.setdefault(proved[0].step, []).append(proved)
    for step, parts in by_step.items():
        table.add_row(step, "yes", _summary(parts))
    console.print(table)


def _summary(parts: list[ProvedStep]) -> str:
    """Return what is to be said of all plans of a step."""
    wrong = [f"{item.detail}: {verdict}" for item, verdict, fine in parts if not fine]
    if wrong:
        return "; ".join(wrong)
    verdicts = list(dict.fromkeys(verdict for item, verdict, _ in parts))
    return "; ".join(verdicts)


def prove_steps(config: RunConfig, data: Schema) -> list[ProvedStep]:
    """Return every step of a configuration with what cudf-polars makes of it, without a GPU."""
    # Fitted on nulls: the plans depend on types and shapes, not on what is learned.
    workflow = Workflow(config.features).fit(null_frame(data, 10))
    proved: list[ProvedStep] = []
    for item in cudf_plans(config.features, data, workflow.states):
        if item.plan is None:
            proved.append((item, str(item.one_partition_reason), True))
            continue
        try:
            proof = prove(item.plan, streams=item.one_partition_reason is None)
        except PlanError as error:
            proved.append((item, str(error), False))
            continue
        if proof.unsupported:
            proved.append((item, f"no: {'; '.join(proof.unsupported)}", False))
        elif item.one_partition_reason is not None:
            proved.append((item, item.one_partition_reason, True))
        elif proof.fallbacks:
            proved.append((item, f"one partition: {'; '.join(proof.fallbacks)}", False))
        else:
            proved.append((item, "yes, streams", True))
    return proved
