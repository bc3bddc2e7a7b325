"""Line-delimited JSON: no key and no value gets lost, and what is wrong is named by line."""

from __future__ import annotations

import datetime as dt
import gzip
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import merlinkit.data.jsonl as jsonl
import merlinkit.data.jsonl_lines as jsonl_lines
import merlinkit.data.text as text
from merlinkit.data.csv_options import CsvOptions
from merlinkit.data.dataset import Dataset
from merlinkit.data.failures import data_errors
from merlinkit.errors import DataError, ParameterError, SchemaError


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "a.jsonl"


def write(file: Path, rows: list[dict[str, Any]]) -> None:
    file.write_text("".join(json.dumps(row) + "\n" for row in rows))


def read(dataset: Dataset) -> pl.DataFrame:
    with data_errors():
        return dataset.scan().collect(engine="streaming")


def small_blocks(monkeypatch: pytest.MonkeyPatch, size: int) -> None:
    def blocks(path: Path) -> Iterator[bytes]:
        return text.read_blocks(path, size)

    monkeypatch.setattr(jsonl_lines, "read_blocks", blocks)


ROWS: list[dict[str, Any]] = [
    {"i": 1, "f": 1.5, "s": 'é\n"x"', "b": True, "l": [1, 2], "t": ["a", None]},
    {"i": -2, "f": 2, "s": None, "b": None, "l": [], "t": None},
    {"f": None, "l": None, "s": "y"},
]


@pytest.mark.parametrize("size", [1, 10, 1000])
def test_every_value_arrives(file: Path, monkeypatch: pytest.MonkeyPatch, size: int) -> None:
    write(file, ROWS)
    data = Dataset(file)
    small_blocks(monkeypatch, size)
    assert dict(data.schema.to_polars()) == {
        "i": pl.Int64,
        "f": pl.Float64,
        "s": pl.String,
        "b": pl.Boolean,
        "l": pl.List(pl.Int64),
        "t": pl.List(pl.String),
    }
    expected = [{name: row.get(name) for name in data.schema.names} for row in ROWS]
    assert read(data).to_dicts() == expected


def test_blank_lines_line_ends_a_mark_and_gzip(tmp_path: Path) -> None:
    path = tmp_path / "a.ndjson.gz"
    path.write_bytes(gzip.compress(b'\xef\xbb\xbf\r\n{"a":1}\r\n\n  \n{"a":2}'))
    assert read(Dataset(path)).to_dicts() == [{"a": 1}, {"a": 2}]


def test_given_types(file: Path) -> None:
    write(
        file, [{"small": 5, "f": 1, "d": "2026-11-01", "t": "2026-11-01T10:00:00", "n": {"x": 1}}]
    )
    dtypes = {"small": "Int8", "f": "Float32", "d": "Date", "t": "Datetime(ms)", "n": "String"}
    data = Dataset(file, dtypes=dtypes)
    frame = read(data)
    assert frame.schema == data.schema.to_polars()
    assert frame.row(0) == (5, 1.0, dt.date(2026, 11, 1), dt.datetime(2026, 11, 1, 10), '{"x": 1}')
    lists = Dataset(file, columns=["small"], dtypes={"small": "UInt16"})
    assert read(lists).schema == {"small": pl.UInt16}


def test_a_column_of_nulls_is_text_and_large_numbers_keep_their_digits(file: Path) -> None:
    file.write_text('{"a":null,"b":123456789012345678901}\n')
    assert read(Dataset(file)).to_dicts() == [{"a": None, "b": "123456789012345678901"}]


@pytest.mark.parametrize("size", [1, 1 << 20])
@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("not json", r"line 3: not JSON \(.*\): 'not json'"),
        ('{"a": 1', r"line 3: not JSON"),
        ('{"a": 1} {"a": 2}', r"line 3: not JSON"),
        ('{"a": NaN}', r"line 3: not JSON \(NaN is not a JSON value\)"),
        ("[1, 2]", r"line 3: a list found, a JSON object was expected"),
        ("3", r"line 3: an integer found"),
        ('{"a": "x"}', r"line 3: column 'a' holds '\"x\"', which is not Int64, .*dtypes="),
        ('{"a": 1.5}', r"line 3: column 'a' holds '1\.5', which is not Int64"),
        ('{"a": true}', r"line 3: column 'a' holds 'true', which is not Int64"),
        ('{"a": [1]}', r"line 3: column 'a' holds '\[1\]', which is not Int64"),
        ('{"a": 1, "c": 1}', r"line 3: key 'c' is not among the columns.*dtypes=\{'c'"),
        ('{"a": "x", "c": 1}', r"line 3: key 'c' is not among the columns|column 'a' holds"),
        ('{"l": [1, "x"]}', r"line 3: column 'l' holds '\[1, \"x\"\]', which is not List\(Int64\)"),
    ],
)
def test_a_late_line_that_does_not_fit_is_named(
    file: Path, monkeypatch: pytest.MonkeyPatch, line: str, message: str, size: int
) -> None:
    monkeypatch.setattr(jsonl, "INFER_ROWS", 2)
    file.write_text('{"a": 1, "l": [1]}\n{"a": 2}\n' + line + '\n{"a": 3}\n')
    data = Dataset(file)
    small_blocks(monkeypatch, size)
    with pytest.raises(DataError, match=rf"a\.jsonl, {message}"):
        read(data)


