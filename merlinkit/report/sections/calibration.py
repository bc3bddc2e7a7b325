"""Calibration: how often labels were positive where the model said they would be."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from markupsafe import Markup

from merlinkit.report.charts import Series, column_chart, line_chart
from merlinkit.report.coerce import mapping, number, sequence
from merlinkit.report.record import PARTS, RunRecord
from merlinkit.report.sections.overview import PART_NAMES
from merlinkit.report.ticks import nice_ticks

__all__ = ["Bin", "Calibration", "calibration"]

MOST_BINS = 1_000


@dataclass(frozen=True)
class Bin:
    """Rows whose predictions lie between two ends."""

    low: float
    high: float
    count: float
    prediction: float | None
    label: float | None


@dataclass(frozen=True)
class Calibration:
    """What the template shows for one part."""

    part: str
    error: object
    bins: list[Bin]
    reliability: Markup
    counts: Markup


def calibration(record: RunRecord) -> list[Calibration]:
    """Return one entry a part that has bins with rows."""
    content = record.calibration
    ordered = sorted(content, key=lambda part: PARTS.index(part) if part in PARTS else len(PARTS))
    found = []
    for part in ordered[:10]:
        entry = mapping(content[part])
        bins = [
            parsed
            for raw in sequence(entry.get("bins"))[:MOST_BINS]
            if (parsed := _bin(mapping(raw))) is not None
        ]
        if bins:
            name = PART_NAMES.get(part, part)
            found.append(Calibration(name, entry.get("ece"), bins, *_charts(name, bins)))
    return found


def _bin(raw: Mapping[str, Any]) -> Bin | None:
    low, high = number(raw.get("low")), number(raw.get("high"))
    count = number(raw.get("count"))
    if low is None or high is None or not count or count < 0:
        return None
    return Bin(
        low,
        high,
        count,
        number(raw.get("mean_prediction")),
        number(raw.get("mean_label")),
    )


def _charts(part: str, bins: list[Bin]) -> tuple[Markup, Markup]:
    """Draw both charts over one x axis that ends where the predictions do.

    Click-through rates are small: an axis from 0 to 1 would leave all points in one corner.
    """
    points = sorted(
        (b.prediction, b.label) for b in bins if b.prediction is not None and b.label is not None
    )
    ends = [value for point in points for value in point]
    top = min(1.0, nice_ticks(0, max(ends))[-1]) if ends and max(ends) > 0 else 1.0
    span = (min([0.0, *ends]), max([top, *ends]))
    reliability = line_chart(
        [Series("model", points)],
        title=f"Reliability diagram, {part}: mean label by mean prediction",
        x_label="mean prediction",
        y_label="mean label",
        x_span=span,
        y_span=span,
        diagonal=True,
        height=320,
    )
    counts = column_chart(
        [(b.low, b.high, b.count) for b in bins if b.high >= span[0] and b.low <= span[1]],
        title=f"Rows by prediction, {part}",
        x_label="prediction",
        y_label="rows",
        x_span=span,
    )
    return reliability, counts
