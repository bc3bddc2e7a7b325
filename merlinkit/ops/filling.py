"""What operators that put a value into columns share: the value in a column's type, and flags."""

from __future__ import annotations

import math

import polars as pl

from merlinkit.dtypes import dtype_name
from merlinkit.errors import SchemaError
from merlinkit.ops.parameters import is_finite_number
from merlinkit.schema import Column, Domain, Tags

__all__ = ["filled_flag", "filling", "with_value"]

Value = int | float | str | bool

# Whose column it is says something of its flag too; that it is a target or an id does not.
_ROLES = {str(tag) for tag in (Tags.USER, Tags.ITEM, Tags.SESSION, Tags.CONTEXT)}


def filling(operator: str, parameter: str, value: Value, column: Column) -> Value:
    """Return a value as the values of a column are held.

    Raises
    ------
    SchemaError
        If their data type does not hold it.
    """
    dtype, given = column.dtype, value
    if dtype.is_float():
        fits = is_finite_number(value) and _holds(dtype, float(value))
    elif dtype.is_integer():
        whole = isinstance(value, int | float) and not isinstance(value, bool)
        fits = whole and float(value).is_integer() and _holds(dtype, int(value))
        value = int(value) if fits else value
    elif isinstance(dtype, pl.Boolean):
        fits = isinstance(value, bool)
    else:
        fits = isinstance(dtype, pl.String) and isinstance(value, str)
    if not fits:
        raise SchemaError(
            f"{operator}: column '{column.name}' is {dtype_name(column.polars_dtype)}, which "
            f"cannot hold {parameter}={given!r}; give a value of that data type"
        )
    return value


def with_value(column: Column, value: Value) -> Column:
    """Return a column whose domain, where it is known, has grown to hold a value."""
    domain = column.domain
    if domain is not None and isinstance(value, int | float):
        domain = Domain(min(domain.min, value), max(domain.max, value), domain.name)
    return column.with_domain(domain)


def filled_flag(column: Column) -> Column:
    """Return the column ``{column}_filled``, 1 where a value of a column was missing."""
    return Column(
        f"{column.name}_filled",
        pl.Int8(),
        is_list=column.is_list,
        value_count=column.value_count,
        domain=Domain(0, 1),
        tags=column.tags & _ROLES,
    )


def _holds(dtype: pl.DataType, value: int | float) -> bool:
    try:
        return math.isfinite(pl.Series([value], dtype=dtype)[0])
    except (pl.exceptions.PolarsError, OverflowError, TypeError):
        return False
