"""Operators that scale, fill, narrow and describe numbers, beyond their examples."""

from __future__ import annotations

import statistics
from datetime import date, datetime, timedelta

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from merlinkit import Workflow, ops
from merlinkit.engine.cudf_dialect import CudfDialect
from merlinkit.errors import DataError
from merlinkit.ops.base import State
from merlinkit.schema import Domain, Schema

SEEDED = settings(max_examples=40, deadline=None, derandomize=True, database=None)
INF = float("inf")


def fitted(operator: ops.Operator, x: pl.Series) -> Workflow:
    return Workflow(["x"] >> operator).fit(x.alias("x").to_frame())


def applied(workflow: Workflow, x: pl.Series) -> list[object]:
    return workflow.transform(x.alias("x").to_frame()).collect()["x"].to_list()


# -- NormalizeMinMax --------------------------------------------------------------------------


def test_an_infinite_value_in_a_constant_column_is_no_nan():
    workflow = fitted(ops.NormalizeMinMax(), pl.Series([5.0, 5.0]))
    assert applied(workflow, pl.Series([INF, -INF, 1.0, None])) == [0.0, 0.0, 0.0, None]


@pytest.mark.parametrize("x", [[-1.7e308, 1.7e308], [0.0, 5e-324]], ids=["wide", "narrow"])
def test_a_range_that_no_float_can_divide_by_is_an_error(x):
    with pytest.raises(DataError, match="range of column 'x' .* too large or too small"):
        fitted(ops.NormalizeMinMax(), pl.Series(x))


@pytest.mark.parametrize(
    ("dtype", "x"),
    [(pl.UInt8, [0, 3, 255, None]), (pl.Int16, [7, 7]), (pl.Int64, [1_700_000_000, 1_700_000_001])],
)
def test_whole_numbers_come_back_from_their_place_in_the_range(dtype, x):
    values = pl.Series("x", x, dtype=dtype)
    workflow = fitted(ops.NormalizeMinMax(out_dtype="float64"), values)
    scaled = workflow.transform(values.to_frame()).collect()
    assert workflow.inverse_transform(scaled).collect()["x"].equals(values)


# -- FillMedian -------------------------------------------------------------------------------


