"""The message about nulls, which tensors have no room for."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from merlinkit.errors import DataError
from merlinkit.loader.layout import Layout
from merlinkit.schema import Column, Tags

__all__ = ["nulls_error"]


def nulls_error(path: Path, layout: Layout) -> DataError:
    """Return an error that names every column of a file with nulls, how many, and the way out.

    The whole file is read for it, a little at a time: a count is worth more than the first null.
    """
    counts = dict.fromkeys(layout.names, 0)
    with pq.ParquetFile(path, pre_buffer=False) as file:
        for batch in file.iter_batches(columns=layout.names):
            for column in layout.schema:
                counts[column.name] += _nulls(batch.column(column.name), column.is_list)
    lines = [
        f"{counts[column.name]} {_what(column, counts[column.name])} in column '{column.name}': "
        f"{_fix(column)}"
        for column in layout.schema
        if counts[column.name]
    ]
    if len(lines) == 1:
        return DataError(f"{path}: {lines[0]}")
    listed = "".join(f"\n  - {line}" for line in lines)
    return DataError(f"{path}: nulls in {len(lines)} columns{listed}")


def _nulls(array: pa.Array, is_list: bool) -> int:
    # A null list is an empty one; only a null inside a list has no place to go.
    return int(array.flatten().null_count if is_list else array.null_count)


def _what(column: Column, count: int) -> str:
    noun = "null" if count == 1 else "nulls"
    return f"{noun} inside lists" if column.is_list else noun


def _fix(column: Column) -> str:
    if Tags.TARGET in column.tags:
        return "drop these rows with Dropna, or give them a label with FillMissing"
    if Tags.CATEGORICAL in column.tags:
        return "encode it with Categorify, which gives null an id of its own"
    return "fill them with FillMissing, or encode a category with Categorify"
