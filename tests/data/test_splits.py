"""Splits against plain Python and pandas, on data cut into files in every way."""

from __future__ import annotations

import datetime as dt
import json
import math
import random
import struct
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
import xxhash

import merlinkit.data.splits.order_statistics as order_statistics
from merlinkit.data.dataset import Dataset
from merlinkit.data.splits import (
    PART_COLUMN,
    PARTS,
    GivenSplit,
    LeaveLastSplit,
    RandomSplit,
    Split,
    TemporalSplit,
    split_from_dict,
)
from merlinkit.engine.cpu import CpuEngine
from merlinkit.errors import DataError, ParameterError, SchemaError
from merlinkit.schema import Schema

ENGINE = CpuEngine()
SEED_OF_HASHES = 15220518902653198062


def rows_of(count: int) -> list[dict[str, Any]]:
    draw = random.Random(7)
    start = dt.datetime(2026, 1, 1)
    rows: list[dict[str, Any]] = []
    for number in range(count):
        user = None if number % 97 == 5 else draw.randrange(70)
        rows.append(
            {
                "user": user,
                "item": draw.choice(["a", "bb", "é", "", None]),
                "time": draw.randrange(300),
                "price": draw.choice([None, 0.0, -0.0, 1.5, 2.25, math.nan]),
                "day": (start + dt.timedelta(days=draw.randrange(40))).date(),
                "at": start + dt.timedelta(seconds=draw.randrange(10_000)),
                "ok": draw.choice([True, False, None]),
                "tags": [draw.randrange(3) for _ in range(draw.randrange(3))],
            }
        )
    # Some rows are there twice.
    return rows + [dict(row) for row in rows[:50]]


ROWS = rows_of(800)
TYPES = {"user": pl.Int64, "tags": pl.List(pl.Int64)}
FRAME = pl.DataFrame(ROWS, schema_overrides=TYPES)
SPLITS: list[Split] = [
    RandomSplit(),
    RandomSplit(valid=0.3, test=0.2, seed=1, keys=["user"]),
    TemporalSplit("time"),
    TemporalSplit("at", valid=0.2, test=0.3),
    TemporalSplit("day", valid_from="2026-01-20", test_from="2026-02-01"),
    LeaveLastSplit("user", "time"),
    LeaveLastSplit("user", "at", k_valid=3, k_test=2),
    GivenSplit("ok", train=[True], test=False),
]


def usable(split: Split, frame: pl.DataFrame) -> pl.DataFrame:
    return frame.filter(pl.col("ok").is_not_null()) if isinstance(split, GivenSplit) else frame


def assigned(split: Split, frame: pl.LazyFrame) -> pl.DataFrame:
    schema = Schema.from_polars(frame.collect_schema())
    fitted = split.fit(frame, ENGINE)
    [parts] = ENGINE.collect([fitted.assign(frame, schema, ENGINE.dialect)])
    return parts


def counted(parts: pl.DataFrame) -> Counter[str]:
    """Return how often each row comes in each part, whatever the order of rows."""
    return Counter(repr(row) for row in parts.iter_rows())


def parts_of(split: Split, frame: pl.DataFrame) -> list[str | None]:
    return assigned(split, frame.lazy())[PART_COLUMN].to_list()


# -- all splits -------------------------------------------------------------------------------


@pytest.mark.parametrize("split", SPLITS, ids=repr)
def test_each_row_is_in_exactly_one_part_and_stays_as_it_is(split: Split) -> None:
    frame = usable(split, FRAME)
    parts = assigned(split, frame.lazy())
    assert parts.drop(PART_COLUMN).equals(frame)
    assert parts[PART_COLUMN].dtype == pl.String
    assert set(parts[PART_COLUMN]) <= set(PARTS)
    assert (parts[PART_COLUMN] == "train").sum() > 0


