"""Files of one data set that do not have the same columns, or not of the same types."""

from __future__ import annotations

import datetime as dt
from pathlib import Path
from typing import Any

import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from merlinkit.data.convert import convert
from merlinkit.data.csv_options import CsvOptions
from merlinkit.data.dataset import Dataset
from merlinkit.data.failures import data_errors
from merlinkit.errors import DataError, ParameterError

NOW = dt.datetime(2026, 1, 1)


def write(folder: Path, format: str, **frames: pl.DataFrame) -> Path:
    folder.mkdir(exist_ok=True)
    for name, frame in frames.items():
        path = folder / f"{name}.{format}"
        if format == "parquet":
            frame.write_parquet(path)
        else:
            frame.write_csv(path)
    return folder


def rows(data: Dataset) -> list[tuple[Any, ...]]:
    with data_errors():
        return data.scan().collect(engine="streaming").rows()


@pytest.mark.parametrize(
    ("left", "right", "expected"),
    [
        (pa.array([1], pa.int32()), pa.array([2], pa.int64()), pl.Int64),
        (pa.array(["x"], pa.string()), pa.array(["y"], pa.large_string()), pl.String),
        (pa.array(["x"]), pa.array(["y"]).dictionary_encode(), pl.String),
        (pa.array([NOW], pa.timestamp("ms")), pa.array([NOW], pa.timestamp("us")), None),
        (pa.array([1], pa.int64()), pa.nulls(1), pl.Int64),
        (pa.array([[None]], pa.list_(pa.null())), pa.array([[1]]), pl.List(pl.Int64)),
    ],
    ids=["width", "large string", "dictionary", "time unit", "nulls", "list of nulls"],
)
def test_types_that_hold_the_same_values_go_together(
    tmp_path: Path, left: pa.Array, right: pa.Array, expected: Any
) -> None:
    pq.write_table(pa.table({"x": left}), tmp_path / "a.parquet")
    pq.write_table(pa.table({"x": right}), tmp_path / "b.parquet")
    data = Dataset(tmp_path)
    assert data.schema["x"].polars_dtype == (expected or pl.Datetime("us"))
    assert rows(data) == [(left[0].as_py(),), (right[0].as_py(),)]


def test_a_column_that_is_nullable_in_one_file_alone_is_the_same_column(tmp_path: Path) -> None:
    for name, nullable in (("a", False), ("b", True)):
        schema = pa.schema([pa.field("x", pa.int64(), nullable=nullable)])
        pq.write_table(
            pa.table({"x": [1 if name == "a" else None]}, schema), tmp_path / f"{name}.parquet"
        )
    assert rows(Dataset(tmp_path)) == [(1,), (None,)]


@pytest.mark.parametrize(
    ("left", "right", "kinds"),
    [
        (["x"], [1], "String in .*a\\.parquet, Int64 in .*b\\.parquet"),
        ([1], [1.5], "Int64 in .*a\\.parquet, Float64 in .*b\\.parquet"),
        ([NOW.date()], [NOW], "Date in .*a\\.parquet, Datetime.* in .*b\\.parquet"),
    ],
)
def test_types_that_do_not_go_together_are_one_error_with_files_and_types(
    tmp_path: Path, left: list[Any], right: list[Any], kinds: str
) -> None:
    write(tmp_path, "parquet", a=pl.DataFrame({"x": left}), b=pl.DataFrame({"x": right}))
    with pytest.raises(DataError, match=rf"column 'x' has types that do not go.*: {kinds}.*dtypes"):
        Dataset(tmp_path)


FIRST = pl.DataFrame({"x": [1], "y": [2]})
SECOND = pl.DataFrame({"z": [5], "x": [3]})


@pytest.mark.parametrize("format", ["parquet", "csv"])
def test_a_column_missing_in_a_file_is_an_error_that_names_both(
    tmp_path: Path, format: str
) -> None:
    write(tmp_path, format, a=FIRST, b=SECOND)
    with pytest.raises(DataError, match=r"'y'.*missing in .*b\.\w+.*missing_columns='null'"):
        Dataset(tmp_path)
    assert rows(Dataset(tmp_path, columns=["x"])) == [(1,), (3,)]


@pytest.mark.parametrize("format", ["parquet", "csv"])
def test_a_column_missing_in_a_file_is_null_where_that_is_allowed(
    tmp_path: Path, format: str
) -> None:
    write(tmp_path, format, a=FIRST, b=SECOND)
    data = Dataset(tmp_path, missing_columns="null")
    assert dict(data.schema.to_polars()) == {"x": pl.Int64, "y": pl.Int64, "z": pl.Int64}
    assert rows(data) == [(1, 2, None), (3, None, 5)]
    assert [plan.collect().rows() for _, plan in data.scan_files()] == [
        [(1, 2, None)],
        [(3, None, 5)],
    ]
    notes = "\n".join(data.notes)
    assert f"column 'y' is null in {tmp_path / f'b.{format}'}" in notes
    assert f"column 'z' is null in {tmp_path / f'a.{format}'}" in notes
    with data_errors():
        assert data.scan().select("z").collect(engine="streaming").rows() == [(None,), (5,)]
    assert rows(Dataset(tmp_path, columns=["y"], missing_columns="null")) == [(2,), (None,)]
    assert rows(convert(data, tmp_path.parent / f"{format}_out")) == rows(data)


