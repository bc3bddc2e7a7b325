"""What cannot be loaded is refused with the file, the column and the way out."""

import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from merlinkit.errors import DataError, ParameterError, SchemaError
from merlinkit.schema import Column, Schema


def write(folder, data, schema=None, name="part-0.parquet", row_group_rows=None):
    pl.DataFrame(data, schema=schema).write_parquet(folder / name, row_group_size=row_group_rows)


@pytest.mark.parametrize(
    ("dtype", "remedy"),
    [
        ("String", "Categorify"),
        ("Binary", "Categorify"),
        (pl.Categorical(), "Categorify"),
        ("Date", "DateTime"),
        ("Datetime(us, UTC)", "DateTime"),
        ("Duration(ms)", "Expression"),
        (pl.Decimal(10, 2), "Expression"),
        ("UInt64", "cast it to Int64"),
        ("Null", "FillMissing"),
        ("List(String)", "Categorify"),
        ("List(List(Int64))", "flatten"),
        (pl.Struct({"a": pl.Int64()}), "change it to a number"),
    ],
)
def test_columns_without_a_tensor_form(tmp_path, make_loader, dtype, remedy):
    with pytest.raises(DataError, match=f"column 'x' is .*{remedy}"):
        make_loader(schema=Schema([Column("x", dtype)]))


def test_all_such_columns_are_named_at_once(make_loader):
    schema = Schema([Column("a", "String"), Column("b", "Int64"), Column("c", "Date")])
    with pytest.raises(DataError) as caught:
        make_loader(schema=schema)
    assert "column 'a' is String" in str(caught.value)
    assert "column 'c' is Date" in str(caught.value)
    assert "'b'" not in str(caught.value)


@pytest.mark.parametrize("prefetch", [0, 2])
@pytest.mark.parametrize("buffer_rows", [4, 100])
def test_nulls_are_counted_over_the_file(tmp_path, make_loader, buffer_rows, prefetch):
    write(tmp_path, {"a": [1, 2], "b": [1.0, 2.0], "c": [1, 2], "d": [[1], []]})
    data = {
        "a": [1, None, 3, None, None],
        "b": [1.0, 2.0, float("nan"), 4.0, None],
        "c": [1, 2, 3, 4, 5],
        "d": [[1], [None, None], None, [], [2, None]],
    }
    write(tmp_path, data, name="part-1.parquet", row_group_rows=2)
    schema = Schema(
        [
            Column("a", "Int64", tags=["categorical"]),
            Column("b", "Float64"),
            Column("c", "Int64"),
            Column("d", "List(Int64)"),
        ]
    )
    loader = make_loader(
        schema=schema, buffer_rows=buffer_rows, prefetch=prefetch, shuffle=False, batch_size=1
    )
    with pytest.raises(DataError) as caught:
        list(loader)
    lines = str(caught.value).splitlines()
    assert lines[0].endswith("part-1.parquet: nulls in 3 columns")
    assert lines[1].startswith("  - 3 nulls in column 'a': encode it with Categorify")
    assert lines[2].startswith("  - 1 null in column 'b': fill them with FillMissing")
    assert lines[3].startswith("  - 3 nulls inside lists in column 'd': fill them with")
    assert len(lines) == 4
    # The other columns can be used.
    (batch,) = make_loader(schema=schema, columns=["c"], shuffle=False)
    assert batch["c"].tolist() == [1, 2, 1, 2, 3, 4, 5]


def test_nulls_in_a_target(tmp_path, make_loader):
    write(tmp_path, {"click": [1, None]}, {"click": pl.Int8})
    loader = make_loader(schema=Schema([Column("click", "Int8", tags=["target"])]))
    with pytest.raises(DataError, match=r"0\.parquet: 1 null in column 'click': drop these rows"):
        list(loader)


def test_no_such_path(tmp_path, make_loader):
    with pytest.raises(DataError, match=r"no file or folder .*absent"):
        make_loader(path=tmp_path / "absent")


def test_folder_without_parts(tmp_path, make_loader):
    with pytest.raises(DataError, match="it is empty"):
        make_loader()
    (tmp_path / "data.csv").write_text("a,b\n")
    with pytest.raises(DataError, match=r"no part-\*\.parquet .*there are data\.csv"):
        make_loader()


def test_no_rows_at_all(write_parts, make_loader):
    write_parts([0, 0], 10)
    with pytest.raises(DataError, match="all 2 files are empty"):
        make_loader()