@pytest.mark.parametrize("files", [1, 2, 5, 17])
@pytest.mark.parametrize("split", SPLITS, ids=repr)
def test_files_and_order_of_rows_do_not_matter(tmp_path: Path, split: Split, files: int) -> None:
    frame = usable(split, FRAME)
    expected = counted(assigned(split, frame.lazy()))
    shuffled = frame.sample(fraction=1.0, shuffle=True, seed=files)
    for number in range(files):
        shuffled.gather_every(files, number).write_parquet(tmp_path / f"{number}.parquet")
    shuffled.head(0).write_parquet(tmp_path / "empty.parquet")
    data = Dataset(tmp_path)
    assert counted(assigned(split, data.scan())) == expected
    if split.row_local:
        fitted = split.fit(data.scan(), ENGINE)
        plans = [fitted.assign(plan, data.schema, ENGINE.dialect) for _, plan in data.scan_files()]
        assert counted(pl.concat(ENGINE.collect(plans))) == expected


@pytest.mark.parametrize("split", SPLITS, ids=repr)
def test_saved_and_loaded_it_is_the_same(split: Split) -> None:
    frame = usable(split, FRAME)
    fitted = split.fit(frame.lazy(), ENGINE)
    loaded = split_from_dict(json.loads(json.dumps(fitted.to_dict())))
    assert loaded == fitted
    assert hash(loaded) == hash(fitted)
    schema = Schema.from_polars(frame.schema)
    plans = [found.assign(frame.lazy(), schema, ENGINE.dialect) for found in (fitted, loaded)]
    first, second = ENGINE.collect(plans)
    assert first.equals(second)


@pytest.mark.parametrize("split", SPLITS, ids=repr)
def test_the_columns_it_names_are_all_it_needs(split: Split) -> None:
    frame = usable(split, FRAME)
    names = split.columns(Schema.from_polars(frame.schema))
    whole = parts_of(split, frame)
    assert parts_of(split, frame.select(names)) == whole


def test_a_column_of_the_name_of_the_part_is_refused() -> None:
    frame = pl.LazyFrame({"x": [1], PART_COLUMN: [2]})
    schema = Schema.from_polars(frame.collect_schema())
    for split in (RandomSplit(), TemporalSplit("x", test_from=1), GivenSplit("x", train=1, test=2)):
        with pytest.raises(SchemaError, match="has a column '__part__' already"):
            split.assign(frame, schema, ENGINE.dialect)


@pytest.mark.parametrize(
    "split",
    [
        RandomSplit(keys=["usr"]),
        TemporalSplit("usr"),
        LeaveLastSplit("usr", "time"),
        GivenSplit("usr", train=1, test=2),
    ],
)
def test_a_column_that_is_not_there(split: Split) -> None:
    with pytest.raises(SchemaError, match=r"no column 'usr'. Did you mean 'user'"):
        split.columns(Schema.from_polars(FRAME.schema))


@pytest.mark.parametrize(
    ("data", "message"),
    [
        ({}, "unknown split None"),
        ({"kind": "randon"}, "Did you mean 'random'"),
        ({"kind": "random", "sed": 1}, "no parameter 'sed'. Did you mean 'seed'"),
        ({"kind": "temporal"}, "needs the parameter 'column'"),
    ],
)
def test_descriptions_of_no_split(data: dict[str, Any], message: str) -> None:
    with pytest.raises(ParameterError, match=message):
        split_from_dict(data)


# -- random -----------------------------------------------------------------------------------


