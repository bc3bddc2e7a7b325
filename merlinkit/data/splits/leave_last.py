"""Split by user: the last rows of each are held out."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

import polars as pl

from merlinkit.data.splits.base import PART_COLUMN, Split, require_free, require_name
from merlinkit.data.splits.row_hash import hashable_columns, with_row_hash
from merlinkit.dtypes import dtype_name
from merlinkit.engine.base import LocalEngine
from merlinkit.engine.dialect import Dialect
from merlinkit.errors import DataError, ParameterError, PlanError, SchemaError
from merlinkit.schema import Column, Schema

__all__ = ["LeaveLastSplit"]

_TIE = "__mk_tie"
_PLACE = "__mk_place"
_ROWS = "__mk_rows"


class LeaveLastSplit(Split):
    """The last rows of each user are for testing, those before them for validation.

    Parameters
    ----------
    user
        The column of users. Rows without one are for training.
    order_by
        The column that orders the rows of a user.
    k_valid, k_test
        Rows of each user for validation and testing.
    tie_break
        Columns that order rows of one user and one time, by a hash; rows that are equal in these
        too are interchangeable. None takes all other columns. On engines other than the CPU,
        list columns cannot order rows: name scalar columns there.

    Raises
    ------
    ParameterError
        If a parameter is out of range.

    Notes
    -----
    At least one row of a user stays for training: of ``n`` rows, ``min(k_test, n - 1)`` are for
    testing and ``min(k_valid, n - 1 - those)`` for validation. So a user of two rows has one for
    training and one for testing, a user of one row has none for testing.

    The part of a row depends on the other rows of its user, so all rows have to be in one plan,
    and the engine holds them in memory. Raw bytes and lists of lists do not order rows.

    Examples
    --------
    >>> from merlinkit.engine.cpu import CpuEngine
    >>> frame = pl.LazyFrame({"user": ["a", "a", "a", "b"], "time": [3, 1, 2, 5]})
    >>> schema = Schema.from_polars(frame.collect_schema())
    >>> split = LeaveLastSplit("user", "time")
    >>> split.assign(frame, schema, CpuEngine().dialect).collect()["__part__"].to_list()
    ['test', 'train', 'valid', 'train']
    """

    kind: ClassVar[str] = "leave_last"
    row_local: ClassVar[bool] = False

    def __init__(
        self,
        user: str,
        order_by: str,
        k_valid: int = 1,
        k_test: int = 1,
        *,
        tie_break: Sequence[str] | None = None,
    ) -> None:
        require_name("user", user)
        require_name("order_by", order_by)
        if user == order_by:
            raise ParameterError(f"user and order_by are both '{user}'")
        for name, count in (("k_valid", k_valid), ("k_test", k_test)):
            if isinstance(count, bool) or not isinstance(count, int) or count < 0:
                raise ParameterError(f"{name} {count!r}: expected a whole number from 0 on")
        if k_valid == 0 and k_test == 0:
            raise ParameterError("k_valid and k_test are both 0: there is nothing to split")
        if isinstance(tie_break, str):
            raise ParameterError(f"tie_break '{tie_break}': expected a list of column names")
        self.user = user
        self.order_by = order_by
        self.k_valid = k_valid
        self.k_test = k_test
        self.tie_break = None if tie_break is None else sorted(set(tie_break))

    def _ties(self, schema: Schema) -> list[str]:
        if self.tie_break is not None:
            return list(self.tie_break)
        usable = {*hashable_columns(schema), *_plain_lists(schema)}
        return [
            name
            for name in schema.names
            if name in usable and name not in (self.user, self.order_by)
        ]

    def columns(self, schema: Schema) -> list[str]:
        """Return the columns of users, order and ties."""
        scalars = hashable_columns(schema)
        usable = {*scalars, *_plain_lists(schema)}
        ties = self._ties(schema)
        for name in (self.user, self.order_by, *ties):
            column = schema[name]
            if name not in (usable if name in ties else scalars):
                raise SchemaError(
                    f"column '{name}' is {dtype_name(column.polars_dtype)}; splitting by users "
                    "needs scalar columns"
                )
        return [self.user, self.order_by, *ties]

    def fit(self, frame: pl.LazyFrame, engine: LocalEngine) -> LeaveLastSplit:
        """Return the split itself, after a check that every row has a place in the order.

        Raises
        ------
        DataError
            If a row has null or NaN in the column that orders.
        """
        schema = Schema.from_polars(frame.collect_schema())
        self.columns(schema)
        order = pl.col(self.order_by)
        unusable = order.is_null()
        if schema[self.order_by].dtype.is_float():
            unusable = unusable | order.is_nan()
        [counts] = engine.collect(
            [
                frame.select(unusable.alias("unusable")).select(
                    pl.len().alias("rows"), pl.col("unusable").sum()
                )
            ]
        )
        rows, count = counts.row(0)
        if count:
            raise DataError(
                f"column '{self.order_by}': {count:,} of {rows:,} rows have no value to order by. "
                f'Remove them first, as Filter("{self.order_by} IS NOT NULL") does'
            )
        return self

    def assign(self, frame: pl.LazyFrame, schema: Schema, dialect: Dialect) -> pl.LazyFrame:
        """Return the rows with their part, in the same order."""
        require_free(schema)
        self.columns(schema)
        ties = self._ties(schema)
        lists = [name for name in ties if schema[name].is_list]
        if lists and dialect.name != "polars":
            raise PlanError(
                f"list column '{lists[0]}' cannot order the rows of one user and one time on this "
                "engine; name scalar columns in tie_break, or split on the CPU"
            )
        hashed = [
            Column(_TIE + name, pl.String()) if name in lists else schema[name] for name in ties
        ]
        frame = frame.with_columns(_list_text(name).alias(_TIE + name) for name in lists)
        frame = with_row_hash(frame, hashed, dialect, seed=0, into=_TIE)
        place, rows = pl.col(_PLACE), pl.col(_ROWS)
        # Rows of the same user behind this one.
        behind = rows - place
        part = (
            pl.when(pl.col(self.user).is_null() | (place == 1))
            .then(pl.lit("train"))
            .when(behind < self.k_test)
            .then(pl.lit("test"))
            .when(behind < self.k_test + self.k_valid)
            .then(pl.lit("valid"))
            .otherwise(pl.lit("train"))
        )
        # Two ranks by one column each instead of one by two: cuDF plans have no such window.
        earlier = pl.col(self.order_by).rank("min").over(self.user).cast(pl.Int64)
        among_ties = pl.col(_TIE).rank("ordinal").over(self.user, self.order_by).cast(pl.Int64)
        return (
            frame.with_columns(pl.lit(1, dtype=pl.Int64).alias(_ROWS))
            .with_columns(
                (earlier + among_ties - 1).alias(_PLACE), pl.col(_ROWS).sum().over(self.user)
            )
            .with_columns(part.alias(PART_COLUMN))
            .drop(_TIE, _PLACE, _ROWS, *(_TIE + name for name in lists))
        )

    def to_dict(self) -> dict[str, Any]:
        """Return kind and parameters."""
        return {
            "kind": self.kind,
            "user": self.user,
            "order_by": self.order_by,
            "k_valid": self.k_valid,
            "k_test": self.k_test,
            "tie_break": self.tie_break,
        }


def _plain_lists(schema: Schema) -> list[str]:
    """Return the list columns whose elements are scalars that have a text form."""
    return [
        column.name
        for column in schema
        if column.is_list and not isinstance(column.dtype, pl.Binary | pl.List)
    ]


def _list_text(name: str) -> pl.Expr:
    """Return a text that tells the lists of a column apart; null for a null list."""
    texts = pl.col(name).cast(pl.List(pl.String))
    # No text holds these control characters but by accident, and then only a tie stays a tie.
    return texts.list.eval(pl.element().fill_null("\x00")).list.join("\x1f")
