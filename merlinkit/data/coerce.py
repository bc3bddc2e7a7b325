"""What the rest of merlinkit needs of a data set, and making one of anything that can be one."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Protocol, runtime_checkable

import polars as pl

from merlinkit.data.dataset import Dataset
from merlinkit.schema import Schema

__all__ = ["DatasetLike", "RowSource", "as_rows"]


@runtime_checkable
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
"""A `Dataset`, a path, list of paths, glob or folder, or a frame (Polars, pandas, pyarrow, cuDF)."""


def as_rows(data: DatasetLike) -> RowSource:
    """Return a source of rows as it is, or a `Dataset` made of a path or frame."""
    return data if isinstance(data, RowSource) else Dataset(data)
