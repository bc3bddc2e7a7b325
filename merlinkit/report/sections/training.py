"""Training: curves of loss, validation metrics, learning rate and throughput."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from markupsafe import Markup

from merlinkit.report.charts import Point, Series, line_chart
from merlinkit.report.coerce import integer, mapping, number
from merlinkit.report.formats import amount, metric, short
from merlinkit.report.record import RunRecord
from merlinkit.report.sections.overview import METRIC_NAMES

__all__ = ["Training", "training"]

MOST_POINTS = 240
MOST_METRICS = 12
MOST_ROWS = 500
HIGHER_IS_BETTER = {"auc": True, "logloss": False, "normalized_entropy": False}
UNDRAWN = {"logloss", "base_rate", "mean_prediction"}
"""Metrics without a chart of their own: one is drawn beside the training loss, others stay put."""

Event = Mapping[str, Any]


@dataclass
class Training:
    """What the template shows of training."""

    facts: list[tuple[str, str]] = field(default_factory=list)
    charts: list[tuple[str, Markup]] = field(default_factory=list)
    remarks: list[str] = field(default_factory=list)
    metrics: list[str] = field(default_factory=list)
    rows: list[dict[str, object]] = field(default_factory=list)


def training(record: RunRecord) -> Training | None:
    """Return the section, or None where the run logged no training."""
    steps, checks = _without_rewound(record)
    if not steps and not checks:
        return None
    view = Training()
    losses = _points(steps, lambda event: event.get("loss"))
    names = _metric_names(checks)
    curves = {
        name: _points(checks, lambda event, name=name: mapping(event.get("metrics")).get(name))
        for name in names
    }
    view.metrics = names
    view.rows = [
        {
            "step": integer(event.get("step")),
            "epoch": event.get("epoch"),
            "metrics": mapping(event.get("metrics")),
        }
        for event in checks[-MOST_ROWS:]
    ]
    if len(checks) > MOST_ROWS:
        view.remarks.append(f"The table shows the last {MOST_ROWS} of {len(checks):,} checks.")
    for event in record.events_of("early_stop")[-1:]:
        view.remarks.append(
            f"Training stopped early at step {amount(event.get('step'))}: "
            f"{_inside(short(event.get('monitor'), 40))} did not get better than "
            f"{metric(event.get('best'))}."
        )
    _describe(view, steps, losses, curves)
    _draw(view, steps, losses, curves)
    return view


def _without_rewound(record: RunRecord) -> tuple[list[Event], list[Event]]:
    """Return training and validation events without those that a restart made void.

    A run that goes on from a checkpoint logs steps again: what was logged beyond the checkpoint
    before is not part of the model's history.
    """
    steps: list[Event] = []
    checks: list[Event] = []
    for event in record.events:
        at = number(event.get("step"))
        kind = event.get("kind")
        if at is None:
            continue
        if kind == "resume":
            # What was logged at the checkpoint's own step stands.
            _drop_from(steps, at + 1)
            _drop_from(checks, at + 1)
        elif kind == "valid":
            _drop_from(checks, at)
            checks.append(event)
        elif kind == "train":
            if steps and steps[-1]["step"] >= at:
                _drop_from(steps, at)
                _drop_from(checks, at)
            steps.append(event)
    return steps, checks


def _drop_from(events: list[Event], step: float) -> None:
    while events and events[-1]["step"] >= step:
        events.pop()


def _points(events: Iterable[Event], value: Any) -> list[Point]:
    return [
        (float(event["step"]), found)
        for event in events
        if (found := number(value(event))) is not None
    ]


def _metric_names(checks: Sequence[Event]) -> list[str]:
    names: dict[str, None] = {}
    for event in checks:
        names.update(
            (str(key), None)
            for key, value in mapping(event.get("metrics")).items()
            if key != "rows" and isinstance(value, int | float | None)
        )
    known = [name for name in HIGHER_IS_BETTER if name in names]
    return [*known, *(name for name in names if name not in known)][:MOST_METRICS]


def _thinned(points: Sequence[Point]) -> tuple[list[Point], int]:
    """Return means of neighbouring points so that few enough remain, and how many a mean is of."""
    size = -(-len(points) // MOST_POINTS)
    if size <= 1:
        return list(points), 1
    groups = [points[start : start + size] for start in range(0, len(points), size)]
    return [
        (sum(x for x, _ in group) / len(group), sum(y for _, y in group) / len(group))
        for group in groups
    ], size


def _inside(name: str) -> str:
    """Return a metric's name as it is written inside a sentence."""
    label = METRIC_NAMES.get(name, short(name, 40))
    return label if label.isupper() or name not in METRIC_NAMES else label.lower()


def _describe(
    view: Training,
    steps: Sequence[Event],
    losses: Sequence[Point],
    curves: Mapping[str, Sequence[Point]],
) -> None:
    logged = [*steps, *(({"step": row["step"], "epoch": row["epoch"]}) for row in view.rows)]
    last = max((at for event in logged if (at := number(event.get("step"))) is not None), default=0)
    view.facts.append(("Last step", amount(int(last))))
    epochs = {event.get("epoch") for event in logged if integer(event.get("epoch")) is not None}
    if epochs:
        view.facts.append(("Epochs", amount(len(epochs))))
    if losses:
        view.facts.append(("Last training loss", metric(losses[-1][1])))
    for name, points in curves.items():
        if name in HIGHER_IS_BETTER and points:
            pick = max if HIGHER_IS_BETTER[name] else min
            step, best = pick(points, key=lambda point: point[1])
            view.facts.append(
                (f"Best validation {_inside(name)}", f"{metric(best)} at step {int(step):,}")
            )
    rates = [rate for _, rate in _points(steps, lambda event: event.get("samples_per_second"))]
    if rates:
        view.facts.append(("Median samples/s", amount(int(sorted(rates)[len(rates) // 2]))))
    if odd := len([event for event in steps if "loss" in event]) - len(losses):
        view.remarks.append(
            f"{odd:,} of {len(steps):,} logged losses are not finite numbers; they are left out."
        )


def _draw(
    view: Training,
    steps: Sequence[Event],
    losses: Sequence[Point],
    curves: Mapping[str, Sequence[Point]],
) -> None:
    thin, size = _thinned(losses)
    if size > 1:
        view.remarks.append(f"Each point of the training loss is the mean of {size} logged values.")
    loss = [Series("training", thin)]
    if curves.get("logloss"):
        loss.append(Series("validation", _thinned(curves["logloss"])[0]))
    _add(view, "Loss", loss, "loss")
    for name, points in curves.items():
        if name not in UNDRAWN:
            series = [Series("validation", _thinned(points)[0])]
            _add(view, f"Validation {_inside(name)}", series, _inside(name))
    rates = _thinned(_points(steps, lambda event: event.get("lr")))[0]
    _add(view, "Learning rate", [Series("learning rate", rates)], "learning rate")
    speed = _thinned(_points(steps, lambda event: event.get("samples_per_second")))[0]
    _add(view, "Throughput", [Series("training", speed)], "samples per second")


def _add(view: Training, title: str, series: list[Series], y_label: str) -> None:
    spans = [x for line in series for x, _ in line.points]
    if spans:
        chart = line_chart(
            series,
            title=f"{title} by step",
            x_label="step",
            y_label=y_label,
            x_span=None if min(spans) == max(spans) else (min(0, *spans), max(spans)),
        )
        view.charts.append((title, chart))
