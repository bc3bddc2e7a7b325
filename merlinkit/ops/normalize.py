"""Normalize: zero mean and unit standard deviation."""

from __future__ import annotations

import math

import polars as pl

from merlinkit.dtypes import dtype_from_name
from merlinkit.engine.dialect import Dialect
from merlinkit.errors import DataError, ParameterError
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
from merlinkit.schema import Column, Schema, Tags

__all__ = ["Normalize"]


class Normalize(ElementwiseExpression):
    """Replace x by (x - mean) / std of the data it was fitted on.

    The standard deviation is the sample's (one degree of freedom less). Where it is 0, x - mean.
    A column without any value is left as it is.

    Parameters
    ----------
    out_dtype
        ``"float32"`` or ``"float64"``.

    Raises
    ------
    DataError
        At fit, if a column holds an infinite value.
    SchemaError
        If a column is not numeric.

    Notes
    -----
    Count, mean and sum of squared deviations of parts are merged by Chan, Golub and LeVeque's
    formula ("Updating formulae and a pairwise algorithm for computing sample variances", 1979),
    exact for unix timestamps and prices in the billions where a sum of squares loses all digits.
    Nulls stay null and NaN becomes null. In list columns it acts on the elements.

    Examples
    --------
    >>> import polars as pl
    >>> import merlinkit as mk
    >>> frame = pl.DataFrame({"price": [1.0, 2.0, 3.0, None]})
    >>> mk.Workflow(["price"] >> Normalize()).fit_transform(frame).collect()["price"].to_list()
    [-1.0, 0.0, 1.0, None]
    """

    def __init__(self, out_dtype: str = "float32") -> None:
        try:
            resolved = dtype_from_name(out_dtype)
        except Exception as error:
            raise ParameterError(f"Normalize: out_dtype: {error}") from error
        if not resolved.is_float():
            raise ParameterError(
                f"Normalize: out_dtype is {out_dtype!r}, 'float32' or 'float64' expected"
            )
        self.out_dtype = str(resolved).lower()

    def output_column(self, column: Column, state: State | None) -> Column:
        """Return the column as a float without a domain."""
        require(self, column, is_number, "a number")
        out = column.with_dtype(dtype_from_name(self.out_dtype)).with_domain(None)
        return out.with_tags([Tags.CONTINUOUS])

    # -- fit ----------------------------------------------------------------------------------

    learns_little = True

    def needs_fit(self, inputs: Schema) -> bool:
        """Return true."""
        del inputs
        return True

    def statistics(self, frame: pl.LazyFrame, inputs: Schema, dialect: Dialect) -> Statistics:
        """Return one row a column: count, mean, sum of squared deviations from it, and extremes.

        Grouping by a constant is what keeps a global moment streaming on cuDF.
        """
        out: Statistics = {}
        for column in inputs:
            number = without_nan(pl.col(column.name).cast(pl.Float64), pl.Float64())
            moments = (
                values_of(frame, column, dialect)
                .select(pl.lit(0).alias("all"), number.alias("x"))
                .group_by("all")
                .agg(
                    pl.col("x").count().cast(pl.Int64).alias("n"),
                    pl.col("x").mean().alias("mean"),
                    pl.col("x").var().alias("var"),
                    pl.col("x").min().alias("min"),
                    pl.col("x").max().alias("max"),
                )
            )
            out[column.name] = moments.select(
                pl.lit(column.name).alias("column"),
                "n",
                pl.col("mean").fill_null(0.0),
                (pl.col("var").fill_null(0.0) * (pl.col("n") - 1).cast(pl.Float64)).alias("m2"),
                "min",
                "max",
            )
        return out

    def merge(self, left: Statistics, right: Statistics) -> Statistics:
        """Merge moments by Chan's formula."""
        out: Statistics = {}
        for name in left:
            weight = pl.col("n").cast(pl.Float64)
            total = weight.sum()
            mean = pl.when(total > 0).then((pl.col("mean") * weight).sum() / total).otherwise(0.0)
            out[name] = (
                pl.concat([left[name], right[name]])
                .with_columns(mean.over("column").alias("merged"))
                .group_by("column")
                .agg(
                    pl.col("n").sum(),
                    pl.col("merged").first().alias("mean"),
                    (pl.col("m2") + weight * (pl.col("mean") - pl.col("merged")).pow(2)).sum(),
                    pl.col("min").min(),
                    pl.col("max").max(),
                )
            )
        return out

    def finalize(self, statistics: Statistics, inputs: Schema, dialect: Dialect) -> Finalized:
        """Turn the sums into mean and standard deviation."""
        count = pl.col("n")
        variance = pl.col("m2") / pl.when(count > 1).then(count - 1).otherwise(1)
        # Rounding leaves a tiny deviation where all values are equal, and dividing by it would
        # make large numbers of nothing.
        constant = (pl.col("min") == pl.col("max")).fill_null(False)
        mean = pl.when(constant).then(pl.col("min")).otherwise(pl.col("mean"))
        # A spread of 0 between different values is one that no float can hold.
        spread = pl.when(variance > 0).then(variance.sqrt()).otherwise(None)
        std = pl.when(constant | (count < 2)).then(0.0).otherwise(spread)
        values = {
            name: moments.select(
                "column", "n", mean.alias("mean"), std.alias("std"), "m2", "min", "max"
            )
            for name, moments in statistics.items()
        }
        return Finalized(values=values)

    def recall(self, state: State, inputs: Schema) -> Statistics:
        """Return the moments."""
        schema = {"column": pl.String, "n": pl.Int64} | dict.fromkeys(
            ("mean", "m2", "min", "max"), pl.Float64
        )
        return {
            name: pl.LazyFrame([{key: row[key] for key in schema} for row in rows], schema=schema)
            for name, rows in state.values.items()
        }

    def check(self, state: State, inputs: Schema) -> None:
        """Refuse columns whose moments are not finite."""
        for column in inputs:
            mean, std = self._moments(column, state)
            if not (math.isfinite(mean) and math.isfinite(std)):
                raise DataError(
                    f"Normalize: column '{column.name}' holds infinite values, or its spread is "
                    f"too large or too small for a float (mean {mean}, standard deviation {std}); "
                    "put Clip or a Filter before it, or scale it with Expression"
                )

    @staticmethod
    def _moments(column: Column, state: State) -> tuple[float, float]:
        rows = state.values[column.name]
        if not rows or rows[0]["n"] == 0:
            return 0.0, 1.0
        return (_number(rows[0]["mean"]), _number(rows[0]["std"]))

    # -- apply --------------------------------------------------------------------------------

    def expression(self, value: pl.Expr, column: Column, state: State) -> pl.Expr:
        """Return the normalized value."""
        mean, std = self._moments(column, state)
        scaled = (without_nan(value.cast(pl.Float64), pl.Float64()) - mean) / (std or 1.0)
        return scaled.cast(dtype_from_name(self.out_dtype))

    @property
    def invertible(self) -> bool:
        """By mean and standard deviation."""
        return True

    def inverse(
        self, frame: pl.LazyFrame, inputs: Schema, state: State, dialect: Dialect
    ) -> pl.LazyFrame:
        """Return y * std + mean in the data type of the input, rounded for integers."""

        def raw(value: pl.Expr, column: Column) -> pl.Expr:
            mean, std = self._moments(column, state)
            return value * (std or 1.0) + mean

        return numbers_back(frame, inputs, raw, dialect)


def _number(value: object) -> float:
    """Return a moment as float; JSON has no NaN and no infinity, so those come as null."""
    return math.nan if value is None else float(value)  # type: ignore[arg-type]
