"""NormalizeMinMax: numbers scaled to the range from 0 to 1."""

from __future__ import annotations

import math

import polars as pl

from merlinkit.dtypes import dtype_from_name
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
from merlinkit.ops.extremes import extremes, widened
from merlinkit.ops.parameters import require_bool, require_choice
from merlinkit.schema import Column, Schema, Tags

__all__ = ["NormalizeMinMax"]


class NormalizeMinMax(ElementwiseExpression):
    """Replace x by (x - min) / (max - min) of the data it was fitted on.

    Parameters
    ----------
    clip
        Whether values outside of the fitted range become 0 or 1.
    out_dtype
        ``"float32"`` or ``"float64"``.

    Raises
    ------
    DataError
        At fit, if a column holds an infinite value, or its range is wider or narrower than a
        float can hold.
    SchemaError
        If a column is not numeric.

    Notes
    -----
    Where all values are equal, or there is none, the result is 0. Nulls stay null and NaN becomes
    null. In list columns it acts on the elements. Values that were clipped do not come back from
    the inverse. All is computed in Float64, which tells whole numbers apart up to 2 ** 53.

    Examples
    --------
    >>> import polars as pl
    >>> import merlinkit as mk
    >>> workflow = mk.Workflow(["x"] >> NormalizeMinMax()).fit(pl.DataFrame({"x": [2, 4]}))
    >>> workflow.transform(pl.DataFrame({"x": [2, 3, 9]})).collect()["x"].to_list()
    [0.0, 0.5, 1.0]
    """

    def __init__(self, clip: bool = True, out_dtype: str = "float32") -> None:
        require_bool("NormalizeMinMax", "clip", clip)
        self.clip = clip
        self.out_dtype = require_choice(
            "NormalizeMinMax", "out_dtype", out_dtype, ("float32", "float64")
        )

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
        """Return the smallest and largest value of each column."""
        return {
            column.name: extremes(
                values_of(frame, column, dialect),
                without_nan(pl.col(column.name).cast(pl.Float64), pl.Float64()),
            )
            for column in inputs
        }

    def merge(self, left: Statistics, right: Statistics) -> Statistics:
        """Widen the ranges."""
        return widened(left, right)

    def finalize(self, statistics: Statistics, inputs: Schema, dialect: Dialect) -> Finalized:
        """Keep the ranges, and whether they are finite, which JSON numbers always are."""
        values = {
            name: ranges.with_columns(
                (pl.col("min").is_infinite() | pl.col("max").is_infinite())
                .fill_null(False)
                .alias("infinite")
            )
            for name, ranges in statistics.items()
        }
        return Finalized(values=values)

    def recall(self, state: State, inputs: Schema) -> Statistics:
        """Return the ranges."""
        schema = {"min": pl.Float64, "max": pl.Float64}
        return {
            name: pl.LazyFrame([{key: row[key] for key in schema} for row in rows], schema=schema)
            for name, rows in state.values.items()
        }

    def check(self, state: State, inputs: Schema) -> None:
        """Refuse infinite values."""
        for column in inputs:
            for row in state.values[column.name]:
                if row["infinite"]:
                    raise DataError(
                        f"NormalizeMinMax: column '{column.name}' holds infinite values; put Clip "
                        "or a Filter before it"
                    )
            low, spread = self._range(column, state)
            # What is divided by a spread may be multiplied by its inverse instead.
            if spread and not (math.isfinite(spread) and math.isfinite(1.0 / spread)):
                raise DataError(
                    f"NormalizeMinMax: the range of column '{column.name}' from {low} is too large "
                    "or too small for a float; put Clip or a Filter before it, or scale it with "
                    "Expression"
                )

    # -- apply --------------------------------------------------------------------------------

    @staticmethod
    def _range(column: Column, state: State) -> tuple[float, float]:
        """Return smallest value and spread; a spread of 0 where there is none."""
        rows = state.values[column.name]
        if not rows or rows[0]["min"] is None:
            return 0.0, 0.0
        low, high = float(rows[0]["min"]), float(rows[0]["max"])
        return low, high - low

    def expression(self, value: pl.Expr, column: Column, state: State) -> pl.Expr:
        """Return the scaled value."""
        low, spread = self._range(column, state)
        number = without_nan(value.cast(pl.Float64), pl.Float64())
        if spread == 0.0:
            scaled = pl.when(number.is_not_null()).then(0.0).otherwise(None)
        else:
            scaled = (number - low) / spread
            if self.clip:
                scaled = scaled.clip(0.0, 1.0)
        return scaled.cast(dtype_from_name(self.out_dtype))

    @property
    def invertible(self) -> bool:
        """By smallest value and spread."""
        return True

    def inverse(
        self, frame: pl.LazyFrame, inputs: Schema, state: State, dialect: Dialect
    ) -> pl.LazyFrame:
        """Return y * (max - min) + min in the data type of the input, rounded for integers."""

        def raw(value: pl.Expr, column: Column) -> pl.Expr:
            low, spread = self._range(column, state)
            return value * spread + low

        return numbers_back(frame, inputs, raw, dialect)
