"""Keys of group statistics: the values of one or several columns, null a value like others."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import polars as pl

from merlinkit.engine.dialect import Dialect
from merlinkit.errors import SchemaError
from merlinkit.ops.base import scratch
from merlinkit.ops.vocabulary import canonical, canonical_dtype
from merlinkit.schema import Column

__all__ = ["GroupKey"]


@dataclass(frozen=True)
class GroupKey:
    """Columns whose values together are the key of a table of statistics.

    A table has, for each column, ``key_0``, ``key_1``, … and ``null_0``, … beside: a null key is
    held as any value with the flag set, since joins never match nulls.

    Parameters
    ----------
    operator
        Name of the operator, for messages.
    columns
        The columns.
    """

    operator: str
    columns: tuple[Column, ...]

    def __post_init__(self) -> None:
        for column in self.columns:
            if column.is_list or column.dtype.is_nested() or isinstance(column.dtype, pl.Binary):
                raise SchemaError(
                    f"{self.operator}: column '{column.name}' is {column.polars_dtype}; numbers, "
                    "strings, booleans, dates or times can be keys"
                )

    @property
    def names(self) -> list[str]:
        """Names of the columns of a table."""
        return [
            name for index in range(len(self.columns)) for name in (f"key_{index}", f"null_{index}")
        ]

    def expressions(self) -> list[pl.Expr]:
        """Return the columns of a table, from the columns of the data."""
        out = []
        for index, column in enumerate(self.columns):
            value = canonical(pl.col(column.name), column.dtype)
            any_value = _any_value(canonical_dtype(column.dtype))
            out += [
                pl.when(value.is_null()).then(any_value).otherwise(value).alias(f"key_{index}"),
                value.is_null().cast(pl.Int8).alias(f"null_{index}"),
            ]
        return out

    def join(
        self,
        frame: pl.LazyFrame,
        table: pl.LazyFrame,
        dialect: Dialect,
        more: Sequence[tuple[str, pl.Expr]] = (),
    ) -> pl.LazyFrame:
        """Add the other columns of a table to the rows of its keys.

        Parameters
        ----------
        frame
            Holds the columns of the key.
        table
            One row for each key.
        dialect
            How the engine joins.
        more
            Further columns of the table's key, with what they are in the frame.
        """
        places = {name: scratch(name) for name in [*self.names, *(name for name, _ in more)]}
        made = [*self.expressions(), *(value.alias(name) for name, value in more)]
        frame = frame.with_columns(
            value.alias(place) for value, place in zip(made, places.values(), strict=True)
        )
        table = table.rename(places)
        return dialect.join(frame, table, list(places.values())).drop(list(places.values()))


def _any_value(dtype: pl.DataType) -> pl.Expr:
    if isinstance(dtype, pl.String):
        return pl.lit("", dtype=pl.String)
    if isinstance(dtype, pl.Boolean):
        return pl.lit(False)
    return pl.lit(0, dtype=pl.Int64).cast(dtype)
