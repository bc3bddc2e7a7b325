"""Lag and DifferenceLag: values of earlier rows of the same group."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import replace

import polars as pl

from merlinkit.engine.dialect import Dialect
from merlinkit.errors import ParameterError, SchemaError
from merlinkit.ops.base import Operator, State, is_number, require, without_nan
from merlinkit.ops.group_order import group_order, require_scalar
from merlinkit.ops.parameters import require_int, text_list
from merlinkit.schema import Column, Schema, Tags

__all__ = ["DifferenceLag", "Lag"]


class _Shifted(Operator):
    """Base of operators on the value some rows earlier."""

    suffix: str

    def __init__(
        self,
        partition_cols: str | Sequence[str],
        order_by: str | Sequence[str],
        shift: int | Sequence[int] = 1,
    ) -> None:
        name = type(self).__name__
        self.partition_cols = text_list(name, "partition_cols", partition_cols)
        self.order_by = text_list(name, "order_by", order_by)
        shifts: list[int] = [shift] if isinstance(shift, int) else list(shift)
        if not shifts:
            raise ParameterError(f"{name}: shift is empty, a whole number or a list expected")
        for number in shifts:
            require_int(name, "shift", number, minimum=1 - 2**31)
            if number == 0:
                raise ParameterError(f"{name}: shift is 0, which is the row itself")
        if len(set(shifts)) < len(shifts):
            raise ParameterError(f"{name}: shift {shifts} names a number twice")
        self.shift = shifts

    def dependencies(self) -> list[str]:
        """Return the columns that group and order rows."""
        return list(dict.fromkeys([*self.partition_cols, *self.order_by]))

    def rows_together(self, inputs: Schema) -> list[str]:
        """Return the columns that group rows."""
        return self.partition_cols

    @abstractmethod
    def shifted(self, column: Column, name: str) -> Column:
        """Return an output column."""

    @abstractmethod
    def value(self, column: Column, earlier: pl.Expr) -> pl.Expr:
        """Return what an output column holds."""

    def _name(self, column: str, shift: int) -> str:
        return f"{column}_{self.suffix}_{shift}"

    def output_schema(self, inputs: Schema, state: State | None) -> Schema:
        """Return a column for each column and shift."""
        require_scalar(self, "partition_cols", self.partition_cols, inputs)
        require_scalar(self, "order_by", self.order_by, inputs)
        return Schema(
            self.shifted(inputs[name], self._name(name, shift))
            for name in self.applied_to(inputs)
            for shift in self.shift
        )

    def origins(self, inputs: Schema) -> dict[str, list[str]]:
        """Return the column, and those that say which row is earlier."""
        return {
            self._name(name, shift): list(dict.fromkeys([name, *self.dependencies()]))
            for name in self.applied_to(inputs)
            for shift in self.shift
        }

    def transform(
        self, frame: pl.LazyFrame, inputs: Schema, state: State, dialect: Dialect
    ) -> pl.LazyFrame:
        """Shift within groups in the named order."""
        order = group_order(inputs, self.order_by)
        return frame.with_columns(
            self.value(
                inputs[name],
                pl.col(name).shift(shift).over(self.partition_cols, order_by=order),
            ).alias(self._name(name, shift))
            for name in self.applied_to(inputs)
            for shift in self.shift
        )


class Lag(_Shifted):
    """Add the value that a column had some rows earlier in the same group.

    Parameters
    ----------
    partition_cols
        Columns whose equal values make a group, for example the user. Nulls are a group.
    order_by
        Columns that order the rows of a group, for example the time; nulls come first.
    shift
        How many rows earlier, or a list of such numbers; negative ones look at later rows.

    Raises
    ------
    SchemaError
        If a group or order column is a list, or not there.

    Notes
    -----
    The output is ``{column}_lag_{shift}`` in the column's data type, null where the group has no
    such row. Groups are those of the whole data set, however it is cut into files. Where
    `order_by` leaves rows equal, the other columns that the operator gets decide, in the order of
    their names; name more columns in `order_by` if those do not tell rows apart, or else the result
    depends on the order of the data. Group and order columns are taken from the operator's own
    columns, or else from the data.

    Examples
    --------
    >>> import polars as pl
    >>> import merlinkit as mk
    >>> frame = pl.DataFrame({"user": [1, 2, 1], "ts": [20, 5, 10], "item": ["b", "x", "a"]})
    >>> node = ["item"] >> Lag("user", "ts")
    >>> mk.Workflow(node).fit_transform(frame).collect()["item_lag_1"].to_list()
    ['a', None, None]
    """

    suffix = "lag"

    def shifted(self, column: Column, name: str) -> Column:
        """Return the column under another name."""
        if column.is_list:
            raise SchemaError(f"Lag: column '{column.name}' holds lists, scalars expected")
        return replace(column, name=name)

    def value(self, column: Column, earlier: pl.Expr) -> pl.Expr:
        """Return the earlier value."""
        return earlier


class DifferenceLag(_Shifted):
    """Add the difference of a column to its value some rows earlier in the same group.

    Parameters
    ----------
    partition_cols
        Columns whose equal values make a group, for example the user. Nulls are a group.
    order_by
        Columns that order the rows of a group, for example the time; nulls come first.
    shift
        How many rows earlier, or a list of such numbers; negative ones look at later rows.

    Raises
    ------
    SchemaError
        If a column is not numeric, a date or a time, or a group or order column is a list.

    See Also
    --------
    Lag : the earlier value itself, and how rows that `order_by` leaves equal are ordered.

    Notes
    -----
    The output is ``{column}_difference_lag_{shift}`` in Float32, null where the group has no such
    row or one of the values is null or NaN; seconds for dates and times. The difference is taken
    in whole numbers or Float64, so that large values lose nothing before. NVTabular's operator of
    this name looks at the row before in the partition, whatever its group's order is.

    Examples
    --------
    >>> import polars as pl
    >>> import merlinkit as mk
    >>> frame = pl.DataFrame({"user": [1, 2, 1], "ts": [20, 5, 10]})
    >>> node = ["ts"] >> DifferenceLag("user", "ts")
    >>> mk.Workflow(node).fit_transform(frame).collect()["ts_difference_lag_1"].to_list()
    [10.0, None, None]
    """

    suffix = "difference_lag"

    def shifted(self, column: Column, name: str) -> Column:
        """Return a continuous column."""
        require(
            self,
            column,
            lambda dtype: is_number(dtype) or isinstance(dtype, pl.Date | pl.Datetime),
            "a number, date or time",
        )
        if column.is_list:
            raise SchemaError(f"DifferenceLag: column '{column.name}' holds lists")
        tags = (column.tags - {Tags.CATEGORICAL}) | {Tags.CONTINUOUS}
        return Column(name, pl.Float32(), tags=tags)

    def value(self, column: Column, earlier: pl.Expr) -> pl.Expr:
        """Return the difference."""
        now, before = (self._number(value, column) for value in (pl.col(column.name), earlier))
        difference = (now - before).cast(pl.Float64)
        if isinstance(column.dtype, pl.Date | pl.Datetime):
            difference = difference / 1_000_000.0
        return difference.cast(pl.Float32)

    @staticmethod
    def _number(value: pl.Expr, column: Column) -> pl.Expr:
        dtype = column.dtype
        if isinstance(dtype, pl.Date | pl.Datetime):
            return value.dt.epoch("us")
        if dtype.is_integer() and not isinstance(dtype, pl.UInt64):
            return value.cast(pl.Int64)
        return without_nan(value.cast(pl.Float64), pl.Float64())