def hash_of(value: Any) -> int:
    """Return the 64-bit hash of a value, as the engines define it."""
    if value is None:
        return 0x27D4EB2F165667C5
    if isinstance(value, str):
        data = value.encode()
    elif isinstance(value, float):
        data = struct.pack("<d", math.nan if math.isnan(value) else value + 0.0)
    elif isinstance(value, dt.datetime):
        data = struct.pack("<q", (value - dt.datetime(1970, 1, 1)) // dt.timedelta(microseconds=1))
    elif isinstance(value, dt.date):
        data = struct.pack("<q", (value - dt.date(1970, 1, 1)).days)
    else:
        data = struct.pack("<q", int(value))
    return xxhash.xxh64_intdigest(data, SEED_OF_HASHES)


def draws(seed: int) -> Iterator[int]:
    """Yield the numbers of SplitMix64 as its authors wrote it, in wrapping arithmetic."""
    state = np.array([seed], dtype=np.uint64)
    while True:
        state = state + np.uint64(0x9E3779B97F4A7C15)
        z = (state ^ (state >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        yield int((z ^ (z >> np.uint64(31)))[0])


def random_part(row: dict[str, Any], valid: float, test: float, seed: int) -> str:
    """Return the part of a row by the rule in the documentation, in plain integers."""
    numbers = draws(seed)
    h = next(numbers)
    for name in sorted(row):
        h += hash_of(row[name]) * (next(numbers) | 1)
    h %= 2**64
    h = h * (2 * h + 1) % 2**64
    h = (h + h // 2**32) % 2**64
    h = h * 0xFF51AFD7ED558CCD % 2**64
    h = h * (2 * h + 1) % 2**64
    place = (h // 2**11) / 2**53
    return "test" if place < test else "valid" if place < test + valid else "train"


@pytest.mark.parametrize("seed", [0, 42, 2**63 - 1])
@pytest.mark.parametrize("keys", [None, ["user"], ["price", "item"], ["at", "day", "ok"]])
def test_random_parts_are_those_of_the_rule(seed: int, keys: list[str] | None) -> None:
    names = [name for name in FRAME.columns if name != "tags"] if keys is None else keys
    expected = [random_part({name: row[name] for name in names}, 0.25, 0.25, seed) for row in ROWS]
    assert parts_of(RandomSplit(0.25, 0.25, seed, keys), FRAME) == expected


def test_random_parts_never_change() -> None:
    """Saved splits, and metrics of earlier runs, depend on them."""
    frame = pl.DataFrame({"user": list(range(40))})
    shown = "".join(str(part)[:2] for part in parts_of(RandomSplit(0.2, 0.2), frame))
    assert shown == (
        "tetrtevavavatrtrtrtrtrtrtrtetrtetrvatrtrtrvavatetrtrvatrtrvatetrtrtrvatrtrtrtetr"
    )


def test_the_numbers_drawn_from_a_seed_are_those_of_splitmix64() -> None:
    # The first outputs for this seed, as published beside implementations in many languages.
    drawn = draws(1234567)
    assert [next(drawn) for _ in range(3)] == [
        6457827717110365317,
        3203168211198807973,
        9817491932198370423,
    ]


@pytest.mark.parametrize(("valid", "test"), [(0.1, 0.1), (0.5, 0.2), (0.0, 0.01), (0.3, 0.0)])
@pytest.mark.parametrize("kind", ["counting", "strings", "small"])
def test_random_fractions_hold_within_sampling_error(valid: float, test: float, kind: str) -> None:
    rows = 40_000
    numbers = np.arange(rows)
    frame = {
        "counting": pl.DataFrame({"x": numbers}),
        "strings": pl.DataFrame({"x": [f"user-{number}" for number in numbers]}),
        "small": pl.DataFrame({"x": numbers // 200, "y": numbers % 200}),
    }[kind]
    counts = Counter(parts_of(RandomSplit(valid, test), frame))
    for part, fraction in (("valid", valid), ("test", test), ("train", 1 - valid - test)):
        error = math.sqrt(fraction * (1 - fraction) / rows)
        assert abs(counts[part] / rows - fraction) <= 4.5 * error


def test_random_seeds_are_unrelated() -> None:
    frame = pl.DataFrame({"x": range(40_000)})
    held = [
        {
            index
            for index, part in enumerate(parts_of(RandomSplit(0, 0.2, seed), frame))
            if part == "test"
        }
        for seed in (1, 2, 3, 1000)
    ]
    for index, first in enumerate(held):
        for second in held[index + 1 :]:
            # Two independent draws of 8,000 share 1,600, give or take 32.
            assert abs(len(first & second) - 1600) < 160


def test_random_keys_keep_users_together_and_equal_rows_too() -> None:
    users: dict[Any, set[str | None]] = defaultdict(set)
    for row, part in zip(ROWS, parts_of(RandomSplit(0.3, 0.3, keys=["user"]), FRAME), strict=True):
        users[row["user"]].add(part)
    assert all(len(parts) == 1 for parts in users.values())
    assert len({next(iter(parts)) for parts in users.values()}) == 3
    parts = parts_of(RandomSplit(0.3, 0.3), FRAME)
    assert parts[:50] == parts[-50:]


def test_random_parts_do_not_depend_on_integer_width_or_order_of_columns() -> None:
    frame = FRAME.select("user", "time", "item")
    expected = parts_of(RandomSplit(), frame)
    other = frame.select("item", pl.col("time").cast(pl.Int16), pl.col("user").cast(pl.UInt8))
    assert parts_of(RandomSplit(), other) == expected


def test_random_swapped_values_are_another_row() -> None:
    frame = pl.DataFrame({"a": range(2000), "b": range(2000, 4000)})
    swapped = frame.select(a="b", b="a")
    assert parts_of(RandomSplit(0.3, 0.3), frame) != parts_of(RandomSplit(0.3, 0.3), swapped)


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"valid": 1.0}, "valid 1.0: expected a fraction"),
        ({"test": -0.1}, "test -0.1"),
        ({"valid": 0.5, "test": 0.5}, "leave no rows for training"),
        ({"valid": "0.1"}, "valid '0.1': expected a number"),
        ({"seed": -1}, "seed -1"),
        ({"seed": 1.5}, "seed 1.5"),
        ({"keys": "user"}, "expected a list of column names"),
        ({"keys": []}, "keys is empty"),
    ],
)
def test_random_parameters_are_checked(parameters: dict[str, Any], message: str) -> None:
    with pytest.raises(ParameterError, match=message):
        RandomSplit(**parameters)


def test_random_needs_scalars() -> None:
    schema = Schema.from_polars(pl.DataFrame({"tags": [[1]]}).schema)
    with pytest.raises(SchemaError, match="needs a scalar column"):
        RandomSplit().columns(schema)
    with pytest.raises(SchemaError, match=r"key column 'tags' is List\(Int64\)"):
        RandomSplit(keys=["tags"]).columns(schema)


# -- temporal ---------------------------------------------------------------------------------


def temporal_parts(times: Sequence[Any], valid: float, test: float) -> list[str]:
    """Return the parts by sorting all rows: the moments are those of rows counted from the end."""
    ordered = sorted(times)
    tests = max(1, round(test * len(times))) if test else 0
    valids = max(1, round(valid * len(times))) if valid else 0
    test_from = ordered[-tests] if tests else None
    valid_from = ordered[-(tests + valids)] if valids else None
    parts = []
    for time in times:
        if test_from is not None and time >= test_from:
            parts.append("test")
        elif valid_from is not None and time >= valid_from:
            parts.append("valid")
        else:
            parts.append("train")
    return parts


UNITS = [
    pl.Datetime("ms"),
    pl.Datetime("us", "UTC"),
    pl.Datetime("ns", "Europe/Rome"),
    pl.Datetime("ns"),
]


@pytest.mark.parametrize("collected", [10, 1_000_000])
@pytest.mark.parametrize(("valid", "test"), [(0.1, 0.1), (0.33, 0.0), (0.0, 0.2), (0.0001, 0.5)])
@pytest.mark.parametrize(
    "dtype",
    [pl.Int64, pl.Int16, pl.UInt64, pl.Float64, pl.Float32, pl.Date, *UNITS],
    ids=str,
)
def test_temporal_quantiles_are_exact(
    monkeypatch: pytest.MonkeyPatch,
    dtype: pl.DataType,
    valid: float,
    test: float,
    collected: int,
) -> None:
    # With few values collected at once, the search by buckets is what is tested.
    monkeypatch.setattr(order_statistics, "COLLECT_ROWS", collected)
    monkeypatch.setattr(order_statistics, "_BUCKETS", 7 if collected == 10 else 4096)
    draw = random.Random(3)
    times = [draw.choice([draw.randrange(-9, 9), draw.randrange(30_000)]) for _ in range(777)]
    if dtype == pl.UInt64:
        times = [time + 2**63 for time in times]
    if dtype == pl.Int64:  # too close for a float to tell apart
        times = [time % 300 + 2**61 for time in times]
    frame = pl.DataFrame({"t": pl.Series(times).cast(dtype)})
    split = TemporalSplit("t", valid, test)
    assert parts_of(split, frame) == temporal_parts(times, valid, test)


@pytest.mark.parametrize(
    "values",
    [
        [-1.7e308, -1.0, 0.0, 1e-300, 1.0, 2.0, 1.7e308, 1.6e308],
        [5e-324 * number for number in range(8)],
        [1.0, 1.0 + 2**-52, 1.0 + 2**-51, 1.0, 1.0, 3.0, 3.0, 9.0],
        [-(2**63), -1, 0, 1, 2, 2**62, 2**63 - 1, 2**63 - 2],
    ],
    ids=["wide", "tiny", "close", "whole range"],
)
def test_temporal_quantiles_of_odd_values(
    monkeypatch: pytest.MonkeyPatch, values: list[Any]
) -> None:
    monkeypatch.setattr(order_statistics, "COLLECT_ROWS", 1)
    frame = pl.DataFrame({"value": values}).lazy()
    for rank, expected in enumerate(sorted(values)):
        bounds = min(values), max(values), len(values)
        assert order_statistics.kth_smallest(frame, rank, *bounds, ENGINE) == expected


def test_temporal_moments_of_nanoseconds_keep_every_digit() -> None:
    start = 1_700_000_000_000_000_001
    for dtype in (pl.Datetime("ns"), pl.Datetime("ns", "Asia/Tokyo")):
        frame = pl.DataFrame({"t": pl.Series(range(start, start + 10)).cast(dtype)})
        fitted = TemporalSplit("t", valid=0.2, test=0.1).fit(frame.lazy(), ENGINE)
        offset = "+00:00" if dtype.time_zone else ""
        assert fitted.to_dict() == {
            "kind": "temporal",
            "column": "t",
            "valid": None,
            "test": None,
            "valid_from": f"2023-11-14T22:13:20.000000008{offset}",
            "test_from": f"2023-11-14T22:13:20.000000010{offset}",
        }
        assert parts_of(fitted, frame) == ["train"] * 7 + ["valid"] * 2 + ["test"]


@pytest.mark.parametrize("dtype", [pl.Date(), *UNITS], ids=str)
@pytest.mark.parametrize("limit", ["2026-01-03", "2026-01-03T05:30:00", "2026-01-03 05:30:00.25"])
def test_temporal_moments_against_pandas(dtype: pl.DataType, limit: str) -> None:
    stamps = pd.date_range("2026-01-01", periods=200, freq="3571s")
    frame = pl.DataFrame({"t": pl.from_pandas(pd.Series(stamps)).cast(pl.Datetime("ns"))})
    zone = getattr(dtype, "time_zone", None)
    if zone is not None:
        frame = frame.with_columns(pl.col("t").dt.replace_time_zone(zone))
        stamps = stamps.tz_localize(zone)
    frame = frame.with_columns(pl.col("t").cast(dtype))
    if isinstance(dtype, pl.Date):
        stamps = stamps.normalize()
    if dtype == pl.Datetime("ms"):
        stamps = stamps.floor("ms")
    moment = pd.Timestamp(limit, tz=zone)
    expected = ["valid" if stamp >= moment else "train" for stamp in stamps]
    assert parts_of(TemporalSplit("t", valid_from=limit), frame) == expected
    assert {"valid", "train"} == set(expected)


def test_temporal_moments_with_an_offset() -> None:
    zoned = pl.datetime_range(
        dt.datetime(2026, 1, 1), dt.datetime(2026, 1, 1, 5), "1h", time_zone="UTC", eager=True
    )
    frame = pl.DataFrame({"t": zoned.dt.convert_time_zone("Europe/Rome")})
    split = TemporalSplit(
        "t", valid_from="2026-01-01T02:00:00+01:00", test_from="2026-01-01T03:00Z"
    )
    assert parts_of(split, frame) == ["train", "valid", "valid", "test", "test", "test"]
    with pytest.raises(ParameterError, match="has an offset, but the column has no time zone"):
        parts_of(split, frame.with_columns(pl.col("t").dt.replace_time_zone(None)))


def test_temporal_moments_that_are_numbers_or_dates() -> None:
    frame = pl.DataFrame({"t": [1, 2, 3, 4]})
    split = TemporalSplit("t", valid_from=1.5, test_from=4)
    assert parts_of(split, frame) == ["train", "valid", "valid", "test"]
    days = pl.DataFrame({"t": [dt.date(2026, 1, 1), dt.date(2026, 1, 2)]})
    assert parts_of(TemporalSplit("t", test_from=dt.date(2026, 1, 2)), days) == ["train", "test"]
    stamp = TemporalSplit("t", test_from=dt.datetime(2026, 1, 1, 0, 0, 0, 1))
    assert parts_of(stamp, days) == ["train", "test"]


def test_temporal_rows_of_one_time_stay_together() -> None:
    times = [1] * 5 + [2] * 90 + [3] * 5
    parts = parts_of(TemporalSplit("t", valid=0.1, test=0.05), pl.DataFrame({"t": times}))
    assert Counter(parts) == {"train": 5, "valid": 90, "test": 5}


def test_temporal_nothing_left_for_training() -> None:
    frame = pl.DataFrame({"t": [7] * 10})
    with pytest.raises(DataError, match=r"no row is before 7, .* none of the 10 rows is left"):
        TemporalSplit("t").fit(frame.lazy(), ENGINE)
    with pytest.raises(DataError, match="there are no rows"):
        TemporalSplit("t").fit(frame.head(0).lazy(), ENGINE)


@pytest.mark.parametrize(
    ("values", "dtype"),
    [
        ([1, None, 3, None], pl.Int64),
        ([1.0, math.nan, 3.0, math.inf], pl.Float64),
        ([1, None, 2, None], pl.Datetime("ms")),
    ],
)
@pytest.mark.parametrize("fractions", [True, False])
def test_temporal_rows_without_a_time(
    values: list[Any], dtype: pl.DataType, fractions: bool
) -> None:
    frame = pl.LazyFrame({"t": pl.Series(values).cast(dtype)})
    moment: Any = "2026-01-01" if isinstance(dtype, pl.Datetime) else 2
    split = TemporalSplit("t") if fractions else TemporalSplit("t", test_from=moment)
    with pytest.raises(
        DataError, match=r"'t': 2 of 4 rows have no time .null, NaN or infinite.*come too late"
    ):
        split.fit(frame, ENGINE)


def test_temporal_needs_fit() -> None:
    schema = Schema.from_polars(FRAME.schema)
    with pytest.raises(ParameterError, match="needs fit before assign"):
        TemporalSplit("time").assign(FRAME.lazy(), schema, ENGINE.dialect)


@pytest.mark.parametrize("column", ["item", "ok", "tags"])
def test_temporal_columns_that_are_no_time(column: str) -> None:
    with pytest.raises(SchemaError, match=f"time column '{column}' is .*was expected"):
        TemporalSplit(column).fit(FRAME.lazy(), ENGINE)


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"valid": 0.1, "test_from": 3}, "not both"),
        ({"valid": 0.6, "test": 0.4}, "leave no rows"),
        ({"valid": 0, "test": 0}, "nothing to split"),
        ({"valid_from": 3, "test_from": 2}, "valid_from 3 is after test_from 2"),
        ({"valid_from": "2026-01-02", "test_from": "2026-01-01"}, "is after"),
        ({"valid_from": "2026-01-02", "test_from": 3}, "of different kinds"),
        ({"valid_from": "2026-01-02", "test_from": "2026-01-03T00:00Z"}, "has an offset"),
        ({"valid_from": "yesterday"}, "'yesterday' is no ISO 8601 time stamp"),
        ({"valid_from": "2026-01-02T00:00:00.1234567890"}, "more than nine digits"),
        ({"valid_from": True}, "valid_from True"),
    ],
)
def test_temporal_parameters_are_checked(parameters: dict[str, Any], message: str) -> None:
    with pytest.raises(ParameterError, match=message):
        TemporalSplit("t", **parameters)


