"""FillMedian: missing numbers by the median."""

from __future__ import annotations

import math

import polars as pl

from merlinkit.engine.dialect import Dialect
from merlinkit.errors import DataError, SchemaError
from merlinkit.ops.base import (
    Finalized,
    Operator,
    State,
    Statistics,
    is_number,
    require,
    without_nan,
)
from merlinkit.ops.filling import filled_flag, with_value
from merlinkit.ops.parameters import require_bool
from merlinkit.schema import Column, JSONValue, Schema

__all__ = ["FillMedian"]


class FillMedian(Operator):
    """Fill missing numbers with the median of the data it was fitted on.

    Parameters
    ----------
    add_binary_cols
        Whether to add ``{column}_filled``, Int8, 1 where a value was missing.

    Raises
    ------
    SchemaError
        If a column is not numeric, or holds lists.
    DataError
        At fit, if the median is infinite.

    Notes
    -----
    NaN is missing. The median is exact however the data is cut into files: the value in the
    middle, or the mean of the two in the middle, which is rounded down for integers, whose data
    type is kept. Where no value is known, 0. The fit counts the distinct values, so its memory
    grows with their number, not with that of the rows; the counts are kept for updates.

    Examples
    --------
    >>> import polars as pl
    >>> import merlinkit as mk
    >>> frame = pl.DataFrame({"age": [30, None, 50, 40]})
    >>> mk.Workflow(["age"] >> FillMedian()).fit_transform(frame).collect()["age"].to_list()
    [30, 40, 50, 40]
    """

    def __init__(self, add_binary_cols: bool = False) -> None:
        require_bool("FillMedian", "add_binary_cols", add_binary_cols)
        self.add_binary_cols = add_binary_cols

    def output_schema(self, inputs: Schema, state: State | None) -> Schema:
        """Return the columns, and the flags behind each."""
        out = []
        for column in inputs:
            require(self, column, is_number, "a number")
            if column.is_list:
                raise SchemaError(f"FillMedian: column '{column.name}' holds lists")
            # The median lies among the known values; where there is none, 0 may be a new one.
            known = state is not None and state.tables[column.name].rows > 0
            out.append(column if known else with_value(column, 0))
            if self.add_binary_cols:
                out.append(filled_flag(column))
        return Schema(out)

    def origins(self, inputs: Schema) -> dict[str, list[str]]:
        """Return the column itself."""
        made = {name: [name] for name in inputs.names}
        if self.add_binary_cols:
            made |= {filled_flag(column).name: [column.name] for column in inputs}
        return made

    # -- fit ----------------------------------------------------------------------------------

    def needs_fit(self, inputs: Schema) -> bool:
        """Return true."""
        del inputs
        return True

    def statistics(self, frame: pl.LazyFrame, inputs: Schema, dialect: Dialect) -> Statistics:
        """Count each value."""
        return {
            column.name: frame.select(without_nan(pl.col(column.name), column.dtype).alias("value"))
            .drop_nulls()
            .group_by("value")
            .agg(pl.len().cast(pl.Int64).alias("count"))
            for column in inputs
        }

    def merge(self, left: Statistics, right: Statistics) -> Statistics:
        """Add up the counts."""
        return {
            name: pl.concat([left[name], right[name]]).group_by("value").agg(pl.col("count").sum())
            for name in left
        }

    def finalize(self, statistics: Statistics, inputs: Schema, dialect: Dialect) -> Finalized:
        """Keep the two values in the middle, and the counts."""
        values = {}
        for column in inputs:
            ordered = (
                statistics[column.name]
                .sort("value")
                .with_columns(
                    pl.col("count").cum_sum().alias("upto"), pl.col("count").sum().alias("n")
                )
            )
            # The first value with at least half of the rows up to it, and with more than half.
            below = ordered.filter(pl.col("upto") * 2 >= pl.col("n"))
            above = ordered.filter(pl.col("upto") * 2 > pl.col("n"))
            values[column.name] = pl.concat(
                [part.select(pl.col("value").min().alias("middle")) for part in (below, above)]
            )
        return Finalized(
            values, {name: counts.sort("value") for name, counts in statistics.items()}
        )

    def recall(self, state: State, inputs: Schema) -> Statistics:
        """Return the counts."""
        return {column.name: state.tables[column.name].frame for column in inputs}

    def check(self, state: State, inputs: Schema) -> None:
        """Refuse a median that is infinite, which JSON holds as null."""
        for column in inputs:
            middle = [row["middle"] for row in state.values[column.name]]
            if state.tables[column.name].rows and not all(map(_is_finite, middle)):
                raise DataError(
                    f"FillMedian: the median of column '{column.name}' is infinite; put Clip or a "
                    "Filter before it"
                )

    # -- apply --------------------------------------------------------------------------------

    def transform(
        self, frame: pl.LazyFrame, inputs: Schema, state: State, dialect: Dialect
    ) -> pl.LazyFrame:
        """Fill with the median."""
        filled = []
        for column in inputs:
            value = without_nan(pl.col(column.name), column.dtype)
            median = pl.lit(self._median(column, state)).cast(column.dtype)
            filled.append(value.fill_null(median).alias(column.name))
            if self.add_binary_cols:
                filled.append(value.is_null().cast(pl.Int8).alias(filled_flag(column).name))
        return frame.with_columns(filled)

    @staticmethod
    def _median(column: Column, state: State) -> int | float:
        middle = [row["middle"] for row in state.values[column.name] if row["middle"] is not None]
        if not middle:
            return 0
        if column.dtype.is_integer():
            return sum(int(value) for value in middle) // len(middle)
        # Halved before they are added, since the sum of two large numbers may be infinite.
        return sum(float(value) / len(middle) for value in middle)


def _is_finite(value: JSONValue) -> bool:
    return value is not None and math.isfinite(value)
