"""The order of rows within a group, the same whatever order the data came in."""

from __future__ import annotations

from collections.abc import Sequence

import polars as pl

from merlinkit.errors import SchemaError
from merlinkit.ops.base import Operator
from merlinkit.schema import Schema

__all__ = ["group_order", "require_scalar"]


def group_order(inputs: Schema, first: Sequence[str]) -> list[str]:
    """Return the columns that order rows: those named, then all other scalar ones for ties.

    Rows that are equal in all of these are alike for the operator, so their order is no matter.
    """
    others = [
        column.name
        for column in inputs
        if column.name not in first and not column.is_list and not column.dtype.is_nested()
    ]
    return [*first, *sorted(others)]


def require_scalar(
    operator: Operator, parameter: str, names: Sequence[str], inputs: Schema
) -> None:
    """Raise `SchemaError` if a column by which rows are grouped or ordered is not a scalar."""
    for name in names:
        column = inputs[name]
        if column.is_list or column.dtype.is_nested() or isinstance(column.dtype, pl.Binary):
            raise SchemaError(
                f"{operator.name}: {parameter} names column '{name}', which is "
                f"{column.polars_dtype}; numbers, strings, booleans, dates or times expected"
            )
