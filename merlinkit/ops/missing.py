"""FillMissing: a value for what is missing."""

from __future__ import annotations

import polars as pl

from merlinkit.engine.dialect import Dialect
from merlinkit.errors import ParameterError
from merlinkit.ops.base import ElementwiseExpression, State, apply_to_values, without_nan
from merlinkit.ops.filling import filled_flag, filling, with_value
from merlinkit.ops.parameters import is_finite_number, require_bool
from merlinkit.schema import Column, Schema

__all__ = ["FillMissing"]


class FillMissing(ElementwiseExpression):
    """Replace nulls, and NaN with them, by a value.

    Parameters
    ----------
    fill_val
        The value: a number for numeric columns, a string for string columns, true or false for
        booleans. It must be representable in the column's data type, which is kept.
    add_binary_cols
        Whether to add ``{column}_filled``, Int8: 1 where a value was missing, else 0.

    Raises
    ------
    SchemaError
        If the value does not fit a column's data type.

    Notes
    -----
    In list columns the elements are filled; null lists stay null.

    Examples
    --------
    >>> import polars as pl
    >>> import merlinkit as mk
    >>> frame = pl.DataFrame({"price": [1.5, None, float("nan")]})
    >>> workflow = mk.Workflow(["price"] >> FillMissing(0, add_binary_cols=True))
    >>> workflow.fit_transform(frame).collect().to_dict(as_series=False)
    {'price': [1.5, 0.0, 0.0], 'price_filled': [0, 1, 1]}
    """

    def __init__(
        self, fill_val: int | float | str | bool = 0, add_binary_cols: bool = False
    ) -> None:
        if not isinstance(fill_val, str | bool) and not is_finite_number(fill_val):
            raise ParameterError(
                f"FillMissing: fill_val is {fill_val!r}, a number, string or boolean expected"
            )
        require_bool("FillMissing", "add_binary_cols", add_binary_cols)
        self.fill_val = fill_val
        self.add_binary_cols = add_binary_cols

    def _literal(self, column: Column) -> pl.Expr:
        return pl.lit(filling("FillMissing", "fill_val", self.fill_val, column), dtype=column.dtype)

    def output_column(self, column: Column, state: State | None) -> Column:
        """Return the column; a known domain grows to hold the value."""
        return with_value(column, filling("FillMissing", "fill_val", self.fill_val, column))

    def output_schema(self, inputs: Schema, state: State | None) -> Schema:
        """Return the columns, each followed by its flag where one is added."""
        out: list[Column] = []
        for column in inputs:
            out.append(self.output_column(column, state))
            if self.add_binary_cols:
                out.append(filled_flag(column))
        return Schema(out)

    def origins(self, inputs: Schema) -> dict[str, list[str]]:
        """Return origins; a flag is made from its column."""
        out: dict[str, list[str]] = {}
        for name in inputs.names:
            out[name] = [name]
            if self.add_binary_cols:
                out[f"{name}_filled"] = [name]
        return out

    def expression(self, value: pl.Expr, column: Column, state: State) -> pl.Expr:
        """Return the value or the filling."""
        return without_nan(value, column.dtype).fill_null(self._literal(column))

    def transform(
        self, frame: pl.LazyFrame, inputs: Schema, state: State, dialect: Dialect
    ) -> pl.LazyFrame:
        """Add the flags first, then fill."""
        if self.add_binary_cols:
            for column in inputs:
                flag = column.renamed(f"{column.name}_filled")
                frame = frame.with_columns(pl.col(column.name).alias(flag.name))

                def missing(part: pl.LazyFrame, name: str, column: Column = column) -> pl.LazyFrame:
                    value = without_nan(pl.col(name), column.dtype)
                    return part.with_columns(value.is_null().cast(pl.Int8).alias(name))

                frame = apply_to_values(frame, flag, missing, pl.Int8(), dialect)
        return super().transform(frame, inputs, state, dialect)
