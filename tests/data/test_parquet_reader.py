"""Parquet files that agree, that can be made to agree, and that cannot."""

from __future__ import annotations

import datetime as dt
from decimal import Decimal
from pathlib import Path

import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from merlinkit.data.dataset import Dataset
from merlinkit.errors import DataError, SchemaError
from merlinkit.schema import Column, Domain, Schema


def write(folder: Path, **frames: pl.DataFrame) -> Path:
    for name, frame in frames.items():
        frame.write_parquet(folder / f"{name}.parquet")
    return folder


def test_rows_types_and_sizes(tmp_path: Path) -> None:
    frame = pl.DataFrame(
        {
            "i": pl.Series([1, None], dtype=pl.Int32),
            "t": pl.Series([dt.datetime(2026, 1, 1), None], dtype=pl.Datetime("ms", "UTC")),
            "l": [[1.5], []],
        }
    )
    data = Dataset(write(tmp_path, a=frame, b=frame.head(0), c=frame) / "*.parquet")
    assert data.num_rows() == 4
    assert data.size_bytes() == sum(path.stat().st_size for path in tmp_path.iterdir())
    assert dict(data.schema.to_polars()) == dict(frame.schema)
    assert data.scan().collect().equals(pl.concat([frame, frame]))
    assert [(name, plan.collect().height) for name, plan in data.scan_files()] == [
        ("a", 2),
        ("b", 0),
        ("c", 2),
    ]


def test_types_that_not_every_engine_has_become_plain_ones(tmp_path: Path) -> None:
    frame = pl.DataFrame(
        {
            "c": pl.Series(["x", None], dtype=pl.Categorical),
            "e": pl.Series(["x", "y"], dtype=pl.Enum(["x", "y"])),
            "d": pl.Series([Decimal("1.25"), None], dtype=pl.Decimal(10, 2)),
            "a": pl.Series([[1, 2], [3, 4]], dtype=pl.Array(pl.Int8, 2)),
            "n": pl.Series([None, None], dtype=pl.Null),
            "lc": pl.Series([["x"], None], dtype=pl.List(pl.Categorical)),
        }
    )
    data = Dataset(write(tmp_path, a=frame))
    assert dict(data.schema.to_polars()) == {
        "c": pl.String,
        "e": pl.String,
        "d": pl.Float64,
        "a": pl.List(pl.Int8),
        "n": pl.String,
        "lc": pl.List(pl.String),
    }
    collected = data.scan().collect()
    assert collected.schema == data.schema.to_polars()
    assert collected.rows() == [
        ("x", "x", 1.25, [1, 2], None, ["x"]),
        (None, "y", None, [3, 4], None, None),
    ]


def test_a_pandas_category_is_text(tmp_path: Path) -> None:
    pd.DataFrame({"c": pd.Categorical(["x", "y", None])}).to_parquet(tmp_path / "a.parquet")
    assert Dataset(tmp_path).scan().collect()["c"].to_list() == ["x", "y", None]


def test_files_that_differ_in_harmless_ways_are_unified_with_a_note(tmp_path: Path) -> None:
    write(
        tmp_path,
        a=pl.DataFrame({"x": pl.Series([1], dtype=pl.Int32), "y": ["p"], "z": [[1]]}),
        b=pl.DataFrame(
            {
                "z": pl.Series([[2]], dtype=pl.List(pl.Int16)),
                "y": pl.Series(["q"], dtype=pl.Categorical),
                "x": pl.Series([2**40], dtype=pl.Int64),
            }
        ),
        c=pl.DataFrame({"x": [None], "y": [None], "z": [None]}),
    )
    data = Dataset(tmp_path)
    assert dict(data.schema.to_polars()) == {"x": pl.Int64, "y": pl.String, "z": pl.List(pl.Int64)}
    expected = [(1, "p", [1]), (2**40, "q", [2]), (None, None, None)]
    assert data.scan().collect().rows() == expected
    assert [plan.collect().rows() for _, plan in data.scan_files()] == [[row] for row in expected]
    notes = "\n".join(data.notes)
    assert "column 'x' is read as Int64: it is Int32 in" in notes
    assert "columns are in the order of" in notes


