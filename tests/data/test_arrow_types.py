"""Arrow types that Polars cannot read: each is read as something or is one clear error."""

from __future__ import annotations

import datetime as dt
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from merlinkit.data.convert import convert
from merlinkit.data.dataset import Dataset
from merlinkit.data.failures import data_errors
from merlinkit.errors import DataError

NOON = dt.datetime(2026, 1, 1, 12, tzinfo=dt.UTC)


def dictionary(values: pa.Array, index: pa.DataType) -> pa.Array:
    return pa.DictionaryArray.from_arrays(pa.array([0, None], index), values)


READABLE = {
    "zone +05:30": (
        pa.array([NOON, None], pa.timestamp("us", "+05:30")),
        pl.Datetime("us", "UTC"),
        NOON,
    ),
    "zone -0800": (
        pa.array([NOON, None], pa.timestamp("ms", "-0800")),
        pl.Datetime("ms", "UTC"),
        NOON,
    ),
    "zone of no database": (
        pa.array([1767268800, None], pa.timestamp("s", "Mars/Base")),
        pl.Datetime("ms", "UTC"),
        NOON,
    ),
    "zone in a list": (
        pa.array([[NOON], None], pa.list_(pa.timestamp("us", "+05:30"))),
        pl.List(pl.Datetime("us", "UTC")),
        [NOON],
    ),
    "zone by name": (
        pa.array([NOON, None], pa.timestamp("us", "Europe/Rome")),
        pl.Datetime("us", "Europe/Rome"),
        NOON,
    ),
    "decimal128": (pa.array([Decimal("1.25"), None], pa.decimal128(38, 2)), pl.Float64, 1.25),
    "decimal256": (pa.array([Decimal("1.25"), None], pa.decimal256(50, 2)), pl.Float64, 1.25),
    "short decimal256": (pa.array([Decimal("1.25"), None], pa.decimal256(9, 2)), pl.Float64, 1.25),
    "float16": (pa.array([np.float16(1.5), None], pa.float16()), pl.Float32, 1.5),
    "uint64": (pa.array([2**64 - 1, None], pa.uint64()), pl.UInt64, 2**64 - 1),
    "time32 of seconds": (pa.array([3, None], pa.time32("s")), pl.Time, dt.time(0, 0, 3)),
    "time32": (pa.array([3000, None], pa.time32("ms")), pl.Time, dt.time(0, 0, 3)),
    "duration": (
        pa.array([3, None], pa.duration("s")),
        pl.Duration("ms"),
        dt.timedelta(seconds=3),
    ),
    "binary": (pa.array([b"\xff", None], pa.binary()), pl.Binary, b"\xff"),
    "fixed binary": (pa.array([b"\xff", None], pa.binary(1)), pl.Binary, b"\xff"),
    "dictionary of int8": (dictionary(pa.array(["x"]), pa.int8()), pl.String, "x"),
    "dictionary of uint64": (dictionary(pa.array(["x"]), pa.uint64()), pl.String, "x"),
    "dictionary of numbers": (dictionary(pa.array([5]), pa.int8()), pl.Int64, 5),
    "dictionary of decimals": (
        dictionary(pa.array([Decimal("1.5")], pa.decimal256(50, 1)), pa.int32()),
        pl.Float64,
        1.5,
    ),
    "uuid": (pa.array([b"\x01" * 16, None], pa.uuid()), pl.Binary, b"\x01" * 16),
    "json": (pa.array(["{}", None], pa.json_()), pl.String, "{}"),
    "bool8": (pa.array([1, None], pa.bool8()), pl.Boolean, True),
    "large list": (pa.array([[1], None], pa.large_list(pa.int8())), pl.List(pl.Int8), [1]),
}
# What pyarrow itself cannot write to parquet.
ONLY_FRAMES = {
    "nested dictionary": (
        dictionary(dictionary(pa.array(["x"]), pa.int8()), pa.int32()),
        pl.String,
        "x",
    ),
    "run-end encoded": (
        pa.RunEndEncodedArray.from_arrays(pa.array([1, 2], pa.int32()), pa.array(["x", None])),
        pl.String,
        "x",
    ),
    "negative scale": (pa.array([Decimal("100"), None], pa.decimal128(9, -2)), pl.Float64, 100.0),
}
UNREADABLE = {
    "month interval": (
        pa.array([(1, 2, 3), None], pa.month_day_nano_interval()),
        r"holds month_day_nano_interval, which cannot be read",
    ),
    "union": (
        pa.UnionArray.from_sparse(pa.array([0, 1], pa.int8()), [pa.array([1, 2])] * 2),
        r"holds sparse_union<.*>, which cannot be read",
    ),
    "list view": (
        pa.array([[1], None], pa.list_view(pa.int8())),
        r"holds list_view<\w+: int8>, which cannot be read",
    ),
    "map": (
        pa.array([[("k", 1)], None], pa.map_(pa.string(), pa.int8())),
        r"holds nested objects \(Struct",
    ),
    "struct": (pa.array([{"k": 1}, None]), r"holds nested objects \(Struct"),
    "struct of odd ones": (
        pa.array([{"k": NOON}, None], pa.struct({"k": pa.timestamp("us", "+05:30")})),
        r"holds nested objects \(struct<k: timestamp",
    ),
    "list of runs": (
        pa.ListArray.from_arrays(
            pa.array([0, 1, 2], pa.int32()),
            pa.RunEndEncodedArray.from_arrays(pa.array([2], pa.int32()), pa.array(["x"])),
        ),
        r"holds list<.*run_end_encoded.*>, which cannot be read",
    ),
}
IN_PARQUET = ("list view", "map", "struct", "struct of odd ones")


