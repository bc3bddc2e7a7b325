"""LogOp: the logarithm of one plus a value."""

from __future__ import annotations

import polars as pl

from merlinkit.engine.dialect import Dialect
from merlinkit.errors import DataError
from merlinkit.ops.base import (
    ElementwiseExpression,
    Finalized,
    State,
    Statistics,
    is_number,
    numbers_back,
    require,
    values_of,
    without_nan,
)
from merlinkit.ops.parameters import require_choice
from merlinkit.schema import Column, Schema, Tags

__all__ = ["LogOp"]


class LogOp(ElementwiseExpression):
    """Replace x by log(1 + x), as Float32.

    Parameters
    ----------
    invalid
        What to do with values of -1 and below, which have no such logarithm: ``"error"`` refuses
        data that holds any at fit, ``"null"`` makes them null. At transform they become null in
        both cases, never NaN or minus infinity.

    Raises
    ------
    DataError
        At fit, naming column and count, if ``invalid="error"`` and a value is -1 or below.
    SchemaError
        If a column is not numeric.

    Notes
    -----
    Nulls stay null and NaN becomes null. In list columns it acts on the elements.

    The result is Float32, so the inverse is only as exact as that: it gives whole numbers back as
    they were up to a million, larger ones to two parts in a million.

    Examples
    --------
    >>> import polars as pl
    >>> import merlinkit as mk
    >>> frame = pl.DataFrame({"clicks": [0, 1, None]})
    >>> result = mk.Workflow(["clicks"] >> LogOp()).fit_transform(frame).collect()
    >>> result["clicks"].cast(pl.Float64).round(4).to_list()
    [0.0, 0.6931, None]
    """

    def __init__(self, invalid: str = "error") -> None:
        self.invalid = require_choice("LogOp", "invalid", invalid, ("error", "null"))

    def output_column(self, column: Column, state: State | None) -> Column:
        """Return the column as Float32."""
        require(self, column, is_number, "a number")
        out = column.with_dtype(pl.Float32()).with_domain(None)
        return out.with_tags([Tags.CONTINUOUS])

    learns_little = True

    def needs_fit(self, inputs: Schema) -> bool:
        """Only to look for values that have no logarithm."""
        del inputs
        return self.invalid == "error"

    def statistics(self, frame: pl.LazyFrame, inputs: Schema, dialect: Dialect) -> Statistics:
        """Count the values of -1 and below."""
        return {
            column.name: values_of(frame, column, dialect)
            .select(pl.lit(0).alias("all"), (pl.col(column.name) <= -1).alias("bad"))
            .group_by("all")
            .agg(pl.col("bad").cast(pl.Int64).sum().alias("invalid"))
            .select("invalid")
            for column in inputs
        }

    def merge(self, left: Statistics, right: Statistics) -> Statistics:
        """Add up the counts."""
        return {
            name: pl.concat([left[name], right[name]]).select(pl.col("invalid").sum())
            for name in left
        }

    def finalize(self, statistics: Statistics, inputs: Schema, dialect: Dialect) -> Finalized:
        """Keep the counts."""
        return Finalized(values=statistics)

    def recall(self, state: State, inputs: Schema) -> Statistics:
        """Return the counts."""
        return {
            name: pl.LazyFrame(rows, schema={"invalid": pl.Int64})
            for name, rows in state.values.items()
        }

    def check(self, state: State, inputs: Schema) -> None:
        """Refuse data with values that have no logarithm."""
        for column in inputs:
            count = sum(row["invalid"] or 0 for row in state.values.get(column.name, []))
            if count:
                raise DataError(
                    f"LogOp: column '{column.name}' holds {count} values of -1 or below, which "
                    "have no logarithm of one plus the value; put Clip(min_value=0) or a Filter "
                    "before it, or set invalid='null'"
                )

    def expression(self, value: pl.Expr, column: Column, state: State) -> pl.Expr:
        """Return the logarithm or null."""
        number = without_nan(value.cast(pl.Float64), pl.Float64())
        return pl.when(number > -1).then(number).otherwise(None).log1p().cast(pl.Float32)

    @property
    def invertible(self) -> bool:
        """By the exponential."""
        return True

    def inverse(
        self, frame: pl.LazyFrame, inputs: Schema, state: State, dialect: Dialect
    ) -> pl.LazyFrame:
        """Return exp(y) - 1 in the data type of the input, rounded for integers."""
        return numbers_back(frame, inputs, lambda value, _: value.exp() - 1.0, dialect)