@pytest.mark.parametrize(
    ("left", "right", "expected"),
    [
        (pl.UInt8, pl.Int8, pl.Int16),
        (pl.UInt32, pl.Int32, pl.Int64),
        (pl.UInt16, pl.UInt64, pl.UInt64),
        (pl.Float32, pl.Float64, pl.Float64),
        (pl.Datetime("ms"), pl.Datetime("us"), pl.Datetime("us")),
        (pl.UInt64, pl.Int8, None),
        (pl.Int64, pl.Float64, None),
        (pl.Int64, pl.String, None),
        (pl.Boolean, pl.Int8, None),
        (pl.Date, pl.Datetime("us"), None),
        (pl.Datetime("us"), pl.Datetime("us", "UTC"), None),
        (pl.Datetime("us"), pl.Datetime("ns"), None),
        (pl.List(pl.Int8), pl.Int8, None),
    ],
)
def test_which_types_go_together(
    tmp_path: Path, left: pl.DataType, right: pl.DataType, expected: pl.DataType | None
) -> None:
    write(
        tmp_path,
        a=pl.DataFrame({"x": pl.Series([None], dtype=left)}),
        b=pl.DataFrame({"x": pl.Series([None], dtype=right)}),
    )
    if expected is None:
        with pytest.raises(
            DataError, match=r"column 'x' has types that do not go together: .*b\.p"
        ):
            Dataset(tmp_path)
    else:
        assert Dataset(tmp_path).scan().collect().schema == {"x": expected}


def test_all_columns_that_do_not_fit_are_named_at_once(tmp_path: Path) -> None:
    write(
        tmp_path,
        a=pl.DataFrame({"x": [1], "y": ["p"], "s": [{"k": 1}]}),
        b=pl.DataFrame({"x": [1.5], "s": [{"k": 1}]}),
    )
    with pytest.raises(DataError) as caught:
        Dataset(tmp_path)
    message = str(caught.value)
    assert "column 'x' has types that do not go together: Int64 in" in message
    assert "dtypes={'x': ...}" in message
    assert f"column 'y' is missing in {tmp_path / 'b.parquet'}" in message
    assert "column 's' holds nested objects" in message
    assert Dataset(tmp_path, columns=["x"], dtypes={"x": "Float64"}).num_rows() == 2


def test_integers_that_pandas_made_floats_are_read_as_integers(tmp_path: Path) -> None:
    pd.DataFrame({"user": [1, 2]}).to_parquet(tmp_path / "a.parquet")
    pd.DataFrame({"user": [3, None]}).to_parquet(tmp_path / "b.parquet")
    data = Dataset(tmp_path, dtypes={"user": "Int64"})
    assert data.scan().collect()["user"].to_list() == [1, 2, 3, None]
    write(tmp_path, c=pl.DataFrame({"user": [1.5]}))
    plan = Dataset(tmp_path, dtypes={"user": "Int64"}).scan()
    with pytest.raises(pl.exceptions.InvalidOperationError, match="conversion from `f64` to `i64`"):
        plan.collect()


def test_types_that_cannot_be_given(tmp_path: Path) -> None:
    write(tmp_path, a=pl.DataFrame({"x": [1], "t": [dt.datetime(2026, 1, 1)]}))
    with pytest.raises(DataError, match=r"column 'x' is Int64 in .*, not Datetime\(us\)"):
        Dataset(tmp_path, dtypes={"x": "Datetime(us)"})
    # Polars would make nulls of years that nanoseconds cannot hold.
    with pytest.raises(DataError, match=r"not Datetime\(ns\)"):
        Dataset(tmp_path, dtypes={"t": "Datetime(ns)"})


@pytest.mark.parametrize(
    ("body", "message"),
    [
        (b"", r"a\.parquet is empty: 0 bytes"),
        (b"user,item\n1,2\n", r"a\.parquet is not a parquet file: it starts with 'user,item"),
        (b"PAR1PAR1", r"a\.parquet is a damaged parquet file"),
        (b"PARE" + b"x" * 20, r"a\.parquet is encrypted"),
        (b"PAR1" + b"x" * 20 + b"\x08\0\0\0PAR1", r"its footer cannot be read"),
    ],
)
def test_files_that_are_not_parquet(tmp_path: Path, body: bytes, message: str) -> None:
    (tmp_path / "a.parquet").write_bytes(body)
    with pytest.raises(DataError, match=message):
        Dataset(tmp_path)