def test_temporal_moments_of_another_kind_than_the_column() -> None:
    with pytest.raises(ParameterError, match="the column is Int64, a number was expected"):
        TemporalSplit("time", test_from="2026-01-01").fit(FRAME.lazy(), ENGINE)
    with pytest.raises(ParameterError, match=r"the column is Date, an ISO 8601 string"):
        TemporalSplit("day", test_from=5).fit(FRAME.lazy(), ENGINE)


# -- leave last -------------------------------------------------------------------------------


def leave_last_counts(k_valid: int, k_test: int) -> dict[Any, Counter[tuple[Any, str]]]:
    """Return, for each user, how often each time comes in each part, by sorting in Python."""
    by_user: dict[Any, list[int]] = defaultdict(list)
    for row in ROWS:
        by_user[row["user"]].append(row["time"])
    found: dict[Any, Counter[tuple[Any, str]]] = {}
    for user, times in by_user.items():
        times.sort()
        tests = 0 if user is None else min(k_test, len(times) - 1)
        valids = 0 if user is None else min(k_valid, len(times) - 1 - tests)
        parts = ["train"] * (len(times) - tests - valids) + ["valid"] * valids + ["test"] * tests
        found[user] = Counter(zip(times, parts, strict=True))
    return found


@pytest.mark.parametrize(("k_valid", "k_test"), [(1, 1), (0, 2), (3, 0), (2, 5), (50, 50)])
def test_leave_last_against_python(k_valid: int, k_test: int) -> None:
    parts = assigned(LeaveLastSplit("user", "time", k_valid, k_test), FRAME.lazy())
    found: dict[Any, Counter[tuple[Any, str]]] = defaultdict(Counter)
    for user, time, part in parts.select("user", "time", PART_COLUMN).iter_rows():
        found[user][time, part] += 1
    assert dict(found) == leave_last_counts(k_valid, k_test)


