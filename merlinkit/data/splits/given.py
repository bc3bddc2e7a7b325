"""Split by a column that says where a row belongs."""

from __future__ import annotations

import datetime as dt
from collections.abc import Sequence
from typing import Any, ClassVar

import polars as pl

from merlinkit.data.splits.base import PART_COLUMN, PARTS, Split, require_free, require_name
from merlinkit.dtypes import dtype_name
from merlinkit.engine.base import LocalEngine
from merlinkit.engine.dialect import Dialect
from merlinkit.errors import DataError, ParameterError, SchemaError
from merlinkit.schema import Schema

__all__ = ["GivenSplit"]

Value = str | int | bool
_SHOWN = 5


class GivenSplit(Split):
    """The value of a column names the part of a row.

    Parameters
    ----------
    column
        A String, integer, Boolean or Date column.
    train, valid, test
        The value of the column for each part, or several. ISO 8601 strings stand for dates. A
        part without a value has no rows. If none is given, the column holds the names of the
        parts themselves: ``train``, ``valid`` and ``test``.

    Raises
    ------
    ParameterError
        If a value is given for two parts, none is given for training, or none for the others.

    Notes
    -----
    A row with another value, or null, is an error when the split is fitted.

    Examples
    --------
    >>> frame = pl.LazyFrame({"fold": [0, 1, 2, 3]})
    >>> split = GivenSplit("fold", train=[0, 1], valid=2, test=3)
    >>> from merlinkit.engine.cpu import CpuEngine
    >>> schema = Schema.from_polars(frame.collect_schema())
    >>> split.assign(frame, schema, CpuEngine().dialect).collect()["__part__"].to_list()
    ['train', 'train', 'valid', 'test']
    """

    kind: ClassVar[str] = "given"
    row_local: ClassVar[bool] = True

    def __init__(
        self,
        column: str,
        train: Value | Sequence[Value] | None = None,
        valid: Value | Sequence[Value] | None = None,
        test: Value | Sequence[Value] | None = None,
    ) -> None:
        require_name("column", column)
        self.column = column
        if train is None and valid is None and test is None:
            train, valid, test = PARTS
        self.train = _values("train", train)
        self.valid = _values("valid", valid)
        self.test = _values("test", test)
        every = [*self.train, *self.valid, *self.test]
        for value in every:
            if every.count(value) > 1:
                raise ParameterError(f"value {value!r} of column '{column}' is given twice")
        if not self.train:
            raise ParameterError("train is empty: no row would be left for training")
        if not self.valid and not self.test:
            raise ParameterError("valid and test are both empty: there is nothing to split")
        if len({isinstance(value, str) for value in every}) > 1:
            raise ParameterError(f"the values for column '{column}' are of several kinds: {every}")

    def columns(self, schema: Schema) -> list[str]:
        """Return the column."""
        self._literals(schema)
        return [self.column]

    def _literals(self, schema: Schema) -> dict[str, list[pl.Expr]]:
        """Return the values of each part as literals of the column's type."""
        column = schema[self.column]
        kind = column.dtype
        usable = kind.is_integer() or isinstance(kind, pl.String | pl.Boolean | pl.Date)
        if column.is_list or not usable:
            raise SchemaError(
                f"column '{self.column}' is {dtype_name(column.polars_dtype)}; String, an integer, "
                "Boolean or Date was expected to name the parts"
            )
        literals: dict[str, list[pl.Expr]] = {}
        for part in PARTS:
            literals[part] = [_literal(value, kind, self.column) for value in getattr(self, part)]
        return literals

    def _part(self, schema: Schema) -> pl.Expr:
        literals = self._literals(schema)
        column = pl.col(self.column)
        part: Any = pl
        for name, values in literals.items():
            if values:
                part = part.when(pl.any_horizontal(column == value for value in values)).then(
                    pl.lit(name)
                )
        expression: pl.Expr = part.otherwise(pl.lit(None, dtype=pl.String))
        return expression

    def fit(self, frame: pl.LazyFrame, engine: LocalEngine) -> GivenSplit:
        """Return the split itself, after a check that every row has a part.

        Raises
        ------
        DataError
            If rows have other values, naming the most frequent ones.
        """
        frame = frame.select(self.column)
        schema = Schema.from_polars(frame.collect_schema())
        others = (
            frame.with_columns(self._part(schema).alias(PART_COLUMN))
            .filter(pl.col(PART_COLUMN).is_null())
            .group_by(self.column)
            .agg(pl.len().alias("rows"))
        )
        summary = others.select(pl.len().alias("values"), pl.col("rows").sum())
        most = others.sort("rows", descending=True).head(_SHOWN)
        [counts] = engine.collect([summary])
        values, rows = counts.row(0)
        if values:
            [shown] = engine.collect([most])
            listed = ", ".join(
                f"{'null' if value is None else repr(_plain(value))} ({count:,} rows)"
                for value, count in shown.iter_rows()
            )
            more = "" if values <= _SHOWN else f" and {values - _SHOWN:,} more values"
            raise DataError(
                f"column '{self.column}': {rows:,} rows belong to no part: {listed}{more}. Give "
                "these values to train, valid or test, or remove the rows with Filter first"
            )
        return self

    def assign(self, frame: pl.LazyFrame, schema: Schema, dialect: Dialect) -> pl.LazyFrame:
        """Return the rows with their part; rows of other values, which `fit` refuses, have none."""
        require_free(schema)
        return frame.with_columns(self._part(schema).alias(PART_COLUMN))

    def to_dict(self) -> dict[str, Any]:
        """Return kind and parameters."""
        return {
            "kind": self.kind,
            "column": self.column,
            "train": list(self.train),
            "valid": list(self.valid),
            "test": list(self.test),
        }


def _values(part: str, values: Value | Sequence[Value] | None) -> tuple[Value, ...]:
    if values is None:
        return ()
    several = (
        tuple(values) if isinstance(values, Sequence) and not isinstance(values, str) else (values,)
    )
    for value in several:
        if not isinstance(value, str | int):
            raise ParameterError(
                f"{part} {value!r}: expected a string, a whole number or a boolean"
            )
    return several


def _literal(value: Value, dtype: pl.DataType, column: str) -> pl.Expr:
    wrong = ParameterError(
        f"value {value!r} cannot be one of column '{column}', which is {dtype_name(dtype)}"
    )
    if isinstance(dtype, pl.Date):
        if not isinstance(value, str):
            raise wrong
        try:
            return pl.lit(dt.date.fromisoformat(value))
        except ValueError:
            raise wrong from None
    expected = str if isinstance(dtype, pl.String) else bool if dtype == pl.Boolean else int
    if not isinstance(value, expected) or (expected is int and isinstance(value, bool)):
        raise wrong
    try:
        return pl.lit(pl.Series([value], dtype=dtype).item(), dtype=dtype)
    except (pl.exceptions.PolarsError, OverflowError, TypeError):
        raise wrong from None


def _plain(value: object) -> object:
    return value.isoformat() if isinstance(value, dt.date) else value
