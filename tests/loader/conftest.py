"""Data whose every value follows from the number of its row, so that rows can be recognised."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

import polars as pl
import pyarrow.parquet as pq
import pytest
import torch

from merlinkit.loader import Batch, Loader, Ragged
from merlinkit.schema import Column, Schema

Row = tuple[int, int, float, bool, tuple[int, ...]]

SCHEMA = Schema(
    [
        Column("id", "Int64"),
        Column("file", "Int32"),
        Column("price", "Float32"),
        Column("flag", "Boolean"),
        Column("tags", "Int64", is_list=True),
    ]
)


def _row(number: int, file: int) -> Row:
    tags = tuple(10 * number + k for k in range(number % 4))
    return (number, file, number * 0.5, number % 3 == 0, tags)


def _write(folder: Path, files: Sequence[int], row_group_rows: int) -> list[Row]:
    """Write one part file for each number of rows; return all rows in the order of the files."""
    rows: list[Row] = []
    for file, count in enumerate(files):
        part = [_row(len(rows) + k, file) for k in range(count)]
        frame = pl.DataFrame(part, schema=SCHEMA.to_polars(), orient="row")
        pq.write_table(
            frame.to_arrow(), folder / f"part-{file:03}.parquet", row_group_size=row_group_rows
        )
        rows += part
    return rows


def _rows_of(batch: Batch) -> list[Row]:
    scalars = []
    for name in ("id", "file", "price", "flag"):
        column = batch[name]
        assert isinstance(column, torch.Tensor)
        scalars.append(column.tolist())
    tags = batch["tags"]
    assert isinstance(tags, Ragged)
    tuples = [tuple(row) for row in tags.to_lists()]
    return list(zip(*scalars, tuples, strict=True))


@pytest.fixture
def write_parts(tmp_path: Path) -> Callable[[Sequence[int], int], list[Row]]:
    """Return a function that fills `tmp_path` with files of so many rows each."""

    def write(files: Sequence[int], row_group_rows: int) -> list[Row]:
        return _write(tmp_path, files, row_group_rows)

    return write


@pytest.fixture
def rows_of() -> Callable[[Iterable[Batch]], list[Row]]:
    """Return a function that gives the rows of batches as tuples."""

    def rows(batches: Iterable[Batch]) -> list[Row]:
        return [row for batch in batches for row in _rows_of(batch)]

    return rows


@pytest.fixture
def make_loader(tmp_path: Path) -> Callable[..., Loader]:
    """Return a function that makes a loader of `tmp_path`, with settings fit for few rows."""

    def make(
        *,
        schema: Schema = SCHEMA,
        columns: Sequence[str] | None = None,
        batch_size: int = 8,
        shuffle: bool = True,
        seed: int = 1,
        buffer_rows: int = 10_000,
        drop_last: bool = False,
        prefetch: int = 2,
        path: Path = tmp_path,
    ) -> Loader:
        return Loader(
            path,
            schema,
            columns=columns,
            batch_size=batch_size,
            shuffle=shuffle,
            seed=seed,
            buffer_rows=buffer_rows,
            drop_last=drop_last,
            prefetch=prefetch,
        )

    return make
