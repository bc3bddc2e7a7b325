"""Each row comes once an epoch with the values it was written with, whatever the layout."""

import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import torch
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from merlinkit.loader import Loader
from merlinkit.schema import Column, Schema

FILES = [1, 0, 7, 1000]


@pytest.mark.parametrize("shuffle", [True, False])
@pytest.mark.parametrize("row_group_rows", [1, 13, 1000])
@pytest.mark.parametrize("buffer_rows", [2, 50, 1007, 1008])
def test_each_row_once_in_any_layout(
    write_parts, make_loader, rows_of, shuffle, row_group_rows, buffer_rows
):
    files = FILES if row_group_rows > 1 else [1, 0, 7, 90]
    written = write_parts(files, row_group_rows)
    loader = make_loader(shuffle=shuffle, buffer_rows=buffer_rows, batch_size=64)
    for _ in range(2):
        batches = list(loader)
        assert len(batches) == len(loader)
        assert [len(batch["id"]) for batch in batches[:-1]] == [64] * (len(loader) - 1)
        read = rows_of(batches)
        if shuffle:
            assert read != written
            read = sorted(read)
        assert read == written
    assert loader.num_rows == len(written)


@settings(
    deadline=None,
    max_examples=40,
    derandomize=True,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(
    files=st.lists(st.integers(0, 40), min_size=1, max_size=5).filter(any),
    row_group_rows=st.integers(1, 50),
    buffer_rows=st.integers(2, 130),
    batch_size=st.integers(1, 60),
    seed=st.integers(0, 2**40),
    shuffle=st.booleans(),
    prefetch=st.sampled_from([0, 1]),
)
def test_each_row_once_for_random_layouts(
    tmp_path_factory,
    make_loader,
    rows_of,
    files,
    row_group_rows,
    buffer_rows,
    batch_size,
    seed,
    shuffle,
    prefetch,
):
    folder = tmp_path_factory.mktemp("parts")
    ids = iter(range(1000))
    for number, count in enumerate(files):
        values = [next(ids) for _ in range(count)]
        frame = pl.DataFrame({"id": values}, schema={"id": pl.Int64})
        pq.write_table(
            frame.to_arrow(), folder / f"part-{number}.parquet", row_group_size=row_group_rows
        )
    loader = make_loader(
        path=folder,
        schema=Schema([Column("id", "Int64")]),
        buffer_rows=buffer_rows,
        batch_size=batch_size,
        seed=seed,
        shuffle=shuffle,
        prefetch=prefetch,
    )
    batches = [batch["id"].tolist() for batch in loader]
    assert all(len(batch) == batch_size for batch in batches[:-1])
    read = [row for batch in batches for row in batch]
    assert (sorted(read) if shuffle else read) == list(range(sum(files)))


def test_drop_last_leaves_out_the_short_batch(write_parts, make_loader):
    write_parts([21], 100)
    loader = make_loader(batch_size=8, drop_last=True)
    assert [len(batch["id"]) for batch in loader] == [8, 8]
    assert len(loader) == 2


def test_drop_last_keeps_a_full_last_batch(write_parts, make_loader):
    write_parts([16], 100)
    loader = make_loader(batch_size=8, drop_last=True)
    assert [len(batch["id"]) for batch in loader] == [8, 8]


def test_batch_larger_than_the_data(write_parts, make_loader, rows_of):
    written = write_parts([3, 4], 2)
    (batch,) = make_loader(batch_size=100, buffer_rows=4)
    assert sorted(rows_of([batch])) == written


def test_one_file_instead_of_a_folder(tmp_path, write_parts, make_loader, rows_of):
    written = write_parts([3, 4], 2)
    loader = make_loader(path=tmp_path / "part-001.parquet", shuffle=False)
    assert rows_of(loader) == written[3:]


def test_files_that_are_no_parts_are_left_alone(tmp_path, write_parts, make_loader):
    write_parts([3], 2)
    (tmp_path / "part-009.parquet.tmp").write_bytes(b"half a file")
    (tmp_path / "_SUCCESS").write_text("{}")
    assert make_loader().num_rows == 3


def test_batch_columns_and_dtypes_follow_the_request(write_parts, make_loader):
    write_parts([5], 5)
    (batch,) = make_loader(columns=["tags", "flag", "price", "file", "id"])
    assert list(batch) == ["tags", "flag", "price", "file", "id"]
    assert batch["tags"].values.dtype == torch.int64
    assert batch["tags"].offsets.dtype == torch.int64
    assert [batch[name].dtype for name in ("flag", "price", "file", "id")] == [
        torch.bool,
        torch.float32,
        torch.int32,
        torch.int64,
    ]
    assert batch["id"].shape == (5,)


@pytest.mark.parametrize(
    ("dtype", "values", "expected"),
    [
        ("Int8", [-128, 127], torch.int8),
        ("Int16", [-(2**15), 2**15 - 1], torch.int16),
        ("Int64", [-(2**63), 2**63 - 1], torch.int64),
        ("UInt8", [0, 255], torch.uint8),
        ("UInt16", [0, 2**16 - 1], torch.int32),
        ("UInt32", [0, 2**32 - 1], torch.int64),
        ("Float64", [1e300, 0.1], torch.float64),
        ("Boolean", [True, False], torch.bool),
    ],
)
@pytest.mark.parametrize("is_list", [False, True])
def test_extreme_values_of_each_dtype(tmp_path, make_loader, dtype, values, expected, is_list):
    schema = Schema([Column("x", dtype, is_list=is_list)])
    data = {"x": [values, []] if is_list else values}
    pl.DataFrame(data, schema=schema.to_polars()).write_parquet(tmp_path / "part-0.parquet")
    (batch,) = make_loader(schema=schema, shuffle=False)
    column = batch["x"].values if is_list else batch["x"]
    assert column.dtype == expected
    assert column.tolist() == values


def test_narrower_numbers_in_a_file_are_widened(tmp_path, make_loader):
    frame = pl.DataFrame(
        {"a": [1, 2], "b": [0.5, 0.25], "c": [[3], [4]]},
        schema={"a": pl.UInt8, "b": pl.Float32, "c": pl.List(pl.Int16)},
    )
    frame.write_parquet(tmp_path / "part-0.parquet")
    schema = Schema([Column("a", "Int64"), Column("b", "Float64"), Column("c", "List(Int32)")])
    (batch,) = make_loader(schema=schema, shuffle=False)
    assert batch["a"].dtype == torch.int64
    assert batch["a"].tolist() == [1, 2]
    assert batch["b"].dtype == torch.float64
    assert batch["b"].tolist() == [0.5, 0.25]
    assert batch["c"].values.dtype == torch.int32
    assert batch["c"].to_lists() == [[3], [4]]


def test_nan_is_kept(tmp_path, make_loader):
    pl.DataFrame({"x": [1.0, float("nan")]}).write_parquet(tmp_path / "part-0.parquet")
    (batch,) = make_loader(schema=Schema([Column("x", "Float64")]), shuffle=False)
    assert batch["x"][0] == 1.0
    assert torch.isnan(batch["x"][1])


def test_columns_of_one_dtype_are_views_of_one_matrix(tmp_path, make_loader):
    frame = pl.DataFrame({"a": [1, 2, 3], "x": [0.5, 1.5, 2.5], "b": [4, 5, 6]})
    frame.write_parquet(tmp_path / "part-0.parquet")
    (batch,) = make_loader(schema=Schema.from_polars(frame.schema), shuffle=False)
    memory = {name: column.untyped_storage().data_ptr() for name, column in batch.items()}
    assert memory["a"] == memory["b"] != memory["x"]
    assert batch["a"].stride() == batch["b"].stride() == (2,)


def test_writing_into_a_batch_leaves_the_next_epoch_alone(write_parts, make_loader, rows_of):
    written = write_parts([20], 5)
    for shuffle in (False, True):
        loader = make_loader(shuffle=shuffle)
        for batch in loader:
            batch["id"].zero_()
            batch["tags"].values.zero_()
        assert sorted(rows_of(loader)) == written


def test_column_names_with_dots_and_prefixes(tmp_path, make_loader):
    table = pa.table({"a": [1, 2], "a.b": [3, 4], "a.list": pa.array([[5], [6]])})
    pq.write_table(table, tmp_path / "part-0.parquet")
    schema = Schema([Column("a", "Int64"), Column("a.b", "Int64"), Column("a.list", "List(Int64)")])
    (batch,) = make_loader(schema=schema, columns=["a"], shuffle=False)
    assert list(batch) == ["a"]
    assert batch["a"].tolist() == [1, 2]
    (batch,) = make_loader(schema=schema, columns=["a.list", "a.b"], shuffle=False)
    assert batch["a.b"].tolist() == [3, 4]
    assert batch["a.list"].to_lists() == [[5], [6]]


def test_many_columns_of_many_dtypes_over_several_strips(tmp_path, make_loader):
    """More rows than an Arrow chunk (16,384) and than a strip, in an odd number."""
    rows = 40_003
    ids = np.arange(rows)
    data = {f"i{k}": ids * k for k in range(5)} | {f"f{k}": ids / (k + 1) for k in range(4)}
    pl.DataFrame(data).write_parquet(tmp_path / "part-0.parquet", row_group_size=30_000)
    schema = Schema.from_polars(pl.DataFrame(data).schema)
    loader = Loader(tmp_path, schema, batch_size=9_999, shuffle=True, seed=3, buffer_rows=30_001)
    seen = []
    for batch in loader:
        key = batch["i1"].numpy()
        seen.append(key)
        for k in range(5):
            np.testing.assert_array_equal(batch[f"i{k}"].numpy(), key * k)
        for k in range(4):
            np.testing.assert_array_equal(batch[f"f{k}"].numpy(), key / (k + 1))
    np.testing.assert_array_equal(np.sort(np.concatenate(seen)), ids)
