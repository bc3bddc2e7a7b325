"""Lists of different lengths, of the same length, empty ones and null ones."""

import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import torch

from merlinkit.loader import Ragged
from merlinkit.loader.store import ListRows
from merlinkit.schema import Column, Schema

LISTS = Schema([Column("x", "List(Int64)")])


def write(folder, lists):
    frame = pl.DataFrame({"x": lists}, schema={"x": pl.List(pl.Int64)})
    frame.write_parquet(folder / "part-0.parquet")


@pytest.mark.parametrize(
    "lists",
    [
        [[1, 2], [], [3]],
        [[1, 2], [3, 4], [5, 6]],
        [[], [], []],
        [[], [], [7]],
        [[7], [], []],
    ],
)
@pytest.mark.parametrize("buffer_rows", [2, 100])
@pytest.mark.parametrize("batch_size", [1, 2, 3])
def test_ragged_lists_surprised(tmp_path, make_loader, lists, buffer_rows, batch_size):
    write(tmp_path, lists)
    loader = make_loader(
        schema=LISTS, shuffle=False, buffer_rows=buffer_rows, batch_size=batch_size
    )
    rows = []
    for batch in loader:
        column = batch["x"]
        assert column.values.dtype == torch.int64
        assert column.offsets.dtype == torch.int64
        assert column.offsets[0] == 0
        assert column.offsets[-1] == len(column.values)
        rows += column.to_lists()
    assert rows == lists
    shuffled = make_loader(schema=LISTS, buffer_rows=buffer_rows, batch_size=batch_size)
    assert sorted(row for batch in shuffled for row in batch["x"].to_lists()) == sorted(lists)


def test_null_lists_are_empty(tmp_path, make_loader):
    write(tmp_path, [None, [1], None, [2, 3], []])
    (batch,) = make_loader(schema=LISTS, shuffle=False)
    assert batch["x"].to_lists() == [[], [1], [], [2, 3], []]


def test_only_null_lists(tmp_path, make_loader):
    write(tmp_path, [None, None])
    (batch,) = make_loader(schema=LISTS)
    assert batch["x"].to_lists() == [[], []]


@pytest.mark.parametrize(
    "arrow",
    [pa.list_(pa.int64()), pa.large_list(pa.int64()), pa.list_(pa.int64(), 2)],
    ids=["list", "large_list", "fixed_size_list"],
)
def test_all_arrow_lists(tmp_path, make_loader, arrow):
    table = pa.table({"x": pa.array([[1, 2], None, [3, 4]], arrow)})
    pq.write_table(table, tmp_path / "part-0.parquet")
    (batch,) = make_loader(schema=LISTS, shuffle=False)
    assert batch["x"].to_lists() == [[1, 2], [], [3, 4]]


def test_values_behind_a_null_list_are_no_values(tmp_path):
    """Arrow may keep elements behind a null; they belong to no row."""
    from merlinkit.loader.decode import _ListBuilder
    from merlinkit.loader.layout import Layout

    layout = Layout(LISTS)
    array = pa.ListArray.from_arrays(
        pa.array([0, 2, 4, 5], pa.int32()),
        pa.array([1, 2, 98, 99, 3], pa.int64()),
        mask=pa.array([False, True, False]),
    )
    builder = _ListBuilder(layout.lists[0])
    builder.add(array, tmp_path, layout)
    builder.add(array.slice(1), tmp_path, layout)
    rows = builder.finish()
    assert rows.values.tolist() == [1, 2, 3, 3]
    assert rows.offsets.tolist() == [0, 2, 2, 3, 3, 4]


def test_select_repeats_and_reorders():
    ragged = Ragged.from_lists([[1, 2], [], [3], [4, 5, 6]])
    picked = ragged.select(torch.tensor([3, 1, 0, 0]))
    assert picked.to_lists() == [[4, 5, 6], [], [1, 2], [1, 2]]
    assert picked.offsets.tolist() == [0, 3, 3, 5, 7]
    assert ragged.select(torch.tensor([1, 1])).to_lists() == [[], []]
    assert ragged.select(torch.tensor([], dtype=torch.int64)).to_lists() == []


def test_rows_in_memory_are_taken_sliced_and_joined():
    rows = ListRows.from_lengths(np.array([1, 2, 3, 4, 5, 6]), np.array([2, 0, 1, 3]))
    assert rows.offsets.tolist() == [0, 2, 2, 3, 6]
    picked = rows.take(np.array([3, 1, 0, 0]))
    assert picked.values.tolist() == [4, 5, 6, 1, 2, 1, 2]
    assert picked.offsets.tolist() == [0, 3, 3, 5, 7]
    part = rows.slice(1, 3)
    assert part.values.tolist() == [3]
    assert part.offsets.tolist() == [0, 0, 1]
    joined = ListRows.concat([rows.slice(3, 4), part])
    assert joined.values.tolist() == [4, 5, 6, 3]
    assert joined.offsets.tolist() == [0, 3, 3, 4]


def test_lengths_rows_and_device():
    ragged = Ragged.from_lists([[0.5, 2.0], [], [3.0]], torch.float32)
    assert ragged.num_rows == 3
    assert ragged.lengths().tolist() == [2, 0, 1]
    assert ragged.values.dtype == torch.float32
    values, offsets = ragged.to("meta")
    assert values.device.type == offsets.device.type == "meta"
