"""The profile says of raw data what pandas, NumPy or a look at the rows says."""

from __future__ import annotations

import json
from collections.abc import Sequence
from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest

from merlinkit.engine.cpu import CpuEngine
from merlinkit.errors import ParameterError, SchemaError
from merlinkit.report import profile as profile_module
from merlinkit.report.profile import build_profile, profile_plans
from merlinkit.schema import Column, Schema
from tests.report.runs import Run


def profile_of(frame: pl.DataFrame | pl.LazyFrame, **options: Any) -> dict[str, Any]:
    """Profile one part and check that the result is strict JSON."""
    lazy = frame.lazy()
    schema = Schema.from_polars(lazy.collect_schema())
    found = build_profile({"train": lazy}, schema, CpuEngine(), **options)
    return json.loads(json.dumps(found, allow_nan=False))  # type: ignore[no-any-return]


def entry_of(
    values: Sequence[Any] | pl.Series, dtype: Any = None, **options: Any
) -> dict[str, Any]:
    """Profile one column."""
    frame = pl.DataFrame({"x": values}, schema=None if dtype is None else {"x": dtype})
    [entry] = profile_of(frame, **options)["columns"]
    return entry


class RecordingEngine(CpuEngine):
    """Keeps the sizes of what reached the client."""

    def __init__(self) -> None:
        super().__init__()
        self.heights: list[int] = []
        self.calls = 0

    def collect(self, plans: Sequence[pl.LazyFrame]) -> list[pl.DataFrame]:
        results = super().collect(plans)
        self.calls += bool(plans)
        self.heights.extend(result.height for result in results)
        return results


def test_whole_numbers() -> None:
    entry = entry_of([3, None, 1, 3, 8, None, 3], pl.Int16)
    assert entry == {
        "name": "x",
        "dtype": "Int16",
        "part": "train",
        "rows": 7,
        "nulls": 2,
        "nans": 0,
        "infinite": 0,
        "distinct": 3,
        "distinct_exact": True,
        "min": 1,
        "max": 8,
        # 3 + 1 + 3 + 8 + 3 = 18; squares of the differences to 3.6: 27.2.
        "mean": pytest.approx(3.6),
        "std": pytest.approx((27.2 / 4) ** 0.5),
        "list_length": None,
        "top": [[3, 3], [1, 1], [8, 1]],
        "histogram": {
            "edges": [0.5, 1.5, 2.5, 3.5, 4.5, 5.5, 6.5, 7.5, 8.5],
            "counts": [1, 0, 3, 0, 0, 0, 0, 1],
        },
        "sampled": False,
        "sampled_values": 5,
    }


def test_nan_and_infinity_are_counted_apart_from_nulls() -> None:
    entry = entry_of([1.0, float("nan"), None, float("inf"), 3.0, float("-inf"), float("nan")])
    assert (entry["nulls"], entry["nans"], entry["infinite"]) == (1, 2, 2)
    assert (entry["min"], entry["max"], entry["mean"]) == (1.0, 3.0, 2.0)
    assert entry["std"] == pytest.approx(2**0.5)
    assert entry["distinct"] == 4
    assert entry["top"] == [[1.0, 1], [3.0, 1]]
    assert sum(entry["histogram"]["counts"]) == 2


def test_moments_agree_with_pandas() -> None:
    random = np.random.default_rng(7)
    frame = pl.DataFrame(
        {
            "real": random.normal(3, 2, 5_000).astype(np.float32),
            "whole": random.integers(-50, 50, 5_000),
            "flag": random.random(5_000) < 0.3,
        }
    )
    expected = pd.DataFrame({name: frame[name].to_numpy() for name in frame.columns})
    for entry in profile_of(frame)["columns"]:
        column = expected[entry["name"]].astype(np.float64)
        assert entry["mean"] == pytest.approx(column.mean())
        assert entry["std"] == pytest.approx(column.std())
        assert entry["distinct"] == expected[entry["name"]].nunique()


def test_deviation_of_timestamps_as_numbers() -> None:
    values = 1.7e9 + np.random.default_rng(1).normal(0, 5, 20_000)
    assert entry_of(pl.Series(values))["std"] == pytest.approx(np.std(values, ddof=1), rel=1e-6)