def test_leave_last_of_users_with_few_rows() -> None:
    frame = pl.DataFrame({"u": ["a", "b", "b", "c", "c", "c"], "t": [1, 2, 1, 2, 3, 1]})
    assert parts_of(LeaveLastSplit("u", "t"), frame) == [
        "train",
        "test",
        "train",
        "valid",
        "test",
        "train",
    ]


@pytest.mark.parametrize("values", [{"x": range(30)}, {"x": [[n, None] for n in range(30)]}])
def test_leave_last_ties_are_broken_by_the_row_not_by_its_place(values: dict[str, Any]) -> None:
    frame = pl.DataFrame({"u": [n % 3 for n in range(30)], "t": [1] * 30, **values})
    split = LeaveLastSplit("u", "t", k_valid=2, k_test=3)
    expected = counted(assigned(split, frame.lazy()))
    for seed in range(5):
        shuffled = frame.sample(fraction=1.0, shuffle=True, seed=seed)
        assert counted(assigned(split, shuffled.lazy())) == expected
    assert counted(assigned(split, frame.lazy().reverse())) == expected


def test_leave_last_with_nothing_to_break_ties() -> None:
    frame = pl.DataFrame({"u": [1, 1, 1, 1], "t": [1, 1, 1, 1]})
    assert Counter(parts_of(LeaveLastSplit("u", "t"), frame)) == {
        "train": 2,
        "valid": 1,
        "test": 1,
    }