def test_all_bad_files_are_named_at_once(tmp_path, write_parts, make_loader):
    write_parts([10, 10, 10], 10)
    (tmp_path / "part-000.parquet").write_text("a,b\n1,2\n")
    whole = (tmp_path / "part-001.parquet").read_bytes()
    (tmp_path / "part-001.parquet").write_bytes(whole[: len(whole) // 2])
    (tmp_path / "part-002.parquet").write_bytes(b"")
    with pytest.raises(DataError) as caught:
        make_loader()
    for number in range(3):
        assert f"part-00{number}.parquet is not a readable parquet file" in str(caught.value)


def test_files_that_do_not_fit_the_schema(tmp_path, make_loader):
    good = {"a": [1], "b": [0.5], "c": [[1]]}
    write(tmp_path, good, name="part-0.parquet")
    write(tmp_path, {"b": [0.5], "c": [[1]]}, name="part-1.parquet")
    write(tmp_path, good | {"b": ["x"], "c": [1]}, name="part-2.parquet")
    write(tmp_path, good | {"a": [0.5], "c": [[0.5]]}, name="part-3.parquet")
    schema = Schema([Column("a", "Int64"), Column("b", "Float64"), Column("c", "List(Int64)")])
    with pytest.raises(DataError) as caught:
        make_loader(schema=schema)
    message = str(caught.value)
    assert message.startswith("5 problems in the data:")
    assert "part-1.parquet: no column 'a'" in message
    assert "part-2.parquet: column 'b' is large_string, the schema says Float64" in message
    assert "part-2.parquet: column 'c' is int64, the schema says List(Int64)" in message
    assert "part-3.parquet: column 'a' is double, the schema says Int64" in message
    assert "part-0" not in message


@pytest.mark.parametrize(
    ("found", "expected"),
    [
        (pl.Int64, "Int32"),
        (pl.Float64, "Float32"),
        (pl.Boolean, "Int64"),
        (pl.Int64, "Boolean"),
        (pl.Int32, "Float64"),
        (pl.UInt64, "Int64"),
        (pl.Int8, "UInt8"),
    ],
)
def test_numbers_are_not_narrowed(tmp_path, make_loader, found, expected):
    write(tmp_path, {"a": [True]}, {"a": pl.Boolean})
    pl.read_parquet(tmp_path / "part-0.parquet").cast({"a": found}).write_parquet(
        tmp_path / "part-0.parquet"
    )
    with pytest.raises(DataError, match=f"column 'a' is .*, the schema says {expected}"):
        make_loader(schema=Schema([Column("a", expected)]))


def test_two_columns_of_one_name_in_a_file(tmp_path, make_loader):
    table = pa.Table.from_arrays([pa.array([1]), pa.array([2])], names=["a", "a"])
    pq.write_table(table, tmp_path / "part-0.parquet")
    with pytest.raises(DataError, match="2 columns 'a'"):
        make_loader(schema=Schema([Column("a", "Int64")]))


def test_long_lists_of_problems_are_cut(tmp_path, make_loader):
    for number in range(15):
        (tmp_path / f"part-{number}.parquet").write_text("no")
    with pytest.raises(DataError, match="and 5 more"):
        make_loader()


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"batch_size": 0}, "batch_size is 0, expected a whole number of 1 or more"),
        ({"batch_size": 8.0}, "batch_size is 8.0"),
        ({"batch_size": True}, "batch_size is True"),
        ({"seed": -1}, "seed is -1, expected a whole number of 0 or more"),
        ({"seed": None}, "seed is None"),
        ({"buffer_rows": 1}, "buffer_rows is 1, expected a whole number of 2 or more"),
        ({"prefetch": -1}, "prefetch is -1"),
        ({"columns": []}, "no columns"),
        ({"columns": "id"}, r"columns is the string 'id', expected a list: \['id'\]"),
        ({"batch_size": 0, "prefetch": "x"}, "batch_size is 0.*; prefetch is 'x'"),
        ({"batch_size": 21, "drop_last": True}, "batch_size 21 is more than the 20 rows"),
    ],
)
def test_parameters_are_checked(write_parts, make_loader, change, message):
    write_parts([20], 10)
    with pytest.raises(ParameterError, match=message):
        make_loader(**change)


def test_column_names_are_checked(write_parts, make_loader):
    write_parts([20], 10)
    with pytest.raises(SchemaError, match="Did you mean 'price'"):
        make_loader(columns=["pric"])
    with pytest.raises(SchemaError, match="two columns are named 'id'"):
        make_loader(columns=["id", "id"])


def test_a_file_that_vanishes(tmp_path, write_parts, make_loader):
    write_parts([20, 20], 10)
    loader = make_loader()
    (tmp_path / "part-000.parquet").unlink()
    with pytest.raises(DataError, match=r"part-000\.parquet, row group 0: cannot read"):
        list(loader)


@pytest.mark.parametrize(
    ("rows", "message"),
    [(17, "row group 1: ends after row 7, its footer said 10"), (10, "lost row groups")],
)
def test_a_file_that_shrinks(tmp_path, write_parts, make_loader, rows, message):
    write_parts([20, 20], 10)
    loader = make_loader()
    file = tmp_path / "part-001.parquet"
    pq.write_table(pq.read_table(file).slice(0, rows), file, row_group_size=10)
    with pytest.raises(DataError, match=rf"part-001\.parquet.*{message}"):
        list(loader)
