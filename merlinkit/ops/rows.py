"""Operators that remove rows: Filter and Dropna."""

from __future__ import annotations

from collections.abc import Callable

import polars as pl

from merlinkit.engine.dialect import Dialect
from merlinkit.errors import SchemaError
from merlinkit.ops.base import State, UnchangedValues, scratch, without_nan
from merlinkit.ops.sql import SqlExpression
from merlinkit.schema import JSONValue, Schema

__all__ = ["Dropna", "Filter"]


class Dropna(UnchangedValues):
    """Remove rows in which one of the columns is null or NaN.

    Notes
    -----
    Rows are removed before anything downstream, in every branch of the graph, sees them, in fit
    as well. A null list is missing, an empty list or a null element is not.

    Examples
    --------
    >>> import polars as pl
    >>> import merlinkit as mk
    >>> frame = pl.DataFrame({"a": [1, None, 3], "b": ["x", "y", "z"]})
    >>> node = (["a"] >> Dropna()) + ["b"]
    >>> mk.Workflow(node).fit_transform(frame).collect().to_dict(as_series=False)
    {'a': [1, 3], 'b': ['x', 'z']}
    """

    keeps_rows = False

    def output_schema(self, inputs: Schema, state: State | None) -> Schema:
        """Return the columns as they are."""
        return inputs

    def transform(
        self, frame: pl.LazyFrame, inputs: Schema, state: State, dialect: Dialect
    ) -> pl.LazyFrame:
        """Keep the rows in which nothing is missing."""
        present = pl.lit(True)
        for column in inputs:
            value = pl.col(column.name)
            if not column.is_list:
                value = without_nan(value, column.dtype)
            present = present & value.is_not_null()
        return frame.filter(present)


class Filter(UnchangedValues):
    """Keep the rows for which a predicate is true.

    Parameters
    ----------
    predicate
        A SQL expression such as ``"price > 0 AND country = 'DE'"``, a `polars.Expr`, or a
        function without arguments that returns one. It may use the columns that Filter is
        applied to.

    Raises
    ------
    ParameterError
        If the predicate is no expression, or runs Python code row by row.
    SchemaError
        If it uses other columns, or is not a boolean.

    Notes
    -----
    A null predicate removes the row, and NaN is null in it. Rows are removed before anything
    downstream, in every branch of the graph, sees them, in fit as well.

    Examples
    --------
    >>> import polars as pl
    >>> import merlinkit as mk
    >>> frame = pl.DataFrame({"price": [1, -1, None], "item": ["a", "b", "c"]})
    >>> node = ["price", "item"] >> Filter("price > 0")
    >>> mk.Workflow(node).fit_transform(frame).collect().to_dict(as_series=False)
    {'price': [1], 'item': ['a']}
    """

    keeps_rows = False

    def __init__(self, predicate: str | pl.Expr | Callable[[], pl.Expr]) -> None:
        self._sql = SqlExpression.of("Filter", "predicate", predicate)
        self.predicate = predicate

    def parameters(self) -> dict[str, JSONValue]:
        """Return the predicate as text."""
        return {"predicate": self._sql.saved}

    def row_inputs(self, inputs: Schema) -> list[str]:
        """Return the columns that the predicate reads."""
        del inputs
        return self._sql.roots()

    def output_schema(self, inputs: Schema, state: State | None) -> Schema:
        """Return the columns as they are, after a look at the predicate."""
        dtype = self._sql.dtype(inputs)
        if dtype != pl.Boolean:
            raise SchemaError(
                f"Filter: predicate {self._sql.shown} gives {dtype}, a boolean expected"
            )
        return inputs

    def transform(
        self, frame: pl.LazyFrame, inputs: Schema, state: State, dialect: Dialect
    ) -> pl.LazyFrame:
        """Keep the rows for which the predicate is true."""
        kept = scratch("kept")
        return self._sql.evaluate(frame, inputs, kept).filter(pl.col(kept)).drop(kept)
