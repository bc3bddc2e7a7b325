"""Parquet files that Polars cannot read, read by pyarrow, batch by batch."""

from __future__ import annotations

import base64
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
from polars.io.plugins import register_io_source

from merlinkit.data.arrow_types import arrow_target, convert_array, in_seconds
from merlinkit.data.text import reading
from merlinkit.errors import DataError

__all__ = ["arrow_plan", "arrow_schema"]

_BATCH_ROWS = 65_536


def arrow_schema(path: Path) -> tuple[pa.Schema, int, frozenset[str]] | None:
    """Return what pyarrow finds in a footer, None if it cannot tell.

    Returns
    -------
    columns : pyarrow.Schema
        The columns as pyarrow reads them.
    rows : int
        The number of rows.
    misread : frozenset of str
        Columns that Polars takes for something else, since it goes by the schema that the writer
        left in the footer: parquet has no time of day in seconds and keeps milliseconds.
    """
    try:
        with pq.ParquetFile(path) as file:
            columns, rows = file.schema_arrow, file.metadata.num_rows
            left = (file.metadata.metadata or {}).get(b"ARROW:schema")
        written = [] if left is None else pa.ipc.read_schema(pa.py_buffer(base64.b64decode(left)))
    except (pa.ArrowException, OSError, ValueError):
        return None
    return columns, rows, frozenset(each.name for each in written if in_seconds(each.type))


def arrow_plan(path: Path, schema: pl.Schema) -> pl.LazyFrame:
    """Return a plan that reads a file with pyarrow, converted by `arrow_target`.

    Parameters
    ----------
    path
        The file.
    schema
        The columns that can be read, with the Polars types of what they are converted to.

    Notes
    -----
    The plan runs on the CPU only. Memory holds a row group's columns that are read.
    """

    def source(
        with_columns: list[str] | None,
        predicate: pl.Expr | None,
        n_rows: int | None,
        batch_size: int | None,
    ) -> Iterator[pl.DataFrame]:
        left = n_rows
        for frame in _frames(path, schema.names() if with_columns is None else with_columns):
            if left is not None:
                frame = frame.head(left)
                left -= frame.height
            yield frame if predicate is None else frame.filter(predicate)
            if left == 0:
                return

    return register_io_source(source, schema=schema, validate_schema=True, is_pure=True)


def _frames(path: Path, columns: Sequence[str]) -> Iterator[pl.DataFrame]:
    with reading(path), _damage_told(path), pq.ParquetFile(path) as file:
        for batch in file.iter_batches(batch_size=_BATCH_ROWS, columns=list(columns)):
            if not columns:
                yield pl.DataFrame(height=batch.num_rows)
                continue
            arrays = {
                name: convert_array(batch.column(name), arrow_target(batch.column(name).type))
                for name in columns
            }
            yield pl.DataFrame(pa.table(arrays))


@contextmanager
def _damage_told(path: Path) -> Iterator[None]:
    try:
        yield
    except (pa.ArrowException, OSError) as error:
        if getattr(error, "errno", None) is not None:  # of the system, not of the reader
            raise
        line = str(error).partition("\n")[0]
        first = "".join(letter for letter in line if letter.isprintable()).rstrip(": ")
        raise DataError(
            f"{path} is a damaged parquet file ({first}). Write or fetch it again"
        ) from None