def test_histogram_agrees_with_numpy() -> None:
    values = np.random.default_rng(2).gamma(2, 3, 10_000)
    found = entry_of(pl.Series(values))["histogram"]
    counts, edges = np.histogram(values, bins=20)
    assert found["counts"] == counts.tolist()
    assert found["edges"] == pytest.approx(edges.tolist())


@pytest.mark.parametrize(
    ("values", "dtype"),
    [
        ([5.0, 5.0], pl.Float64),
        ([-1.7e308, 1.7e308], pl.Float64),
        ([None, None], pl.Float64),
        ([], pl.Int64),
        (["a"], pl.String),
    ],
)
def test_columns_without_a_range_have_no_histogram(values: list[Any], dtype: pl.DataType) -> None:
    assert entry_of(values, dtype)["histogram"] is None


def test_one_whole_number_is_one_bin() -> None:
    assert entry_of([7, 7, 7])["histogram"] == {"edges": [6.5, 7.5], "counts": [3]}


def test_text() -> None:
    entry = entry_of(["b", "a", None, "b", ""])
    assert (entry["min"], entry["max"], entry["distinct"]) == ("", "b", 3)
    assert entry["top"] == [["b", 2], ["", 1], ["a", 1]]
    assert entry["mean"] is None


def test_text_is_cut() -> None:
    entry = entry_of(["x" * 10_000, "y"])
    assert entry["min"] == "x" * 200
    assert entry["top"][0] == ["x" * 200, 1]
    assert entry["distinct"] == 2


def test_ten_most_frequent_values_ties_by_value() -> None:
    values = [f"v{k:02d}" for k in range(30) for _ in range(2 if k == 29 else 1)]
    assert entry_of(values)["top"] == [["v29", 2], *([f"v{k:02d}", 1] for k in range(9))]


def test_lists_are_described_by_their_elements_and_lengths() -> None:
    entry = entry_of([[1, 2, 2], [], None, [None, 9]], pl.List(pl.Int64))
    assert entry["dtype"] == "List(Int64)"
    assert (entry["rows"], entry["nulls"]) == (4, 1)
    assert entry["list_length"] == {"min": 0, "mean": pytest.approx(5 / 3), "max": 3}
    assert (entry["min"], entry["max"], entry["mean"], entry["distinct"]) == (1, 9, 3.5, 3)
    assert entry["top"] == [[2, 2], [1, 1], [9, 1]]


def test_times_are_iso_strings() -> None:
    moments = [datetime(2026, 1, 1, tzinfo=UTC), datetime(2026, 1, 1, 0, 0, 20, 500, tzinfo=UTC)]
    entry = entry_of(moments)
    assert entry["min"] == "2026-01-01T00:00:00+00:00"
    assert entry["max"] == "2026-01-01T00:00:20.000500+00:00"
    assert entry["histogram"]["edges"][0] == entry["min"]
    assert entry["histogram"]["edges"][-1] == entry["max"]
    assert entry["histogram"]["counts"] == [1, *([0] * 18), 1]
    assert entry_of([date(2026, 1, 1), date(2026, 1, 3)])["mean"] == "2026-01-02T00:00:00"
    assert entry_of([time(9, 30)])["min"] == "09:30:00"


def test_durations_are_seconds_and_decimals_are_numbers() -> None:
    for unit in ("ms", "us", "ns"):
        entry = entry_of([timedelta(seconds=90), timedelta(seconds=30)], pl.Duration(unit))
        assert (entry["min"], entry["max"], entry["mean"]) == (30.0, 90.0, 60.0)
    entry = entry_of([Decimal("1.50"), Decimal("2.25")], pl.Decimal(10, 2))
    assert (entry["min"], entry["max"]) == (1.5, 2.25)


