"""The dialect of cuDF plans.

cudf-polars has no function that acts on the elements of a list or makes a list. On the GPU a list
column is a flat column of values with row offsets, so the engine takes the values out, runs the
same scalar plan on them and puts the offsets back. In a plan this dialect therefore leaves a gap
where such a step stands and lists the step beside it: `list_plans` hold the scalar plans, which
are proved like any other, and `engine_steps` name what the engine does outside of plans.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import polars as pl

from merlinkit.engine.dialect import Dialect, Lookup

__all__ = ["CudfDialect", "ListPlan"]


@dataclass(frozen=True)
class ListPlan:
    """A scalar plan that runs on the values of a list column."""

    column: str
    plan: pl.LazyFrame


@dataclass
class CudfDialect(Dialect):
    """Lists as values and offsets, lookups as joins, libcudf's own XXH64.

    Parameters
    ----------
    rows
        Rows of the frame that stands for the values of a list column while planning.
    """

    rows: int = 1_000
    list_plans: list[ListPlan] = field(default_factory=list)
    engine_steps: list[str] = field(default_factory=list)

    name = "cudf"
    checks_casts = False

    def _values(self, frame: pl.LazyFrame, column: str) -> pl.LazyFrame:
        dtype = frame.collect_schema()[column]
        assert isinstance(dtype, pl.List)
        return pl.DataFrame({column: [None] * self.rows}, schema={column: dtype.inner}).lazy()

    def elementwise(
        self,
        frame: pl.LazyFrame,
        column: str,
        step: Callable[[pl.LazyFrame, str], pl.LazyFrame],
        into: pl.DataType,
    ) -> pl.LazyFrame:
        """List the step as a plan on the values; the column becomes a gap of the right type."""
        self.list_plans.append(ListPlan(column, step(self._values(frame, column), column)))
        return frame.with_columns(pl.lit(None, dtype=pl.List(into)).alias(column))

    def elements(self, frame: pl.LazyFrame, column: str) -> pl.LazyFrame:
        """Return the values, which the engine takes from the list column's buffers."""
        return self._values(frame, column)

    def lengths(self, frame: pl.LazyFrame, column: str) -> pl.LazyFrame:
        """Return differences of the offsets, which the engine takes from the list column."""
        return pl.DataFrame({column: [None] * self.rows}, schema={column: pl.Int64}).lazy()

    def list_slice(
        self, frame: pl.LazyFrame, column: str, start: int, end: int | None
    ) -> pl.LazyFrame:
        """Leave a gap: the engine cuts the offsets."""
        self.engine_steps.append(f"slice the lists of '{column}' from {start} to {end}")
        return frame

    def list_pad(
        self, frame: pl.LazyFrame, column: str, length: int, value: int | float | str | bool
    ) -> pl.LazyFrame:
        """Leave a gap: the engine widens the offsets."""
        self.engine_steps.append(f"pad the lists of '{column}' to {length} with {value!r}")
        return frame

    def lookups(
        self, frame: pl.LazyFrame, wanted: Sequence[tuple[str, Lookup, str]]
    ) -> pl.LazyFrame:
        """Join with the tables, which streams; a replacement would be uploaded at each run."""
        for column, table, into in wanted:
            right = table.frame.select(
                pl.col(table.key).alias(column), pl.col(table.value).alias(into)
            )
            frame = frame.join(right, on=column, how="left")
        return frame

    def join(self, frame: pl.LazyFrame, table: pl.LazyFrame, on: Sequence[str]) -> pl.LazyFrame:
        """Join; to keep the order of rows would gather them into one partition."""
        return frame.join(table, on=list(on), how="left")

    def narrowed(self, value: pl.Expr, column: str, dtype: pl.DataType) -> pl.Expr:
        """Cast, with null for what became infinite."""
        cast = value.cast(dtype)
        # NaN is neither finite nor infinite, and stays.
        return pl.when(~(cast.is_infinite() & value.is_finite())).then(cast)

    def hash64(self, expr: pl.Expr, dtype: pl.DataType) -> pl.Expr:
        """Hash with the function that cudf-polars maps ``hash(0)`` to."""
        if dtype.is_float():
            physical = expr.cast(pl.Float64)
        elif isinstance(dtype, pl.UInt64 | pl.String):
            physical = expr
        elif dtype.is_temporal():
            physical = expr.cast(pl.Int64)
        else:
            physical = expr.cast(pl.Int64)
        return pl.when(expr.is_null()).then(None).otherwise(physical.hash(0))

    def split(self, frame: pl.LazyFrame, column: str, separator: str, into: str) -> pl.LazyFrame:
        """Leave a gap: libcudf splits strings into lists, cudf-polars has no expression for it."""
        self.engine_steps.append(f"split '{column}' at {separator!r} into '{into}'")
        return frame.with_columns(pl.lit(None, dtype=pl.List(pl.String)).alias(into))
