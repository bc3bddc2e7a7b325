"""Expression: a new column from the columns of the same row."""

from __future__ import annotations

from collections.abc import Callable

import polars as pl

from merlinkit.dtypes import dtype_from_name, dtype_name
from merlinkit.engine.dialect import Dialect
from merlinkit.errors import ParameterError, SchemaError
from merlinkit.ops.base import Operator, State, scratch
from merlinkit.ops.parameters import require_text
from merlinkit.ops.sql import SqlExpression
from merlinkit.schema import Column, JSONValue, Schema

__all__ = ["Expression"]


class Expression(Operator):
    """Compute one column from others by a SQL expression.

    Parameters
    ----------
    expr
        A SQL expression such as ``"price * quantity"``, a `polars.Expr`, or a function without
        arguments that returns one. It may use the columns that Expression is applied to, and
        functions of one row: arithmetic, comparisons, CASE, strings, dates, mathematics.
    name
        Name of the new column.
    dtype
        Data type to cast to; by default that of the expression.

    Raises
    ------
    ParameterError
        If the expression does not parse, looks at other rows, or runs Python code row by row.
    SchemaError
        If it uses a column that is not there, or its types do not fit together.

    Notes
    -----
    Nulls follow SQL: a null operand makes the result null. NaN in the inputs is null. Only the new
    column comes out.

    Examples
    --------
    >>> import polars as pl
    >>> import merlinkit as mk
    >>> frame = pl.DataFrame({"rating": [5, 3, None]})
    >>> node = ["rating"] >> Expression("rating >= 4", name="liked", dtype="int8")
    >>> mk.Workflow(node).fit_transform(frame).collect()["liked"].to_list()
    [1, 0, None]
    """

    def __init__(
        self,
        expr: str | pl.Expr | Callable[[], pl.Expr],
        name: str,
        dtype: str | None = None,
    ) -> None:
        require_text("Expression", "name", name)
        self._sql = SqlExpression.of("Expression", "expr", expr)
        self._dtype: pl.DataType | None = None
        if dtype is not None:
            try:
                self._dtype = dtype_from_name(dtype)
            except SchemaError as error:
                raise ParameterError(f"Expression: dtype: {error}") from error
        self.expr = expr
        self.output = name
        self.dtype = None if self._dtype is None else dtype_name(self._dtype)

    def parameters(self) -> dict[str, JSONValue]:
        """Return the parameters, the expression as text."""
        return {"expr": self._sql.saved, "name": self.output, "dtype": self.dtype}

    def output_schema(self, inputs: Schema, state: State | None) -> Schema:
        """Return the new column."""
        computed = self._sql.dtype(inputs)
        return Schema([Column(self.output, self._dtype or computed)])

    def origins(self, inputs: Schema) -> dict[str, list[str]]:
        """Return the columns that the expression reads."""
        return {self.output: self._sql.roots()}

    def transform(
        self, frame: pl.LazyFrame, inputs: Schema, state: State, dialect: Dialect
    ) -> pl.LazyFrame:
        """Add the column."""
        result = scratch("result")
        frame = self._sql.evaluate(frame, inputs, result)
        value = pl.col(result)
        if self._dtype is not None:
            value = value.cast(self._dtype)
        return frame.with_columns(value.alias(self.output)).drop(result)
