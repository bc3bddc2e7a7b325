"""Small charts as inline SVG.

Plotting libraries were measured for one line chart: plotly puts 4.8 MB of script into the page,
pygal 72 kB with a script from the network, and matplotlib installs 100 MB for 16 kB of SVG whose
colours don't follow a dark page and whose points say nothing when hovered. A chart here is 5 to
15 kB, takes its colours from the page's style sheet and tells its values to a screen reader.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from markupsafe import Markup

from merlinkit.report.formats import amount, short
from merlinkit.report.ticks import Span, nice_ticks, tick_label, widened

__all__ = ["Point", "Series", "column_chart", "line_chart", "spark_bars"]

WIDTH = 560
HEIGHT = 250
LEFT, RIGHT, TOP, BOTTOM = 58, 14, 30, 42
HOVERED = 60
"""Points of a line that answer to the pointer; more would only make the page larger."""

DOTS = 40
"""Up to so many points are drawn as dots."""

Point = tuple[float, float]


@dataclass(frozen=True)
class Series:
    """One line: its name in the legend, and finite points in the order of x."""

    label: str
    points: Sequence[Point]


@dataclass(frozen=True)
class _Scale:
    """From values to places in the drawing."""

    low: float
    high: float
    start: float
    end: float

    def __call__(self, value: float) -> float:
        share = (value - self.low) / (self.high - self.low)
        return round(self.start + share * (self.end - self.start), 1)


def _span(values: Sequence[float]) -> Span:
    return widened(min(values), max(values))


def _axes(
    x: _Scale, y: _Scale, ticks: tuple[list[float], list[float]], labels: tuple[str, str]
) -> Markup:
    """Draw grid, ticks and labels."""
    out = Markup("")
    for tick in ticks[1]:
        label = tick_label(tick, ticks[1][1] - ticks[1][0])
        out += Markup(
            '<line class="grid" x1="{0}" x2="{1}" y1="{2}" y2="{2}"/>'
            '<text x="{3}" y="{4}" text-anchor="end">{5}</text>'
        ).format(x.start, x.end, y(tick), x.start - 7, y(tick) + 4, label)
    for tick in ticks[0]:
        if x.low <= tick <= x.high:
            label = tick_label(tick, ticks[0][1] - ticks[0][0])
            out += Markup(
                '<line class="tick" x1="{0}" x2="{0}" y1="{1}" y2="{2}"/>'
                '<text x="{0}" y="{3}" text-anchor="middle">{4}</text>'
            ).format(x(tick), y.start, y.start + 4, y.start + 17, label)
    return out + Markup(
        '<line class="axis" x1="{0}" x2="{1}" y1="{2}" y2="{2}"/>'
        '<text class="label" x="{3}" y="{4}" text-anchor="middle">{5}</text>'
        '<text class="label" x="{6}" y="16">{7}</text>'
    ).format(x.start, x.end, y.start, (x.start + x.end) / 2, y.start + 34, labels[0], 4, labels[1])


def _svg(height: int, title: str, body: Markup) -> Markup:
    return Markup(
        '<svg class="chart" viewBox="0 0 {0} {1}" role="img" aria-label="{2}">{3}</svg>'
    ).format(WIDTH, height, short(title, 400), body)


def _legend(series: Sequence[Series]) -> Markup:
    """Name the lines at the top right, from right to left."""
    out = Markup("")
    right = float(WIDTH - RIGHT)
    for index in reversed(range(len(series))):
        label = short(series[index].label, 24)
        out += Markup('<text x="{0}" y="16" text-anchor="end">{1}</text>').format(right, label)
        right -= 6.4 * len(label) + 8
        out += Markup('<line class="line s{0}" x1="{1}" x2="{2}" y1="12" y2="12"/>').format(
            index % 4, round(right - 18, 1), round(right, 1)
        )
        right -= 32
    return out


def line_chart(
    series: Sequence[Series],
    *,
    title: str,
    x_label: str,
    y_label: str,
    x_span: Span | None = None,
    y_span: Span | None = None,
    diagonal: bool = False,
    height: int = HEIGHT,
) -> Markup:
    """Return lines over a common x axis; empty where no series has a point.

    Parameters
    ----------
    series
        The lines.
    title
        What a screen reader says; ranges of the lines are added to it.
    x_label, y_label
        Names of the axes.
    x_span, y_span
        Ends of the axes; by default those of the points, on y widened to round numbers.
    diagonal
        Whether to draw the line where y equals x.
    height
        Height of the drawing, whose width is 560.
    """
    drawn = [line for line in series if line.points]
    if not drawn:
        return Markup("")
    low, high = x_span or _span([px for line in drawn for px, _ in line.points])
    x = _Scale(low, high, LEFT, WIDTH - RIGHT)
    y_ticks = nice_ticks(*(y_span or _span([py for line in drawn for _, py in line.points])))
    y = _Scale(y_ticks[0], y_ticks[-1], height - BOTTOM, TOP)
    body = _axes(x, y, (nice_ticks(low, high, 6), y_ticks), (x_label, y_label))
    if diagonal:
        start, end = max(x.low, y.low), min(x.high, y.high)
        body += Markup('<line class="ideal" x1="{}" y1="{}" x2="{}" y2="{}"/>').format(
            x(start), y(start), x(end), y(end)
        )
    body += _legend(drawn) if len(drawn) > 1 else Markup("")
    for index, line in enumerate(drawn):
        path = " ".join(f"{x(px)},{y(py)}" for px, py in line.points)
        body += Markup('<polyline class="line s{}" points="{}"/>').format(index % 4, path)
        body += _hover(line, index, x, y, (x_label, y_label))
        values = [py for _, py in line.points]
        title += (
            f"; {line.label}: {len(values)} points, first {amount(values[0])}, "
            f"last {amount(values[-1])}, {amount(min(values))} to {amount(max(values))}"
        )
    return _svg(height, title, body)


def _hover(line: Series, index: int, x: _Scale, y: _Scale, labels: tuple[str, str]) -> Markup:
    """Mark some points and let them tell their values."""
    dots = len(line.points) <= DOTS
    stride = max(1, math.ceil(len(line.points) / HOVERED))
    out = Markup("")
    for px, py in line.points[::stride]:
        out += Markup(
            '<circle class="{}" cx="{}" cy="{}" r="{}"><title>{}</title></circle>'
        ).format(
            f"dot s{index % 4}" if dots else "hit",
            x(px),
            y(py),
            3 if dots else 7,
            f"{line.label}: {amount(py, 6)} at {labels[0]} {amount(px, 6)}",
        )
    return out


def column_chart(
    columns: Sequence[tuple[float, float, float]],
    *,
    title: str,
    x_label: str,
    y_label: str,
    x_span: Span,
    height: int = 150,
) -> Markup:
    """Return columns given as (left end, right end, value of at least 0) on an axis of numbers."""
    if not columns:
        return Markup("")
    x = _Scale(*widened(*x_span), LEFT, WIDTH - RIGHT)
    ticks = nice_ticks(0, max(value for *_, value in columns) or 1, 3)
    y = _Scale(ticks[0], ticks[-1], height - BOTTOM, TOP)
    body = _axes(x, y, (nice_ticks(x.low, x.high, 6), ticks), (x_label, y_label))
    for left, right, value in columns:
        start, end = x(max(left, x.low)), x(min(right, x.high))
        body += Markup(
            '<rect class="column" x="{}" y="{}" width="{}" height="{}"><title>{}</title></rect>'
        ).format(
            start,
            y(value),
            max(1.0, round(end - start - 1, 1)),
            round(y.start - y(value), 1),
            f"{amount(left)} to {amount(right)}: {amount(value)}",
        )
    return _svg(height, title, body)


def spark_bars(values: Sequence[float], title: str, width: int = 120, height: int = 28) -> Markup:
    """Return bars without axes as a single path, for a table's cell; values are at least 0."""
    top = max(values, default=0)
    if top <= 0:
        return Markup("")
    step = width / len(values)
    # A bar is a thick stroke from the ground up, and seen however small it is.
    path = "".join(
        f"M{(index + 0.5) * step:.4g} {height}v-{max(1.0, value / top * height):.3g}"
        for index, value in enumerate(values)
        if value > 0
    )
    return Markup(
        '<svg class="spark" viewBox="0 0 {0} {1}" width="{0}" height="{1}" role="img">'
        '<title>{2}</title><path stroke-width="{3}" d="{4}"/></svg>'
    ).format(width, height, short(title, 300), f"{step * 0.86:.3g}", path)
