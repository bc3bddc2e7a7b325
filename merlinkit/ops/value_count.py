"""ValueCount: the lengths of lists, in the schema."""

from __future__ import annotations

from dataclasses import replace

import polars as pl

from merlinkit.engine.dialect import Dialect
from merlinkit.errors import SchemaError
from merlinkit.ops.base import Finalized, State, Statistics, UnchangedValues
from merlinkit.ops.extremes import extremes, widened
from merlinkit.schema import Schema

__all__ = ["ValueCount"]


class ValueCount(UnchangedValues):
    """Learn the smallest and largest length of lists, for the schema; the values stay.

    Raises
    ------
    SchemaError
        If a column holds no lists.

    Notes
    -----
    Null lists do not count. Where there is no list, both are 0.

    Examples
    --------
    >>> import polars as pl
    >>> import merlinkit as mk
    >>> frame = pl.DataFrame({"tags": [["a"], ["a", "b", "c"], None]})
    >>> mk.Workflow(["tags"] >> ValueCount()).fit(frame).output_schema["tags"].value_count
    (1, 3)
    """

    def output_schema(self, inputs: Schema, state: State | None) -> Schema:
        """Return the columns with the lengths of their lists."""
        out = []
        for column in inputs:
            if not column.is_list:
                raise SchemaError(
                    f"ValueCount: column '{column.name}' is {column.polars_dtype}, lists expected"
                )
            if state is not None:
                rows = state.values[column.name]
                low, high = (rows[0]["min"], rows[0]["max"]) if rows else (None, None)
                # The type with its lists, since the constructor of a column unwraps one.
                column = replace(
                    column,
                    dtype=column.polars_dtype,
                    value_count=(int(low or 0), int(high or 0)),
                )
            out.append(column)
        return Schema(out)

    learns_little = True

    def needs_fit(self, inputs: Schema) -> bool:
        """Return true."""
        del inputs
        return True

    def statistics(self, frame: pl.LazyFrame, inputs: Schema, dialect: Dialect) -> Statistics:
        """Return the extremes of the lengths."""
        return {name: extremes(dialect.lengths(frame, name), pl.col(name)) for name in inputs.names}

    def merge(self, left: Statistics, right: Statistics) -> Statistics:
        """Widen the ranges."""
        return widened(left, right)

    def finalize(self, statistics: Statistics, inputs: Schema, dialect: Dialect) -> Finalized:
        """Keep the ranges."""
        return Finalized(values=statistics)

    def recall(self, state: State, inputs: Schema) -> Statistics:
        """Return the ranges."""
        schema = {"min": pl.Int64, "max": pl.Int64}
        return {name: pl.LazyFrame(rows, schema=schema) for name, rows in state.values.items()}

    def transform(
        self, frame: pl.LazyFrame, inputs: Schema, state: State, dialect: Dialect
    ) -> pl.LazyFrame:
        """Return the frame as it is."""
        return frame
