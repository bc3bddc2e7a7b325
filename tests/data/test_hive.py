"""Columns that folders are named by."""

from __future__ import annotations

from datetime import date
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from merlinkit.data.convert import convert
from merlinkit.data.dataset import Dataset
from merlinkit.data.hive import HiveColumns
from merlinkit.engine import plan
from merlinkit.engine.cpu import CpuEngine
from merlinkit.engine.parquet_output import ParquetOutput
from merlinkit.errors import DataError, ParameterError, SchemaError
from merlinkit.schema import Schema


def write(path: Path, data: dict[str, Any]) -> None:
    """Write a frame as the kind of file that a name ends in."""
    path.parent.mkdir(parents=True, exist_ok=True)
    frame = pl.DataFrame(data)
    if path.suffix == ".parquet":
        frame.write_parquet(path)
    elif path.suffix == ".csv":
        frame.write_csv(path)
    else:
        frame.write_ndjson(path)


@pytest.mark.parametrize("kind", ["parquet", "csv", "jsonl"])
def test_folders_are_columns(tmp_path: Path, kind: str) -> None:
    write(tmp_path / "day=2026-11-01" / "h=7" / f"a.{kind}", {"x": [1, 2]})
    write(tmp_path / "day=2026-11-01" / "h=8" / f"a.{kind}", {"x": [3]})
    write(tmp_path / "day=2026-11-02" / "h=7" / f"a.{kind}", {"x": [4]})
    data = Dataset(tmp_path)
    assert data.schema.to_polars() == {"x": pl.Int64, "day": pl.Date, "h": pl.Int64}
    first, second = date(2026, 11, 1), date(2026, 11, 2)
    expected = [(1, first, 7), (2, first, 7), (3, first, 8), (4, second, 7)]
    assert data.scan().collect().rows() == expected
    assert [f.collect().rows() for _, f in data.scan_files()] == [
        expected[:2],
        expected[2:3],
        expected[3:],
    ]
    assert data.num_rows() in (4, None)


@pytest.mark.parametrize("kind", ["parquet", "csv", "jsonl"])
def test_some_of_the_columns(tmp_path: Path, kind: str) -> None:
    for h in (1, 2):
        write(tmp_path / f"h={h}" / f"a.{kind}", {"x": [h * 10], "y": ["t"]})
    both = Dataset(tmp_path, columns=["h", "x"]).scan().collect()
    assert both.columns == ["h", "x"]
    assert both.rows() == [(1, 10), (2, 20)]
    assert Dataset(tmp_path, columns=["h"]).scan().collect().rows() == [(1,), (2,)]
    assert Dataset(tmp_path, columns=["y"]).scan().collect().rows() == [("t",), ("t",)]


@pytest.mark.parametrize(
    ("values", "dtype", "read"),
    [
        (["1", "20"], pl.Int64, [1, 20]),
        (["-1", "0"], pl.Int64, [-1, 0]),
        (["007", "1"], pl.String, ["007", "1"]),
        (["1", "x"], pl.String, ["1", "x"]),
        (["1.5", "2"], pl.String, ["1.5", "2"]),
        (["2026-02-28", "2026-03-01"], pl.Date, [date(2026, 2, 28), date(2026, 3, 1)]),
        (["2026-02-30", "2026-03-01"], pl.String, ["2026-02-30", "2026-03-01"]),
        (["1", "__HIVE_DEFAULT_PARTITION__"], pl.Int64, [1, None]),
        (["a%2Fb", "c%3Dd=e"], pl.String, ["a/b", "c=d=e"]),
        (["99999999999999999999", "1"], pl.String, ["99999999999999999999", "1"]),
    ],
)
def test_types_of_values(tmp_path: Path, values: list[str], dtype: Any, read: list[Any]) -> None:
    for index, value in enumerate(values):
        write(tmp_path / f"{index}" / f"k={value}" / "a.parquet", {"x": [index]})
    data = Dataset(tmp_path)
    assert data.schema["k"].polars_dtype == dtype
    assert data.scan().collect()["k"].to_list() == read