def test_all_damaged_files_are_named_at_once(tmp_path: Path) -> None:
    write(tmp_path, a=pl.DataFrame({"x": range(1000)}))
    whole = (tmp_path / "a.parquet").read_bytes()
    (tmp_path / "b.parquet").write_bytes(whole[: len(whole) // 2])
    (tmp_path / "c.parquet").write_bytes(whole[:-1])
    with pytest.raises(DataError, match=r"b\.parquet is a damaged.*c\.parquet is a damaged"):
        Dataset(tmp_path)


def test_no_rows(tmp_path: Path) -> None:
    write(tmp_path, a=pl.DataFrame({"x": []}), b=pl.DataFrame({"x": []}))
    with pytest.raises(DataError, match=r"a\.parquet and 1 more files: no rows"):
        Dataset(tmp_path)


def test_names_with_the_characters_of_globs_and_of_hive(tmp_path: Path) -> None:
    folder = tmp_path / "day=1" / "x[1]*"
    folder.mkdir(parents=True)
    pl.DataFrame({"x": [1]}).write_parquet(folder / "a[2].parquet")
    data = Dataset(tmp_path)
    assert data.schema.names == ["x", "day"]
    assert data.scan().collect().rows() == [(1, 1)]


SAVED = Schema(
    [
        Column("y", "String", tags=["categorical"]),
        Column("x", "Int64", domain=Domain(0, 9), tags=["user_id"]),
    ]
)


def test_a_schema_beside_the_files_gives_tags_and_domains(tmp_path: Path) -> None:
    write(tmp_path, a=pl.DataFrame({"x": [1], "y": ["p"]}))
    SAVED.save(tmp_path / "schema.json")
    for source in (tmp_path, tmp_path / "a.parquet", [tmp_path / "a.parquet"]):
        assert Dataset(source).schema == SAVED.select(["x", "y"])
    assert Dataset(tmp_path, columns=["x"]).schema == SAVED.select(["x"])
    assert Dataset(tmp_path, schema=Schema([Column("x", "Int64")])).schema["x"].tags == frozenset()


@pytest.mark.parametrize("body", ["{", '{"format": 99, "columns": []}', '{"fields": []}'])
def test_another_schema_is_left_alone_with_a_note(tmp_path: Path, body: str) -> None:
    write(tmp_path, a=pl.DataFrame({"x": [1]}))
    (tmp_path / "schema.json").write_text(body)
    data = Dataset(tmp_path)
    assert data.schema == Schema([Column("x", "Int64")])
    assert any("schema.json is not used" in note for note in data.notes)


def test_a_schema_that_does_not_match_is_left_alone_with_a_note(tmp_path: Path) -> None:
    write(tmp_path, a=pl.DataFrame({"x": ["1"], "y": ["p"]}))
    SAVED.save(tmp_path / "schema.json")
    data = Dataset(tmp_path)
    assert data.schema["x"].tags == frozenset()
    assert any("does not match the data in x" in note for note in data.notes)


def test_a_schema_chooses_and_orders_columns_and_types(tmp_path: Path) -> None:
    write(tmp_path, a=pl.DataFrame({"x": [1], "y": ["p"], "z": [2]}))
    wanted = Schema([Column("z", "Int32", tags=["target"]), Column("x", "Int64")])
    data = Dataset(tmp_path, schema=wanted)
    assert data.schema == wanted
    assert data.scan().collect().schema == {"z": pl.Int32, "x": pl.Int64}
    with pytest.raises(SchemaError, match="no column 'q'"):
        Dataset(tmp_path, schema=Schema([Column("q", "Int64")]))


def test_large_strings_and_dictionaries_of_arrow(tmp_path: Path) -> None:
    table = pa.table(
        {
            "s": pa.array(["x", None], type=pa.large_string()),
            "d": pa.array(["x", "y"]).dictionary_encode(),
        }
    )
    pq.write_table(table, tmp_path / "a.parquet")
    assert Dataset(tmp_path).scan().collect().rows() == [("x", "x"), (None, "y")]