@pytest.mark.parametrize("format", ["parquet", "csv"])
def test_a_column_that_the_first_file_lacks_is_left_out_with_a_note(
    tmp_path: Path, format: str
) -> None:
    write(tmp_path, format, a=FIRST, b=FIRST.with_columns(z=9))
    data = Dataset(tmp_path)
    assert rows(data) == [(1, 2), (1, 2)]
    a, b = (tmp_path / f"{name}.{format}" for name in "ab")
    assert f"column 'z' is not read: it is in {b}, but not in {a}" in data.notes
    with pytest.raises(DataError, match=r"'z'.*missing in .*a\."):
        Dataset(tmp_path, dtypes={"z": "Int64"})


def test_csv_types_of_a_column_come_from_the_first_file_that_has_it(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("x\n1\n")
    (tmp_path / "b.csv").write_text("x,y\n2,k\n")
    (tmp_path / "c.csv").write_text("y\nm\nn\n")
    data = Dataset(tmp_path, missing_columns="null")
    assert rows(data) == [(1, None), (2, "k"), (None, "m"), (None, "n")]


def test_csv_files_with_another_type_later_are_one_error_with_file_and_line(
    tmp_path: Path,
) -> None:
    (tmp_path / "a.csv").write_text("x\n1\n")
    (tmp_path / "b.csv").write_text("x\n2\nk\n")
    with pytest.raises(DataError, match=r"b\.csv, line 3: column 'x' holds 'k', which is not Int"):
        rows(Dataset(tmp_path))


@pytest.mark.parametrize(
    ("format", "first", "second"),
    [
        ("csv", "x,y\n,1\n", "x,y\n2.5,1\n"),
        ("jsonl", '{"x": null, "y": 1}\n', '{"x": 2.5, "y": 1}\n'),
    ],
)
def test_a_column_without_a_value_in_the_first_file_has_the_type_of_the_next(
    tmp_path: Path, format: str, first: str, second: str
) -> None:
    (tmp_path / f"a.{format}").write_text(first)
    (tmp_path / f"b.{format}").write_text(first)
    (tmp_path / f"c.{format}").write_text(second)
    assert rows(Dataset(tmp_path)) == [(None, 1), (None, 1), (2.5, 1)]
    (tmp_path / f"d.{format}").write_text(second.replace("2.5", '"k"'))
    with pytest.raises(
        DataError, match=r"d\.\w+, line \d: column 'x' holds .*k.*rows|lines of .*c"
    ):
        rows(Dataset(tmp_path))


def test_missing_columns_takes_two_values_alone(tmp_path: Path) -> None:
    write(tmp_path, "parquet", a=FIRST)
    with pytest.raises(ParameterError, match=r"missing_columns 'nul'.*Did you mean 'null'"):
        Dataset(tmp_path, missing_columns="nul")  # type: ignore[arg-type]
    with pytest.raises(ParameterError, match=r"dtypes is \['x'\]: data types by column"):
        Dataset(tmp_path, dtypes=["x"])  # type: ignore[arg-type]


# -- zeros ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        (["007", "12"], pl.String),
        (["12", "01234"], pl.String),
        (["-01", "1"], pl.String),
        (['"007"', "1"], pl.String),
        (["007", "1.5"], pl.String),
        (["0", "10", "100"], pl.Int64),
        (["0", "-0", "7"], pl.Int64),
        (["0.5", "-0.25", "0"], pl.Float64),
        (["1e05", "2"], pl.Float64),
        (["10", ""], pl.Int64),
    ],
)
@pytest.mark.parametrize("format", ["csv", "tsv"])
def test_leading_zeros_are_not_lost_to_a_number(
    tmp_path: Path, format: str, values: list[str], expected: pl.DataType
) -> None:
    mark = "\t" if format == "tsv" else ","
    text = "".join(f"{value}{mark}k\n" for value in values)
    (tmp_path / f"a.{format}").write_text(f"x{mark}y\n{text}")
    data = Dataset(tmp_path)
    assert data.schema["x"].dtype == expected
    if expected == pl.String:
        assert [x for x, _ in rows(data)] == [value.strip('"') for value in values]
        assert "column 'x' is read as String: a number would lose the zeros" in data.notes[0]
        given = Dataset(tmp_path, dtypes={"x": "Float64"})
        assert [x for x, _ in rows(given)] == [float(value.strip('"')) for value in values]


@pytest.mark.parametrize("value", ["007", "-007", '"007"'])
def test_leading_zeros_behind_the_rows_that_types_come_from_are_an_error(
    tmp_path: Path, value: str
) -> None:
    (tmp_path / "a.csv").write_text(f"y,x\nk,1\n2026-01-01,2\nk,{value}\n")
    data = Dataset(tmp_path, csv=CsvOptions(infer_rows=1))
    plain = value.strip('"')
    with pytest.raises(
        DataError, match=rf"a\.csv, line 4: column 'x' holds '{plain}'.*dtypes=\{{'x': 'String'"
    ):
        rows(data)
    assert rows(Dataset(tmp_path, columns=["y"])) == [("k",), ("2026-01-01",), ("k",)]
    read = Dataset(tmp_path, csv=CsvOptions(infer_rows=1), dtypes={"x": "Int64"})
    assert rows(read)[2] == ("k", int(plain))


def test_a_null_marker_with_zeros_is_no_value(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("x,y\n1,k\n00,k\n")
    assert rows(Dataset(tmp_path, csv=CsvOptions(null_values=["00"]))) == [(1, "k"), (None, "k")]


@pytest.mark.parametrize("mark", ["|", ";", "~", "\t", " "])
def test_leading_zeros_are_seen_behind_any_delimiter(tmp_path: Path, mark: str) -> None:
    (tmp_path / "a.csv").write_text(f"y{mark}x\n1{mark}007\n")
    data = Dataset(tmp_path, csv=CsvOptions(delimiter=mark))
    assert rows(data) == [(1, "007")]