def table(column: pa.Array) -> pa.Table:
    return pa.table({"y": [1, 2], "x": column})


def check(data: Dataset, expected: Any, value: Any) -> None:
    assert data.schema["x"].polars_dtype == expected
    assert data.scan().collect()["x"].to_list() == [value, None]
    assert data.scan().select("y").collect()["y"].to_list() == [1, 2]
    assert data.scan().filter(pl.col("y") == 2).collect().rows() == [(2, None)]
    assert data.scan().head(1).collect()["x"].to_list() == [value]
    assert data.scan().select(pl.len()).collect().item() == 2


@pytest.mark.parametrize("name", READABLE)
def test_a_type_is_read_from_parquet_without_a_panic(
    tmp_path: Path, capfd: pytest.CaptureFixture[str], name: str
) -> None:
    column, expected, value = READABLE[name]
    pq.write_table(table(column), tmp_path / "a.parquet")
    check(Dataset(tmp_path), expected, value)
    assert Dataset(tmp_path, columns=["y"]).scan().collect().rows() == [(1,), (2,)]
    assert "panicked" not in capfd.readouterr().err


@pytest.mark.parametrize("name", [*READABLE, *ONLY_FRAMES])
def test_a_type_is_read_from_a_frame_without_a_panic(
    capfd: pytest.CaptureFixture[str], name: str
) -> None:
    column, expected, value = {**READABLE, **ONLY_FRAMES}[name]
    for source in (table(column), table(column).to_reader(), table(column).to_batches()[0]):
        check(Dataset(source), expected, value)
    assert "panicked" not in capfd.readouterr().err


@pytest.mark.parametrize("name", IN_PARQUET)
def test_a_type_that_cannot_be_read_from_parquet_matters_only_if_it_is_read(
    tmp_path: Path, name: str
) -> None:
    column, message = UNREADABLE[name]
    pq.write_table(table(column), tmp_path / "a.parquet")
    with pytest.raises(DataError, match=rf"column 'x' {message}.*columns=\["):
        Dataset(tmp_path)
    with pytest.raises(DataError, match=r"a\.parquet"):
        Dataset(tmp_path, columns=["x"])
    assert Dataset(tmp_path, columns=["y"]).scan().collect().rows() == [(1,), (2,)]
    lenient = Dataset(tmp_path, required=["y"])
    assert lenient.scan().collect().rows() == [(1,), (2,)]
    assert any("column 'x' holds" in note and "left out" in note for note in lenient.notes)


@pytest.mark.parametrize("name", UNREADABLE)
def test_a_type_that_cannot_be_read_from_a_frame_matters_only_if_it_is_read(name: str) -> None:
    column, message = UNREADABLE[name]
    with pytest.raises(DataError, match=rf"column 'x' {message}.*columns=\["):
        Dataset(table(column))
    assert Dataset(table(column), columns=["y"]).scan().collect().rows() == [(1,), (2,)]
    lenient = Dataset(table(column), required=["y"])
    assert lenient.scan().collect().rows() == [(1,), (2,)]
    assert any("column 'x' holds" in note and "left out" in note for note in lenient.notes)


