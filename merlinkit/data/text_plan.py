"""Text files as a lazy plan: a reader of ours behind a Polars source."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Protocol

import polars as pl
from polars.io.plugins import register_io_source

__all__ = ["TextReader", "text_plan"]


class TextReader(Protocol):
    """Reads the files of one text format in bounded memory."""

    schema: pl.Schema
    """The columns that are read, in order."""

    has_rows: bool
    """Whether any file holds a row, as far as the first rows tell."""

    notes: list[str]
    """What a user may want to know about how the files are read."""

    def frames(self, file: Path, columns: Sequence[str]) -> Iterator[pl.DataFrame]:
        """Yield the rows of a file in order, the named columns alone, block by block."""
        ...


def text_plan(reader: TextReader, files: Sequence[Path]) -> pl.LazyFrame:
    """Return a plan that reads files one after the other.

    Projections, predicates and row limits are handed to the reader: columns that a plan does not
    need are not parsed, and ``head`` stops reading early.

    Notes
    -----
    What is wrong with a file surfaces as Polars' ``ComputeError`` when the plan runs;
    `merlinkit.data.failures.data_errors` makes it a `DataError` again. The plan runs on the CPU
    only; `merlinkit.data.convert.convert` writes parquet that runs anywhere.
    """

    def source(
        with_columns: list[str] | None,
        predicate: pl.Expr | None,
        n_rows: int | None,
        batch_size: int | None,
    ) -> Iterator[pl.DataFrame]:
        columns = reader.schema.names() if with_columns is None else with_columns
        left = n_rows
        for file in files:
            for frame in reader.frames(file, columns):
                if left is not None:
                    frame = frame.head(left)
                    left -= frame.height
                yield frame if predicate is None else frame.filter(predicate)
                if left == 0:
                    return

    return register_io_source(source, schema=reader.schema, validate_schema=True, is_pure=True)