@SEEDED
@given(st.lists(st.integers(-(2**63), 2**63 - 1), min_size=1, max_size=30), st.integers(0, 30))
def test_the_median_is_that_of_sorted_numbers_however_they_are_cut(x, cut):
    ordered = sorted(x)
    # Python's integers have no limit, so this does not overflow.
    expected = (ordered[(len(x) - 1) // 2] + ordered[len(x) // 2]) // 2
    workflow = fitted(ops.FillMedian(), pl.Series(x[:cut], dtype=pl.Int64))
    workflow.update(pl.DataFrame({"x": x[cut:]}, schema={"x": pl.Int64}))
    assert applied(workflow, pl.Series([None], dtype=pl.Int64)) == [expected]


@SEEDED
@given(st.lists(st.floats(-1e9, 1e9), min_size=1, max_size=30))
def test_the_median_of_floats_is_that_of_the_standard_library(x):
    workflow = fitted(ops.FillMedian(), pl.Series(x))
    found = applied(workflow, pl.Series([None], dtype=pl.Float64))
    assert found == [pytest.approx(statistics.median(x), rel=1e-12, abs=1e-300)]


def test_the_median_of_large_numbers_stays_in_their_type():
    x = pl.Series([2**64 - 1, 2**64 - 1], dtype=pl.UInt64)
    assert applied(fitted(ops.FillMedian(), x), x.clear(1)) == [2**64 - 1]


@pytest.mark.parametrize("x", [[5.0, INF], [INF, INF], [-INF, INF]])
def test_an_infinite_median_is_an_error(x):
    with pytest.raises(DataError, match="median of column 'x' is infinite"):
        fitted(ops.FillMedian(), pl.Series(x))


def test_infinite_values_beside_the_median_are_values():
    assert applied(fitted(ops.FillMedian(), pl.Series([5.0, 6.0, INF])), pl.Series([None])) == [6.0]


def test_flags_of_filled_values_are_those_of_fill_missing():
    frame = pl.DataFrame({"x": [1, None]})

    def flag(operator: ops.Operator) -> object:
        node = ["x"] >> ops.TagAsUserFeatures() >> operator
        return Workflow(node).fit(frame).output_schema["x_filled"]

    assert flag(ops.FillMedian(add_binary_cols=True)) == flag(ops.FillMissing(0, True))
    assert flag(ops.FillMedian(add_binary_cols=True)).domain == Domain(0, 1)


# -- ReduceDtypeSize --------------------------------------------------------------------------


@pytest.mark.parametrize("x", [[1e300], [None, 0.5, -3.5e38]])
def test_a_float_beyond_float32_is_an_error_that_names_the_column(x):
    workflow = fitted(ops.ReduceDtypeSize(), pl.Series([1.0]))
    with pytest.raises(DataError, match="column 'x': .*e\\+\\d+ does not fit Float32"):
        applied(workflow, pl.Series(x))
    assert applied(workflow, pl.Series([INF, None, 0.5])) == [INF, None, 0.5]


@pytest.mark.parametrize(
    ("dtype", "low", "high", "x", "expected"),
    [
        (pl.Int64, -1, 100, [-129, -128, 127, 128, None], [None, -128, 127, None, None]),
        (pl.UInt64, 0, 100, [127, 128, 2**64 - 1, None], [127, None, None, None]),
        (pl.Float64, None, None, [1e300, INF, 0.5, None], [None, INF, 0.5, None]),
    ],
    ids=["signed", "unsigned", "float"],
)
def test_the_plan_for_cudf_has_null_for_what_does_not_fit(dtype, low, high, x, expected):
    # cuDF wraps values around, so that its plan must not cast them; Polars runs the same plan.
    values = pl.Series("x", x, dtype=dtype).to_frame()
    state = State({"x": [{"min": low, "max": high}]})
    plan = ops.ReduceDtypeSize().transform(
        values.lazy(), Schema.from_polars(values.schema), state, CudfDialect()
    )
    assert plan.collect()["x"].to_list() == expected


def test_ids_of_a_smaller_type_are_turned_back():
    frame = pl.DataFrame({"s": ["a", "b", "a", None]})
    workflow = Workflow(["s"] >> ops.Categorify() >> ops.ReduceDtypeSize()).fit(frame)
    ids = workflow.transform(frame).collect()
    assert ids.schema == {"s": pl.Int8}
    assert workflow.inverse_transform(ids).collect().equals(frame)


# -- HashBucket -------------------------------------------------------------------------------


def test_buckets_of_ids_have_no_padding():
    frame = pl.DataFrame({"s": ["a", "b"]})
    node = ["s"] >> ops.Categorify() >> ops.AddProperties({"shop": 1}) >> ops.HashBucket(5)
    assert Workflow(node).fit(frame).output_schema["s"].properties == {"shop": 1}


# -- DataStats --------------------------------------------------------------------------------


def stats(frame: pl.DataFrame) -> dict[str, dict[str, object]]:
    workflow = Workflow(frame.columns >> ops.DataStats()).fit(frame)
    return ops.DataStats.stats(workflow.state(workflow.output))


@pytest.mark.parametrize(
    ("values", "low", "high"),
    [
        (["b", "é", "a", None], "a", "é"),
        ([date(2026, 2, 1), date(1969, 12, 31), None], "1969-12-31", "2026-02-01"),
        (
            [datetime(2026, 1, 1, 12), datetime(2026, 1, 1, 9)],
            "2026-01-01 09:00:00.000000",
            "2026-01-01 12:00:00.000000",
        ),
        ([timedelta(hours=2), timedelta(seconds=-1)], "-1 day, 23:59:59", "2:00:00"),
        ([[date(2026, 2, 1), None], [], [date(2026, 1, 1)]], "2026-01-01", "2026-02-01"),
    ],
    ids=["strings", "dates", "datetimes", "durations", "lists"],
)
def test_extremes_of_text_and_times_are_text(values, low, high):
    found = stats(pl.DataFrame({"x": values}))["x"]
    assert (found["min"], found["max"]) == (low, high)
    assert "mean" not in found


def test_figures_that_there_are_not_are_none():
    schema = {"d": pl.Date, "l": pl.List(pl.Int64)}
    found = stats(pl.DataFrame({"d": [None], "l": [None]}, schema=schema))
    assert found["d"] == {"values": 1, "nulls": 1, "distinct": 0, "min": None, "max": None}
    assert found["l"]["lists"] == 0
    assert found["l"]["min_length"] is None


# -- DropLowCardinality -----------------------------------------------------------------------

FEW = pl.DataFrame({"a": ["x", "x"], "b": ["p", "q"]})


def test_an_update_leaves_the_choice_of_columns_as_it_is(tmp_path):
    node = ["a", "b"] >> ops.Categorify() >> ops.DropLowCardinality(5) >> ops.Normalize()
    workflow = Workflow(node).fit(FEW)
    workflow.update(pl.DataFrame({"a": ["y", "z"], "b": ["p", "p"]}))
    assert workflow.transform(FEW).collect().columns == ["b"]
    workflow.save(tmp_path / "saved")
    loaded = Workflow.load(tmp_path / "saved")
    assert loaded.transform(FEW).collect().columns == ["b"]


def test_all_columns_may_be_dropped(tmp_path):
    node = (["a"] >> ops.Categorify() >> ops.DropLowCardinality(5)) + ["b"]
    workflow = Workflow(node).fit(FEW)
    workflow.save(tmp_path / "saved")
    for applied_one in (workflow, Workflow.load(tmp_path / "saved")):
        assert applied_one.transform(FEW).collect().equals(FEW.select("b"))