def test_what_is_read_as_utc_is_noted(tmp_path: Path) -> None:
    for zone, shown in (("+05:30", r"+05:30"), ("-0800", "Etc/GMT+8")):
        columns = table(pa.array([NOON, None], pa.timestamp("us", zone)))
        pq.write_table(columns, tmp_path / "a.parquet")
        note = f"column 'x' is read as UTC: its time zone is {shown}"
        assert Dataset(tmp_path).notes == [note]
        assert Dataset(columns).notes == [note]
        assert Dataset(tmp_path, columns=["y"]).notes == []


def test_a_pandas_frame_with_an_offset_is_read_as_utc() -> None:
    zone = dt.timezone(dt.timedelta(hours=5, minutes=30))
    frame = pd.DataFrame({"x": pd.Series([NOON]).dt.tz_convert(zone)})
    data = Dataset(frame)
    assert data.scan().collect()["x"].to_list() == [NOON]
    assert data.schema["x"].dtype.time_zone == "UTC"  # type: ignore[attr-defined]
    assert str(frame["x"].dt.tz) == "UTC+05:30"


def test_files_of_several_offsets_go_together(tmp_path: Path) -> None:
    for name, zone in (("a", "+05:30"), ("b", "UTC"), ("c", "-08:00")):
        columns = table(pa.array([NOON, None], pa.timestamp("us", zone)))
        pq.write_table(columns, tmp_path / f"{name}.parquet")
    data = Dataset(tmp_path)
    assert data.needs_cpu
    assert data.scan().collect()["x"].to_list() == [NOON, None] * 3
    assert not Dataset(tmp_path / "c.parquet").needs_cpu
    written = convert(data, tmp_path / "out")
    assert not written.needs_cpu
    assert written.scan().collect().equals(data.scan().collect())


def test_more_rows_than_a_batch_keep_their_order(tmp_path: Path) -> None:
    rows = 200_000
    times = pa.array(range(rows), pa.timestamp("us", "+05:30"))
    pq.write_table(
        pa.table({"t": times, "i": range(rows)}), tmp_path / "a.parquet", row_group_size=70_000
    )
    frame = Dataset(tmp_path).scan().collect()
    assert frame["i"].equals(pl.Series("i", range(rows)))
    assert frame["t"].cast(pl.Int64).equals(pl.Series("t", range(rows)))


def test_two_columns_of_one_name_are_one_error(tmp_path: Path) -> None:
    zoned = pa.array([NOON], pa.timestamp("us", "+05:30"))
    columns = [zoned, pa.array([1]), pa.array([2])]
    pq.write_table(pa.Table.from_arrays(columns, ["t", "x", "x"]), tmp_path / "a.parquet")
    with pytest.raises(DataError, match=r"a\.parquet has more than one column named 'x'"):
        Dataset(tmp_path)


def test_damage_in_a_file_that_polars_cannot_read_is_one_line(tmp_path: Path) -> None:
    path = tmp_path / "a.parquet"
    zoned = pa.array([NOON] * 1000, pa.timestamp("us", "+05:30"))
    pq.write_table(pa.table({"t": zoned}), path)
    body = path.read_bytes()
    path.write_bytes(body[:20] + b"\xff" * 60 + body[80:])
    damaged = r"a\.parquet is a damaged parquet file"
    with pytest.raises(DataError, match=damaged) as caught, data_errors():
        Dataset(path).scan().collect()
    assert str(caught.value).isprintable()


def test_a_pandas_column_of_no_one_type_matters_only_if_it_is_read() -> None:
    frame = pd.DataFrame({"o": pd.Series([1, "a"], dtype=object), "y": [1, 2]})
    assert Dataset(frame, columns=["y"]).scan().collect().rows() == [(1,), (2,)]
    assert Dataset(frame, required=["y"]).schema.names == ["y"]
    with pytest.raises(DataError, match=r"column 'o' of type object holds what has no one type"):
        Dataset(frame)