def test_bytes_that_are_not_utf8(file: Path) -> None:
    file.write_bytes(b'{"a":"x"}\n{"a":"\xe9"}\n')
    with pytest.raises(DataError, match=r"line 2: not UTF-8, byte 0xe9 at offset 6"):
        Dataset(file)


def test_small_types_name_what_does_not_fit(file: Path) -> None:
    write(file, [{"a": 1}, {"a": 300}])
    with pytest.raises(DataError, match=r"line 2: column 'a' holds '300', which is not Int8, as d"):
        read(Dataset(file, dtypes={"a": "Int8"}))


def test_late_keys_can_be_read_or_left_out(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(jsonl, "INFER_ROWS", 1)
    write(file, [{"a": 1}, {"a": 2, "c": "x"}])
    assert read(Dataset(file, dtypes={"c": "String"})).rows() == [(1, None), (2, "x")]
    assert read(Dataset(file, columns=["a"])).rows() == [(1,), (2,)]


def test_values_of_several_kinds_in_the_first_lines(file: Path) -> None:
    write(file, [{"a": 1, "b": 1}, {"a": 1.5, "b": [1]}])
    with pytest.raises(DataError, match=r"key 'b' holds an integer in line 1, a list in line 2"):
        Dataset(file)


def test_nested_objects_are_refused_unless_read_as_text_or_left_out(file: Path) -> None:
    write(file, [{"a": 1, "b": {"x": 1}}])
    with pytest.raises(DataError, match=r"key 'b' holds nested objects.*columns=\[.*dtypes="):
        Dataset(file)
    assert read(Dataset(file, columns=["a"])).rows() == [(1,)]
    assert read(Dataset(file, dtypes={"b": "String"})).rows() == [(1, '{"x": 1}')]


@pytest.mark.parametrize("body", ["", "\n \n"])
def test_no_rows(file: Path, body: str) -> None:
    file.write_text(body)
    with pytest.raises(DataError, match=r"a\.jsonl: no rows"):
        Dataset(file)


def test_empty_files_among_others_are_fine(tmp_path: Path) -> None:
    (tmp_path / "a.jsonl").write_text("")
    write(tmp_path / "b.jsonl", [{"x": 1}])
    data = Dataset(tmp_path)
    assert read(data).rows() == [(1,)]
    assert [name for name, _ in data.scan_files()] == ["a", "b"]


def test_a_key_that_is_not_there(file: Path) -> None:
    write(file, [{"user": 1}])
    with pytest.raises(SchemaError, match=r"no key 'users'.*Did you mean 'user'"):
        Dataset(file, columns=["users"])


def test_a_line_without_end(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file.write_text('{"a":1}\n{"a":"' + "x" * 5000)
    monkeypatch.setattr(jsonl, "INFER_ROWS", 1)
    data = Dataset(file, dtypes={"a": "String"})
    monkeypatch.setattr(jsonl_lines, "MAX_LINE_BYTES", 1000)
    small_blocks(monkeypatch, 500)
    with pytest.raises(DataError, match="line 2: longer than"):
        read(data)


def test_csv_options_do_not_go_with_it(file: Path) -> None:
    write(file, [{"a": 1}])
    with pytest.raises(ParameterError, match="csv options were given for jsonl files"):
        Dataset(file, csv=CsvOptions())


@pytest.mark.parametrize("dtype", ["Time", "Duration(us)"])
def test_types_that_json_cannot_hold(file: Path, dtype: str) -> None:
    write(file, [{"a": "x"}])
    with pytest.raises(SchemaError, match=r"cannot be read as .* read them as String"):
        Dataset(file, dtypes={"a": dtype})
