"""Charts put values where the axes say, with round ticks."""

from __future__ import annotations

import itertools
import math
import re
from xml.etree import ElementTree

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from markupsafe import Markup

from merlinkit.report.charts import Series, column_chart, line_chart, spark_bars
from merlinkit.report.ticks import nice_ticks, tick_label


def drawing(markup: Markup) -> ElementTree.Element:
    """Parse SVG as XML, which is stricter than HTML."""
    return ElementTree.fromstring(markup)


def ticks_of(svg: ElementTree.Element, anchor: str) -> list[tuple[str, float]]:
    """Return labels and places of the ticks of x (middle) or y (end)."""
    place = "x" if anchor == "middle" else "y"
    return [
        (str(text.text), float(text.attrib[place]))
        for text in svg.iter("text")
        if text.get("text-anchor") == anchor and text.get("class") is None
    ]


@pytest.mark.parametrize(
    ("low", "high", "count", "expected"),
    [
        (0, 1, 5, [0, 0.2, 0.4, 0.6, 0.8, 1.0]),
        (0.13, 0.87, 5, [0, 0.2, 0.4, 0.6, 0.8, 1.0]),
        (-7, 12, 4, [-10, -5, 0, 5, 10, 15]),
        (0, 1234, 5, [0, 250, 500, 750, 1000, 1250]),
        (1e6, 3e6, 4, [1e6, 1.5e6, 2e6, 2.5e6, 3e6]),
        (2e-5, 9e-5, 4, [2e-5, 4e-5, 6e-5, 8e-5, 1e-4]),
    ],
)
def test_ticks_are_round(low: float, high: float, count: int, expected: list[float]) -> None:
    assert nice_ticks(low, high, count) == pytest.approx(expected, abs=1e-12)


def test_ticks_of_a_single_value_surround_it() -> None:
    assert nice_ticks(0, 0) == pytest.approx([-0.6, -0.4, -0.2, 0, 0.2, 0.4, 0.6])
    ticks = nice_ticks(1.7e9, 1.7e9)
    assert ticks[0] < 1.7e9 < ticks[-1]


numbers = st.floats(-1e150, 1e150)


@settings(max_examples=200, deadline=None, derandomize=True, database=None)
@given(one=numbers, other=numbers, count=st.integers(2, 8))
def test_ticks_cover_any_span_in_few_equal_steps(one: float, other: float, count: int) -> None:
    low, high = min(one, other), max(one, other)
    ticks = nice_ticks(low, high, count)
    slack = 1e-6 * max(abs(low), abs(high))
    assert ticks[0] <= low + slack
    assert ticks[-1] >= high - slack
    assert 2 <= len(ticks) <= count + 3
    steps = [right - left for left, right in itertools.pairwise(ticks)]
    assert min(steps) > 0
    assert max(steps) == pytest.approx(min(steps), rel=1e-5)
    assert all(tick_label(tick, steps[0]) for tick in ticks)


@pytest.mark.parametrize(
    ("value", "step", "expected"),
    [
        (0, 0.2, "0"),
        (0.2, 0.2, "0.2"),
        (0.25, 0.25, "0.25"),
        (1, 0.25, "1.00"),
        (2.5, 2.5, "2.5"),
        (25, 25, "25"),
        (12_500, 2_500, "12,500"),
        (1.5e6, 5e5, "1.5 M"),
        (2e-5, 1e-5, "2e-05"),
        (-0.05, 0.05, "-0.05"),
    ],
)
def test_tick_labels_have_the_decimals_of_the_step(
    value: float, step: float, expected: str
) -> None:
    assert tick_label(value, step) == expected


def test_line_goes_where_the_axes_say() -> None:
    series = [Series("loss", [(0, 1.0), (50, 0.5), (100, 0.0)])]
    svg = drawing(line_chart(series, title="Loss", x_label="step", y_label="loss"))
    [line] = svg.iter("polyline")
    points = [tuple(map(float, point.split(","))) for point in line.attrib["points"].split()]
    x = dict(ticks_of(svg, "middle"))
    # Labels stand 4 below the middle of their line.
    y = {label: place - 4 for label, place in ticks_of(svg, "end")}
    assert list(y) == ["0", "0.2", "0.4", "0.6", "0.8", "1.0"]
    assert points[0] == (x["0"], y["1.0"])
    assert points[2] == (x["100"], y["0"])
    assert points[1] == (
        pytest.approx((x["0"] + x["100"]) / 2),
        pytest.approx((y["0"] + y["1.0"]) / 2),
    )