@pytest.mark.parametrize(
    ("wanted", "values", "read"),
    [
        ("String", ["1", "2"], ["1", "2"]),
        ("Int8", ["1", "2"], [1, 2]),
        ("Float64", ["1.5", "2"], [1.5, 2.0]),
        ("Boolean", ["true", "False"], [True, False]),
    ],
)
def test_a_type_that_is_given(
    tmp_path: Path, wanted: str, values: list[str], read: list[Any]
) -> None:
    for index, value in enumerate(values):
        write(tmp_path / f"{index}" / f"k={value}" / "a.parquet", {"x": [index]})
    assert Dataset(tmp_path, dtypes={"k": wanted}).scan().collect()["k"].to_list() == read


def test_a_value_that_is_not_of_the_type(tmp_path: Path) -> None:
    write(tmp_path / "k=300" / "a.parquet", {"x": [1]})
    with pytest.raises(DataError, match=r"k=300/a\.parquet: its folder gives column 'k' the value"):
        Dataset(tmp_path, dtypes={"k": "Int8"})


def test_folders_of_different_columns(tmp_path: Path) -> None:
    write(tmp_path / "day=1" / "a.parquet", {"x": [1]})
    write(tmp_path / "b.parquet", {"x": [1]})
    with pytest.raises(DataError, match="in folders of different columns.*b.parquet of none"):
        Dataset(tmp_path)
    assert Dataset(tmp_path, hive_partitioning=False).schema.names == ["x"]


def test_a_folder_that_names_a_column_twice(tmp_path: Path) -> None:
    write(tmp_path / "k=1" / "k=2" / "a.parquet", {"x": [1]})
    with pytest.raises(DataError, match="its folders name column 'k' twice"):
        Dataset(tmp_path)


def test_the_folder_goes_before_a_column_of_the_files(tmp_path: Path) -> None:
    write(tmp_path / "k=1" / "a.parquet", {"k": ["other"], "x": [1]})
    data = Dataset(tmp_path)
    assert data.scan().collect().to_dict(as_series=False) == {"k": [1], "x": [1]}
    assert data.notes == ["column 'k' is that of the folders; the one in the files is not read"]


def test_which_folders_count(tmp_path: Path) -> None:
    write(tmp_path / "k=1" / "l=2" / "a.parquet", {"x": [1]})
    inside = tmp_path / "k=1"
    assert Dataset(inside).schema.names == ["x", "l"]
    assert Dataset(inside, hive_partitioning=True).schema.names == ["x", "k", "l"]
    assert Dataset(inside, hive_partitioning=False).schema.names == ["x"]
    assert Dataset(inside / "l=2" / "a.parquet").schema.names == ["x"]
    assert Dataset(str(tmp_path / "*" / "*" / "*.parquet")).schema.names == ["x", "k", "l"]
    with pytest.raises(ParameterError, match="hive_partitioning was given for a frame"):
        Dataset(pl.DataFrame({"x": [1]}), hive_partitioning=True)


@pytest.mark.skipif(not plan.is_available(), reason="needs cudf-polars: merlinkit[plan]")
def test_the_columns_run_on_cudf_in_partitions() -> None:
    files = [Path(f"day=2026-11-0{day}/h={day}/s=x{day}/a.parquet") for day in (1, 2)]
    hive = HiveColumns(files, Path(), {})
    frame = pl.LazyFrame({"x": range(1_000)})
    scan = pl.concat([hive.add(frame, index) for index in range(2)])
    for wanted in (scan, scan.group_by("day", "h", "s").agg(pl.col("x").sum())):
        proof = plan.prove(wanted)
        assert not proof.unsupported
        assert not proof.fallbacks