def test_leave_last_rows_without_order() -> None:
    frame = pl.LazyFrame({"u": [1, 1, 1], "t": [1.0, None, math.nan]})
    with pytest.raises(DataError, match="'t': 2 of 3 rows have no value to order by"):
        LeaveLastSplit("u", "t").fit(frame, ENGINE)


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"user": "u", "order_by": "u"}, "are both 'u'"),
        ({"user": "", "order_by": "t"}, "user '': expected the name of a column"),
        ({"user": "u", "order_by": "t", "k_test": -1}, "k_test -1"),
        ({"user": "u", "order_by": "t", "k_valid": 1.5}, "k_valid 1.5"),
        ({"user": "u", "order_by": "t", "k_valid": 0, "k_test": 0}, "nothing to split"),
        ({"user": "u", "order_by": "t", "tie_break": "x"}, "expected a list"),
    ],
)
def test_leave_last_parameters_are_checked(parameters: dict[str, Any], message: str) -> None:
    with pytest.raises(ParameterError, match=message):
        LeaveLastSplit(**parameters)


def test_leave_last_needs_scalars() -> None:
    schema = Schema.from_polars(FRAME.schema)
    with pytest.raises(SchemaError, match=r"column 'tags' is List\(Int64\)"):
        LeaveLastSplit("tags", "time").columns(schema)
    with pytest.raises(SchemaError, match=r"column 'tags' is List\(Int64\)"):
        LeaveLastSplit("user", "tags").columns(schema)