def test_columns_of_any_type_have_rows_and_nulls() -> None:
    frame = pl.DataFrame(
        {
            "struct": [{"a": 1}, None],
            "binary": [b"x", None],
            "null": [None, None],
            "array": pl.Series([[1, 2], None], dtype=pl.Array(pl.Int64, 2)),
            "nested": [[[1], [2]], None],
            "structs": [[{"a": 1}], None],
            "category": pl.Series(["x", None], dtype=pl.Categorical),
            "enum": pl.Series(["x", None], dtype=pl.Enum(["x", "y"])),
            "unsigned": pl.Series([2**64 - 1, None], dtype=pl.UInt64),
        }
    )
    entries = {entry["name"]: entry for entry in profile_of(frame)["columns"]}
    assert [entry["rows"] for entry in entries.values()] == [2] * 9
    assert [entry["nulls"] for entry in entries.values()] == [1, 1, 2, 1, 1, 1, 1, 1, 1]
    assert entries["nested"]["list_length"] == {"min": 2, "mean": 2, "max": 2}
    assert entries["category"]["top"] == entries["enum"]["top"] == [["x", 1]]
    assert entries["unsigned"]["max"] == 2**64 - 1


def test_empty_and_all_null_data() -> None:
    frame = pl.DataFrame(
        {"a": [None, None], "b": [None, None], "c": [None, None]},
        schema={"a": pl.Int64, "b": pl.String, "c": pl.List(pl.Float64)},
    )
    for part in (frame, frame.clear()):
        found = profile_of(part)
        assert found["parts"] == {"train": part.height}
        for entry in found["columns"]:
            assert (entry["nulls"], entry["distinct"]) == (part.height, 0)
            assert entry["min"] is entry["max"] is entry["mean"] is None
            assert entry["top"] == []


def test_column_names_that_mean_something_in_expressions() -> None:
    frame = pl.DataFrame({"^.*$": [1], "*": [2], "c0": [3], "rows": [4], "a:nulls": [5], "": [6]})
    found = {entry["name"]: entry["max"] for entry in profile_of(frame)["columns"]}
    assert found == {"^.*$": 1, "*": 2, "c0": 3, "rows": 4, "a:nulls": 5, "": 6}


def test_parts_are_described_apart_in_their_order() -> None:
    frame = pl.LazyFrame({"x": [1, 2, 3, 4]})
    schema = Schema.from_polars(frame.collect_schema())
    parts = {"train": frame.head(3), "test": frame.tail(1)}
    found = build_profile(parts, schema, CpuEngine())
    assert found["parts"] == {"train": 3, "test": 1}
    assert [(e["part"], e["min"]) for e in found["columns"]] == [("train", 1), ("test", 4)]


def test_columns_outside_the_schema_are_left_out() -> None:
    frame = pl.LazyFrame({"x": [1], "part": ["train"]})
    found = build_profile({"train": frame}, Schema([Column("x", "Int64")]), CpuEngine())
    assert [entry["name"] for entry in found["columns"]] == ["x"]


def test_missing_columns_are_named() -> None:
    schema = Schema([Column("prize", "Int64"), Column("user", "Int64")])
    frame = pl.LazyFrame({"price": [1]})
    with pytest.raises(SchemaError, match=r"'prize'.*Did you mean 'price'.*'user'"):
        profile_plans(frame, schema, CpuEngine().dialect)
    with pytest.raises(SchemaError, match="'prize'"):
        build_profile({"train": frame}, schema, CpuEngine())


def test_sample_below_one_row_is_refused() -> None:
    with pytest.raises(ParameterError, match="sample_rows is 0"):
        profile_of(pl.DataFrame({"x": [1]}), sample_rows=0)


def test_large_parts_are_sampled_over_their_whole_length() -> None:
    frame = pl.LazyFrame({"x": list(range(1_000)), "even": [k % 2 for k in range(1_000)]})
    engine = RecordingEngine()
    schema = Schema.from_polars(frame.collect_schema())
    found = build_profile({"train": frame}, schema, engine, sample_rows=300)
    # One row in 4 is the densest stride that gives at most 300 rows.
    assert found["sample"] == {"train": {"rows": 250, "every": 4}}
    first = found["columns"][0]
    assert (first["sampled"], first["sampled_values"]) == (True, 250)
    assert first["histogram"]["edges"][0] == 0
    assert first["histogram"]["edges"][-1] == 999
    # Bins of 49.95 hold 12 or 13 of the values 0, 4, 8, ...
    assert set(first["histogram"]["counts"]) == {12, 13}
    assert (first["min"], first["max"], first["distinct"]) == (0, 999, 1_000)
    # Never more than the sample at once, and three calls: one a scan.
    assert max(engine.heights) == 250
    assert engine.calls == 3


