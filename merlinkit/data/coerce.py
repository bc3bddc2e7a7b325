"""What the rest of merlinkit needs of a data set, and making one of anything that can be one."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from typing import Any, Protocol

import polars as pl

from merlinkit.data.dataset import Dataset
from merlinkit.data.frames import frame_from
from merlinkit.schema import Schema

__all__ = ["DatasetLike", "RowSource", "as_rows"]


class RowSource(Protocol):
    """Rows as plans, as a whole and in partitions. `Dataset` is one."""

    name: str
    schema: Schema

    def scan(self) -> pl.LazyFrame:
        """Return one plan of all rows."""
        ...

    def scan_partitions(self) -> Iterator[tuple[str, pl.LazyFrame]]:
        """Yield a short name and a plan for each partition, in the order of the rows."""
        ...


DatasetLike = Any
"""A `Dataset`, a path, list of paths, glob, folder, or a frame (Polars, pandas, pyarrow, cuDF)."""


def as_rows(
    data: DatasetLike, expected: Schema | None = None, needed: Collection[str] | None = None
) -> RowSource:
    """Return a source of rows as it is, or a `Dataset` made of a path or frame.

    Parameters
    ----------
    data
        Rows, a path or a frame.
    expected
        Columns whose data types those of a frame take that hold nothing but nulls, and so have
        no type of their own.
    needed
        Columns that must be readable: others that are not (structs, intervals) are left out. None
        stands for those of ``expected``, or for all.
    """
    if hasattr(type(data), "scan_partitions"):
        rows: RowSource = data
        return rows
    if expected is None:
        return Dataset(data, required=needed)
    if needed is None:
        needed = expected.names
    frame = frame_from(data)
    if frame is None:
        return _typed(Dataset(data, required=needed), data, expected, needed)
    dtypes = {
        name: expected[name].polars_dtype
        for name, dtype in frame.rows.lazy().collect_schema().items()
        if isinstance(dtype, pl.Null) and name in expected
    }
    return Dataset(frame, dtypes=dtypes, required=needed)


def _typed(
    dataset: Dataset, data: DatasetLike, expected: Schema, needed: Collection[str]
) -> Dataset:
    """Return files with the data types expected of columns whose own say nothing.

    These are parquet columns of no type, and columns of text files that were taken for strings,
    which those without any value are as well.
    """
    untyped = dataset.untyped_columns
    dtypes = {
        column.name: column.polars_dtype
        for column in expected
        if column.name in untyped
        and not column.is_list
        and dataset.schema[column.name].polars_dtype != column.polars_dtype
    }
    return Dataset(data, dtypes=dtypes, required=needed) if dtypes else dataset
