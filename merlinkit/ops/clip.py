"""Clip: values into a range."""

from __future__ import annotations

import math

import polars as pl

from merlinkit.dtypes import dtype_name
from merlinkit.errors import ParameterError, SchemaError
from merlinkit.ops.base import ElementwiseExpression, State, is_number, require
from merlinkit.ops.parameters import require_number
from merlinkit.schema import Column, Domain

__all__ = ["Clip"]


class Clip(ElementwiseExpression):
    """Replace values below a minimum or above a maximum by that bound.

    Parameters
    ----------
    min_value, max_value
        The bounds; at least one. Whole numbers for integer columns.

    Raises
    ------
    ParameterError
        If no bound is given or the minimum is above the maximum.
    SchemaError
        If a column is not numeric, holds integers and a bound does not, or its data type has no
        value between the bounds.

    Notes
    -----
    The data type is kept; nulls and NaN stay. In list columns the elements are clipped.

    Examples
    --------
    >>> import polars as pl
    >>> import merlinkit as mk
    >>> frame = pl.DataFrame({"age": [-3, None, 200]})
    >>> mk.Workflow(["age"] >> Clip(0, 120)).fit_transform(frame).collect()["age"].to_list()
    [0, None, 120]
    """

    def __init__(
        self, min_value: int | float | None = None, max_value: int | float | None = None
    ) -> None:
        if min_value is None and max_value is None:
            raise ParameterError("Clip: give min_value, max_value or both")
        for name, value in (("min_value", min_value), ("max_value", max_value)):
            if value is not None:
                require_number("Clip", name, value)
        if min_value is not None and max_value is not None and min_value > max_value:
            raise ParameterError(f"Clip: min_value={min_value} is above max_value={max_value}")
        self.min_value = min_value
        self.max_value = max_value

    def output_column(self, column: Column, state: State | None) -> Column:
        """Return the column; a known domain shrinks."""
        require(self, column, is_number, "a number")
        self._check_range(column)
        if column.dtype.is_integer():
            for bound in (self.min_value, self.max_value):
                if bound is not None and not float(bound).is_integer():
                    raise SchemaError(
                        f"Clip: column '{column.name}' is {dtype_name(column.dtype)}, a whole "
                        f"number expected as bound, {bound} found"
                    )
        domain = column.domain
        if domain is not None:
            domain = Domain(self._clipped(domain.min), self._clipped(domain.max), domain.name)
        return column.with_domain(domain)

    def _check_range(self, column: Column) -> None:
        """Refuse bounds that no value of the data type could take."""
        if column.dtype.is_float() or not column.dtype.is_integer():
            return
        low = pl.select(column.dtype.min()).item()  # type: ignore[attr-defined]
        high = pl.select(column.dtype.max()).item()  # type: ignore[attr-defined]
        wrong = (
            f"min_value={self.min_value}"
            if self.min_value is not None and self.min_value > high
            else f"max_value={self.max_value}"
            if self.max_value is not None and self.max_value < low
            else None
        )
        if wrong is not None:
            raise SchemaError(
                f"Clip: column '{column.name}' is {dtype_name(column.dtype)}, from {low} to "
                f"{high}, which leaves nothing between the bounds: {wrong}"
            )

    def _clipped(self, value: int | float) -> int | float:
        if self.min_value is not None:
            value = max(value, self.min_value)
        return value if self.max_value is None else min(value, self.max_value)

    def expression(self, value: pl.Expr, column: Column, state: State) -> pl.Expr:
        """Return the clipped value."""
        # Compared as Float64, Int64 or UInt64; a bound beyond these has nothing to do.
        wide: pl.DataType = pl.Float64() if column.dtype.is_float() else pl.Int64()
        low, high = (-math.inf, math.inf) if column.dtype.is_float() else (-(2**63), 2**63 - 1)
        if isinstance(column.dtype, pl.UInt64):
            wide, low, high = pl.UInt64(), 0, 2**64 - 1
        result = value.cast(wide)
        if self.min_value is not None and self.min_value > low:
            result = result.clip(lower_bound=pl.lit(self.min_value, dtype=wide))
        if self.max_value is not None and self.max_value < high:
            result = result.clip(upper_bound=pl.lit(self.max_value, dtype=wide))
        return result.cast(column.dtype)
