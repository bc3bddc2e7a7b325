"""``merlinkit plan``: what a run would do, without doing it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from rich.table import Table

from merlinkit.engine.plan import is_available, prove
from merlinkit.errors import PlanError
from merlinkit.pipeline.config import RunConfig, read_config
from merlinkit.pipeline.console import Console
from merlinkit.pipeline.memory import memory_estimate
from merlinkit.pipeline.preflight import check_against_data
from merlinkit.pipeline.source import peek_schema
from merlinkit.schema import Schema
from merlinkit.workflow.compile import resolve
from merlinkit.workflow.cudf_plans import CudfPlan, cudf_plans, null_frame
from merlinkit.workflow.fit import levels
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
    data, rows = peek_schema(config.dataset)
    check_against_data(config, data, needs_target=True)
    say = console.print
    size = "unknown number of" if rows is None else f"{rows:,}"
    say(f"data: {config.dataset.name}, {size} rows, {len(data)} columns", style="bold")
    say(f"split: {config.split!r}", markup=False, highlight=False)
    _show_graph(config, data, console)
    _show_passes(config, data, console)
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


def _show_passes(config: RunConfig, data: Schema, console: Console) -> None:
    console.print("\npasses over the data", style="bold")
    lines = [f"split: reads {', '.join(config.split.columns(data))}"]
    graph = resolve(config.features, data, {})
    for index, level in enumerate(levels(config.features, data), start=1):
        read = sorted(
            {
                name
                for node in level
                for source in graph.sources(node).values()
                for name in graph.origins(source)
            }
        )
        learned = "; ".join(
            f"{node.operator!r} of {', '.join(graph.inputs(node).names)}" for node in level
        )
        lines.append(f"fit, level {index}: reads {', '.join(read)} for {learned}")
    lines.append(f"transform: reads {', '.join(sorted(graph.data_columns()))}, writes parquet")
    for line in lines:
        console.print(f"  {line}", markup=False, highlight=False, soft_wrap=True)


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