# -- given ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("values", "parts"),
    [
        (["train", "test", "valid"], {}),
        ([0, 2, 1], {"train": 0, "valid": [1], "test": (2,)}),
        ([True, False, True], {"train": True, "test": False}),
        (
            [dt.date(2026, 1, 1), dt.date(2026, 1, 3), dt.date(2026, 1, 2)],
            {"train": "2026-01-01", "valid": "2026-01-02", "test": "2026-01-03"},
        ),
    ],
)
def test_given_values(values: list[Any], parts: dict[str, Any]) -> None:
    frame = pl.DataFrame({"fold": values})
    last = "train" if values[2] is True else "valid"
    assert parts_of(GivenSplit("fold", **parts), frame) == ["train", "test", last]


def test_given_rows_of_no_part_are_listed() -> None:
    frame = pl.LazyFrame({"fold": [0, 1, 2, 2, 3, None, 4, 5, 6]})
    with pytest.raises(DataError) as caught:
        GivenSplit("fold", train=0, test=1).fit(frame, ENGINE)
    message = str(caught.value)
    assert "column 'fold': 7 rows belong to no part: 2 (2 rows), " in message
    assert "and 1 more values" in message
    with pytest.raises(DataError, match=r"1 rows belong to no part: null \(1 rows\)"):
        GivenSplit("fold", train=[0, 1, 2, 3], test=[4, 5, 6]).fit(frame, ENGINE)


