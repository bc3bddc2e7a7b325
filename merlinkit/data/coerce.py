"""What the rest of merlinkit needs of a data set, and making one of anything that can be one."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Protocol

import polars as pl

from merlinkit.data.dataset import Dataset
from merlinkit.data.frames import frame_from
from merlinkit.schema import Schema

__all__ = ["DatasetLike", "RowSource", "as_rows"]


class RowSource(Protocol):
    """Rows as plans, as a whole and file by file. `Dataset` is one."""

    name: str
    schema: Schema

    def scan(self) -> pl.LazyFrame:
        """Return one plan of all rows."""
        ...

    def scan_files(self) -> Iterator[tuple[str, pl.LazyFrame]]:
        """Yield a short name and a plan for each file."""
        ...


DatasetLike = Any
"""A `Dataset`, a path, list of paths, glob, folder, or a frame (Polars, pandas, pyarrow, cuDF)."""


def as_rows(data: DatasetLike, expected: Schema | None = None) -> RowSource:
    """Return a source of rows as it is, or a `Dataset` made of a path or frame.

    Parameters
    ----------
    data
        Rows, a path or a frame.
    expected
        Columns whose data types those of a frame take that hold nothing but nulls, and so have
        no type of their own.
    """
    if hasattr(type(data), "scan_files"):
        rows: RowSource = data
        return rows
    dtypes: dict[str, pl.DataType] = {}
    frame = frame_from(data) if expected is not None else None
    if expected is not None and frame is not None:
        dtypes = {
            name: expected[name].polars_dtype
            for name, dtype in frame.lazy().collect_schema().items()
            if isinstance(dtype, pl.Null) and name in expected
        }
    return Dataset(data if frame is None else frame, dtypes=dtypes or None)