ROWS = pl.DataFrame(
    {
        "x": range(8),
        "s": ["007", None, "a/b", "c=d", ".e", "ü", "007", "%41"],
        "d": [date(2026, 1, 1), None] * 4,
        "b": [True, False, None, True] * 2,
        "n": pl.Series([1, 2, None, -3] * 2, dtype=pl.Int16),
    }
)


@pytest.mark.parametrize("by", [["s"], ["d"], ["b"], ["n"], ["d", "s"], ["s", "d", "b", "n"]])
@pytest.mark.parametrize("rows_per_file", [None, 1])
def test_written_in_partitions_and_read_back(
    tmp_path: Path, by: list[str], rows_per_file: int | None
) -> None:
    output = ParquetOutput(partition_by=by, rows_per_file=rows_per_file)
    written = convert(Dataset(ROWS), tmp_path / "out", output=output)
    for data in (written, Dataset(tmp_path / "out")):
        assert data.schema.to_polars() == ROWS.schema
        read = data.scan().collect().select(ROWS.columns).sort("x")
        assert read.equals(ROWS), read
        assert not data.notes
    rows = [
        pl.scan_parquet(file, glob=False).select(pl.len()).collect().item()
        for file in written.files
    ]
    assert sum(rows) == 8
    assert rows_per_file is None or set(rows) == {1}


def test_partitions_of_several_sources(tmp_path: Path) -> None:
    write(tmp_path / "raw" / "a.csv", {"k": [1, 2, 1], "x": [1, 2, 3]})
    write(tmp_path / "raw" / "b.csv", {"k": [2], "x": [4]})
    data = convert(
        Dataset(tmp_path / "raw"), tmp_path / "out", output=ParquetOutput(partition_by="k")
    )
    assert [str(file.relative_to(tmp_path / "out")) for file in data.files] == [
        "k=1/a.parquet",
        "k=2/a.parquet",
        "k=2/b.parquet",
    ]
    # Again: all is there, so nothing is written.
    before = [file.stat().st_mtime_ns for file in data.files]
    again = convert(
        Dataset(tmp_path / "raw"), tmp_path / "out", output=ParquetOutput(partition_by="k")
    )
    assert [file.stat().st_mtime_ns for file in again.files] == before


@pytest.mark.parametrize(
    ("by", "message"),
    [
        (["y"], "no column 'y'"),
        (["f"], "column 'f' is Float64; folders can be named by"),
        (["x", "f", "l"], "column 'f' is Float64"),
        (["l"], r"column 'l' is List\(Int64\)"),
    ],
)
def test_columns_that_cannot_be_folders(by: list[str], message: str, tmp_path: Path) -> None:
    frame = pl.DataFrame({"x": [1], "f": [0.5], "l": [[1]]})
    with pytest.raises(SchemaError, match=message):
        convert(Dataset(frame), tmp_path / "out", output=ParquetOutput(partition_by=by))
    with pytest.raises(SchemaError, match="names every column"):
        convert(Dataset(frame.select("x")), tmp_path / "o", output=ParquetOutput(partition_by="x"))


def test_a_saved_schema_tells_the_types(tmp_path: Path) -> None:
    write(tmp_path / "k=1" / "a.parquet", {"x": [1]})
    Schema.from_polars(pl.Schema({"x": pl.Int64(), "k": pl.String()})).save(
        tmp_path / "schema.json"
    )
    assert Dataset(tmp_path).scan().collect()["k"].to_list() == ["1"]


def test_the_engine_keeps_rows_in_order_within_a_file(tmp_path: Path) -> None:
    frame = pl.DataFrame({"x": range(50_000), "k": [0, 1, 2, 3, 4] * 10_000})
    files = CpuEngine().sink_files(
        frame.lazy(), tmp_path, "part", ParquetOutput(partition_by="k", row_group_rows=1_000)
    )
    assert len(files) == 5
    for file in files:
        assert pl.scan_parquet(file, hive_partitioning=False).collect()["x"].is_sorted()
