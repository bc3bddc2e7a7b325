"""ReduceDtypeSize: the smallest data types that hold the data."""

from __future__ import annotations

import polars as pl

from merlinkit.dtypes import dtype_from_name
from merlinkit.engine.dialect import Dialect
from merlinkit.errors import SchemaError
from merlinkit.ops.base import Finalized, Operator, State, Statistics, is_number, require
from merlinkit.ops.extremes import extremes, widened
from merlinkit.ops.parameters import require_choice
from merlinkit.schema import Column, Schema

__all__ = ["ReduceDtypeSize"]

_INTEGERS = (pl.Int8(), pl.Int16(), pl.Int32(), pl.Int64())


class ReduceDtypeSize(Operator):
    """Turn integers into the smallest signed type that holds the fitted range, and floats into one.

    Parameters
    ----------
    float_dtype
        ``"float32"`` or ``"float64"``: what floats become.

    Raises
    ------
    SchemaError
        If a column is not numeric, or holds lists.
    DataError
        When it is applied, if an integer is outside of the type that was chosen at fit, or a float
        is beyond the range of Float32.

    Notes
    -----
    Integers above the range of Int64 stay UInt64, a column without any value stays as it is, and so
    does the domain in the schema. A value that does not fit is an error on the CPU, where the
    operator of NVTabular wraps it around to another number; cuDF has no such check, so there it
    becomes null. The inverse brings back the data types; floats keep the digits of Float32.

    Examples
    --------
    >>> import polars as pl
    >>> import merlinkit as mk
    >>> frame = pl.DataFrame({"age": [30, 127], "year": [1999, 2026], "x": [0.5, 1.5]})
    >>> node = ["age", "year", "x"] >> ReduceDtypeSize()
    >>> mk.Workflow(node).fit_transform(frame).collect().schema.dtypes()
    [Int8, Int16, Float32]
    """

    def __init__(self, float_dtype: str = "float32") -> None:
        self.float_dtype = require_choice(
            "ReduceDtypeSize", "float_dtype", float_dtype, ("float32", "float64")
        )

    def output_schema(self, inputs: Schema, state: State | None) -> Schema:
        """Return the columns with the types that are known."""
        out = []
        for column in inputs:
            require(self, column, is_number, "a number")
            if column.is_list:
                raise SchemaError(f"ReduceDtypeSize: column '{column.name}' holds lists")
            out.append(column.with_dtype(self._dtype(column, state)))
        return Schema(out)

    def _dtype(self, column: Column, state: State | None) -> pl.DataType:
        if column.dtype.is_float():
            return dtype_from_name(self.float_dtype)
        if state is None or not column.dtype.is_integer():
            return column.dtype
        rows = state.values[column.name]
        if not rows or rows[0]["min"] is None:
            return column.dtype
        low, high = int(rows[0]["min"]), int(rows[0]["max"])
        for dtype in _INTEGERS:
            smallest, largest = _bounds(dtype)
            if smallest <= low and high <= largest:
                return dtype
        return pl.UInt64()

    # -- fit ----------------------------------------------------------------------------------

    learns_little = True

    def needs_fit(self, inputs: Schema) -> bool:
        """Tell whether there are integers, whose range matters."""
        return any(column.dtype.is_integer() for column in inputs)

    def statistics(self, frame: pl.LazyFrame, inputs: Schema, dialect: Dialect) -> Statistics:
        """Return the smallest and largest value of each column of integers."""
        return {
            column.name: extremes(frame, pl.col(column.name))
            for column in inputs
            if column.dtype.is_integer()
        }

    def merge(self, left: Statistics, right: Statistics) -> Statistics:
        """Widen the ranges."""
        return widened(left, right)

    def finalize(self, statistics: Statistics, inputs: Schema, dialect: Dialect) -> Finalized:
        """Keep the ranges."""
        return Finalized(values=statistics)

    def recall(self, state: State, inputs: Schema) -> Statistics:
        """Return the ranges."""
        return {
            name: pl.LazyFrame(rows, schema=dict.fromkeys(("min", "max"), inputs[name].dtype))
            for name, rows in state.values.items()
        }

    # -- apply --------------------------------------------------------------------------------

    def transform(
        self, frame: pl.LazyFrame, inputs: Schema, state: State, dialect: Dialect
    ) -> pl.LazyFrame:
        """Cast; what does not fit is an error, or null where an engine cannot check."""
        cast = []
        for column in inputs:
            dtype = self._dtype(column, state)
            value = pl.col(column.name)
            if dtype == column.dtype:
                continue
            if column.dtype == pl.Float64:
                value = dialect.narrowed(value, column.name, dtype)
            elif column.dtype.is_integer() and not dialect.checks_casts:
                value = pl.when(_inside(value, column.dtype, dtype)).then(value)
            cast.append(value.cast(dtype).alias(column.name))
        return frame.with_columns(cast)

    @property
    def invertible(self) -> bool:
        """By the data types of before."""
        return True

    def inverse(
        self, frame: pl.LazyFrame, inputs: Schema, state: State, dialect: Dialect
    ) -> pl.LazyFrame:
        """Cast back."""
        return frame.with_columns(pl.col(column.name).cast(column.dtype) for column in inputs)


def _inside(value: pl.Expr, held: pl.DataType, dtype: pl.DataType) -> pl.Expr:
    """Tell which integers of one type another one holds."""
    smallest, largest = _bounds(dtype)
    if isinstance(held, pl.UInt64):
        # As Int64, the largest would be negative.
        return value <= pl.lit(largest, dtype=pl.UInt64)
    return (value.cast(pl.Int64) >= smallest) & (value.cast(pl.Int64) <= largest)


def _bounds(dtype: pl.DataType) -> tuple[int, int]:
    bits = {"Int8": 8, "Int16": 16, "Int32": 32, "Int64": 64}.get(str(dtype))
    if bits is None:
        return 0, 2**63 - 1
    return -(2 ** (bits - 1)), 2 ** (bits - 1) - 1
