"""Expressions that are long or deep: they work as far as is promised, and then are one error."""

from __future__ import annotations

from functools import reduce

import polars as pl
import pytest

from merlinkit import Workflow, ops
from merlinkit.errors import ArtifactError, ParameterError

FRAME = pl.DataFrame({"x": [1.0, None], "s": ["a", "b"]})
CHAINS = {
    "sum": (lambda n: "+".join(["x"] * n), 240),
    "and": (lambda n: " AND ".join(["x > 0"] * n), 240),
    "text": (lambda n: " || ".join(["s"] * n), 120),
    "case": (
        lambda n: "CASE " + " ".join(f"WHEN x > {i} THEN {i}" for i in range(n)) + " ELSE 0 END",
        240,
    ),
}


@pytest.mark.parametrize("kind", CHAINS)
def test_long_sql_works_and_is_saved_as_far_as_is_promised(tmp_path, kind):
    text, most = CHAINS[kind]
    workflow = Workflow(["x", "s"] >> ops.Expression(text(most), name="y")).fit(FRAME)
    workflow.save(tmp_path / "saved")
    result = Workflow.load(tmp_path / "saved").transform(FRAME).collect()["y"]
    expected = {"sum": most, "and": True, "text": "a" * most, "case": 0}[kind]
    assert result[0] == expected


@pytest.mark.parametrize("kind", CHAINS)
@pytest.mark.parametrize("terms", [400, 1000])
def test_sql_nested_too_deep_is_one_clear_error(kind, terms):
    with pytest.raises(ParameterError, match=r"Expression: expr .*too (deep|long).*Split it"):
        ops.Expression(CHAINS[kind][0](terms), name="y")


@pytest.mark.parametrize("kind", CHAINS)
def test_sql_that_would_crash_the_parser_is_one_clear_error(kind):
    with pytest.raises(ParameterError, match="too long: it has more than 2,000 operations"):
        ops.Filter(CHAINS[kind][0](100_000))


@pytest.mark.parametrize(
    "text",
    [
        "x" + "::float" * 50_000,
        "INTERVAL " * 1900 + "'1'",
        "x" + " COLLATE c" * 50_000,
        "x" + "[0]" * 50_000,
        "@" * 50_000 + "x",
    ],
    ids=["cast", "interval", "collate", "index", "abs"],
)
def test_other_chains_that_would_crash_the_parser_are_one_clear_error(text):
    with pytest.raises(ParameterError, match="too long: it has more than 2,000 operations"):
        ops.Expression(text, name="y")


def test_nested_brackets_that_the_parser_never_gets_through_are_one_clear_error():
    with pytest.raises(ParameterError, match="too deep: at most 4 square brackets"):
        ops.Expression("ARRAY[" * 60 + "1" + "]" * 60, name="y")


def test_a_long_list_of_small_numbers_is_not_long():
    listed = ", ".join(f"{number}.5e-3" for number in range(4000))
    ops.Expression(f"x IN ({listed})", name="y")


def test_a_long_list_of_values_is_not_deep():
    listed = ", ".join(str(number) for number in range(-4000, 4000))
    workflow = Workflow(["x"] >> ops.Expression(f"x IN ({listed})", name="y"))
    assert workflow.fit_transform(FRAME).collect()["y"].to_list() == [True, None]


@pytest.mark.parametrize(
    ("step", "most"),
    [(lambda e: e + 1, 60), (lambda e: e.abs(), 40), (lambda e: pl.max_horizontal(e, 1), 40)],
)
def test_a_polars_expression_that_could_not_be_loaded_is_refused_at_once(tmp_path, step, most):
    def nested(times):
        return reduce(lambda expr, _: step(expr), range(times), pl.col("x"))

    workflow = Workflow(["x"] >> ops.Expression(nested(most), name="y")).fit(FRAME)
    workflow.save(tmp_path / "saved")
    loaded = Workflow.load(tmp_path / "saved").transform(FRAME).collect()
    assert loaded.equals(workflow.transform(FRAME).collect())
    for times in (65, 400, 5000):
        with pytest.raises(ParameterError, match="nested too deep.*Split it"):
            ops.Expression(nested(times), name="y")


@pytest.mark.parametrize("depth", [200, 100_000])
def test_a_saved_expression_that_is_nested_too_deep_is_refused(depth):
    text = '{"Alias":[' * depth + '{"Column":"x"}' + ',"y"]}' * depth
    with pytest.raises(ArtifactError, match=r"not a saved expression"):
        ops.Expression("polars-json:" + text, name="y")