def test_points_tell_their_values() -> None:
    series = [Series("loss", [(100, 0.123456)])]
    svg = drawing(line_chart(series, title="Loss", x_label="step", y_label="loss"))
    assert [title.text for title in svg.iter("title")] == ["loss: 0.123456 at step 100"]


def test_legend_names_the_lines_where_there_are_several() -> None:
    two = [Series("training", [(0, 1), (1, 2)]), Series("validation", [(0, 2), (1, 3)])]
    named = drawing(line_chart(two, title="t", x_label="x", y_label="y"))
    alone = drawing(line_chart(two[:1], title="t", x_label="x", y_label="y"))
    assert {"training", "validation"} <= {text.text for text in named.iter("text")}
    assert "training" not in {text.text for text in alone.iter("text")}


def test_series_without_points_are_left_out() -> None:
    chart = line_chart(
        [Series("empty", []), Series("full", [(0, 1)])], title="t", x_label="x", y_label="y"
    )
    assert "empty" not in chart
    assert line_chart([Series("empty", [])], title="t", x_label="x", y_label="y") == ""
    assert line_chart([], title="t", x_label="x", y_label="y") == ""


def test_diagonal_ends_where_both_axes_reach() -> None:
    span = (0.0, 0.4)
    svg = drawing(
        line_chart(
            [Series("model", [(0.1, 0.3)])],
            title="t",
            x_label="x",
            y_label="y",
            x_span=span,
            y_span=span,
            diagonal=True,
        )
    )
    [ideal] = [line for line in svg.iter("line") if line.get("class") == "ideal"]
    x = dict(ticks_of(svg, "middle"))
    y = {label: place - 4 for label, place in ticks_of(svg, "end")}
    assert (float(ideal.attrib["x1"]), float(ideal.attrib["y1"])) == (x["0"], y["0"])
    assert (float(ideal.attrib["x2"]), float(ideal.attrib["y2"])) == (x["0.4"], y["0.4"])


def test_columns_are_as_high_as_their_values() -> None:
    svg = drawing(
        column_chart(
            [(0, 0.5, 100), (0.5, 1, 25)], title="t", x_label="x", y_label="rows", x_span=(0, 1)
        )
    )
    heights = [float(bar.attrib["height"]) for bar in svg.iter("rect")]
    assert heights[1] / heights[0] == pytest.approx(0.25, abs=0.01)
    assert [title.text for title in svg.iter("title")] == ["0 to 0.5: 100", "0.5 to 1: 25"]
    assert column_chart([], title="t", x_label="x", y_label="y", x_span=(0, 1)) == ""


def test_small_bars_are_seen_and_zeros_are_not() -> None:
    svg = drawing(spark_bars([1000, 1, 0, 500], "three bars", width=120, height=28))
    [path] = svg.iter("path")
    heights = [float(tall) for tall in re.findall(r"v-([\d.]+)", path.attrib["d"])]
    assert heights == [28, 1, 14]
    places = [float(x) for x in re.findall(r"M([\d.]+) ", path.attrib["d"])]
    assert places == [15, 45, 105]
    assert spark_bars([0, 0], "nothing") == ""
    assert spark_bars([], "nothing") == ""


def test_text_is_escaped() -> None:
    label = "<b>&\"'"
    chart = line_chart([Series(label, [(0, 1)])] * 2, title=label, x_label=label, y_label=label)
    svg = drawing(chart)
    assert not list(svg.iter("b"))
    assert svg.attrib["aria-label"].startswith(label)
    assert label in {text.text for text in svg.iter("text")}
    assert drawing(spark_bars([1], label)).find("title").text == label  # type: ignore[union-attr]


def test_places_are_finite_for_values_of_any_size() -> None:
    series = [Series("s", [(-1e149, 1e149), (0, -1e149), (1e149, 1e-300)])]
    svg = drawing(line_chart(series, title="t", x_label="x", y_label="y"))
    [line] = svg.iter("polyline")
    numbers = [float(part) for point in line.attrib["points"].split() for part in point.split(",")]
    assert all(math.isfinite(number) and 0 <= number <= 560 for number in numbers)