def test_lists_are_sampled_by_element() -> None:
    engine = RecordingEngine()
    frame = pl.LazyFrame({"x": [list(range(500)), [7] * 500]})
    schema = Schema.from_polars(frame.collect_schema())
    found = build_profile({"train": frame}, schema, engine, sample_rows=100)
    [entry] = found["columns"]
    assert max(engine.heights) == 100
    assert (entry["sampled"], entry["sampled_values"]) == (True, 100)
    assert entry["top"][0] == [7, 50]


def test_wide_data_is_sampled_more_thinly(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(profile_module, "SAMPLE_CELLS", 12_000)
    frame = pl.DataFrame({f"c{k}": range(6_000) for k in range(4)})
    assert profile_of(frame)["sample"] == {"train": {"rows": 3_000, "every": 2}}


def test_distinct_values_beyond_the_budget_are_estimated(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(profile_module, "EXACT_DISTINCT_VALUES", 2_000)
    frame = pl.DataFrame({"many": range(20_000), "few": [k % 50 for k in range(20_000)]})
    many, few = profile_of(frame)["columns"]
    assert (few["distinct"], few["distinct_exact"]) == (50, True)
    assert many["distinct_exact"] is False
    assert many["distinct"] == pytest.approx(20_000, rel=0.2)


def test_budget_of_exact_counts_is_shared_by_the_columns(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(profile_module, "EXACT_DISTINCT_VALUES", 2_000)
    frame = pl.DataFrame({name: range(1_500) for name in ("a", "b", "c")})
    assert sum(entry["distinct_exact"] for entry in profile_of(frame)["columns"]) == 1


def test_profile_does_not_depend_on_the_cut_into_files(tmp_path: Path) -> None:
    random = np.random.default_rng(3)
    frame = pl.DataFrame(
        {
            "x": random.integers(0, 500, 3_000),
            "s": random.choice(["a", "b", "c"], 3_000),
            "l": [[int(v)] * int(v) for v in random.integers(0, 4, 3_000)],
        }
    )
    for start in range(0, 3_000, 700):
        frame.slice(start, 700).write_parquet(tmp_path / f"part-{start:05d}.parquet")
    whole = profile_of(frame, sample_rows=1_000)
    pieces = profile_of(pl.scan_parquet(tmp_path / "*.parquet"), sample_rows=1_000)
    for one, other in zip(whole["columns"], pieces["columns"], strict=True):
        for key in ("mean", "std"):
            left, right = one.pop(key), other.pop(key)
            assert left == (None if right is None else pytest.approx(right, rel=1e-12))
        assert one == other


def test_profile_is_shown_by_the_page(run: Run) -> None:
    frame = pl.DataFrame(
        {
            "country": ["de", "de", "fr", None] * 250,
            "seen": [[1, 2], [], None, [3]] * 250,
            "at": [datetime(2026, 1, 1 + k % 28) for k in range(1_000)],
        }
    )
    run.json("profile.json", profile_of(frame, sample_rows=500))
    page = run.page()
    rows = [row[:6] for row in page.rows("data")[1:]]
    # Elements: 250 times 1, 2 and 3, so a deviation of (500 / 749) ** 0.5. Days: 35 times 0 to 27
    # and once 0 to 19, 13.42 after the first on average.
    assert rows == [
        ["countryString", "25.0% (250 null)", "2", "de", "fr", "–"],
        ["seenList(Int64)0 to 2 elements, mean 1", "25.0% (250 null)", "3", "1", "3", "2± 0.817"],
        [
            "atDatetime(us)",
            "0%",
            "28",
            "2026-01-01 00:00:00",
            "2026-01-28 00:00:00",
            "2026-01-14 10:04:48",
        ],
    ]
    assert "of a sample: one row in 2, 500 rows" in page.text("data")