@pytest.mark.parametrize(
    ("parts", "message"),
    [
        ({"train": 1, "test": 1}, "value 1 of column 'fold' is given twice"),
        ({"train": [], "test": 1}, "train is empty"),
        ({"train": 1}, "nothing to split"),
        ({"train": 1, "test": "x"}, "of several kinds"),
        ({"train": 1.5, "test": 2}, "train 1.5: expected a string"),
        ({"train": [None], "test": 2}, "train None"),
    ],
)
def test_given_parameters_are_checked(parts: dict[str, Any], message: str) -> None:
    with pytest.raises(ParameterError, match=message):
        GivenSplit("fold", **parts)


@pytest.mark.parametrize(
    ("values", "parts", "error", "message"),
    [
        (["a"], {"train": 1, "test": 2}, ParameterError, "value 1 cannot be one of column 'fold'"),
        ([1], {"train": True, "test": False}, ParameterError, "value True cannot be"),
        ([1], {}, ParameterError, "value 'train' cannot be"),
        ([dt.date(2026, 1, 1)], {}, ParameterError, "value 'train' cannot be"),
        ([1.5], {"train": 1, "test": 2}, SchemaError, "is Float64; String, an integer"),
        ([[1]], {"train": 1, "test": 2}, SchemaError, r"is List\(Int64\)"),
    ],
)
def test_given_values_of_another_kind_than_the_column(
    values: list[Any], parts: dict[str, Any], error: type[Exception], message: str
) -> None:
    with pytest.raises(error, match=message):
        GivenSplit("fold", **parts).fit(pl.LazyFrame({"fold": values}), ENGINE)


def test_given_numbers_that_the_column_cannot_hold() -> None:
    frame = pl.LazyFrame({"fold": pl.Series([1], dtype=pl.Int8)})
    with pytest.raises(ParameterError, match=r"value 300 cannot be one of column 'fold', .* Int8"):
        GivenSplit("fold", train=1, test=300).fit(frame, ENGINE)
