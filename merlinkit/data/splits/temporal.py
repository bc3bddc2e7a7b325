"""Split by time: the model is judged on what came after what it learned from."""

from __future__ import annotations

import datetime as dt
from typing import Any, ClassVar

import polars as pl

from merlinkit.data.splits.base import (
    PART_COLUMN,
    Split,
    require_fractions,
    require_free,
    require_name,
)
from merlinkit.data.splits.order_statistics import kth_smallest
from merlinkit.data.splits.time_stamps import Moment, moment_text, parse_moment, physical_moment
from merlinkit.dtypes import dtype_name
from merlinkit.engine.base import LocalEngine
from merlinkit.engine.dialect import Dialect
from merlinkit.errors import DataError, ParameterError, SchemaError
from merlinkit.schema import Schema

__all__ = ["TemporalSplit"]


class TemporalSplit(Split):
    """Rows before a first moment are for training, those from a second on for testing.

    Parameters
    ----------
    column
        The time of a row: Date, Datetime of any unit and time zone, or a number.
    valid, test
        Fractions of the rows, 0.1 each where neither fractions nor moments are given. The
        moments are then exact order statistics of the data, which `fit` finds. Rows of one time
        stay together, so that a part can be larger than asked by those that share its first time.
    valid_from, test_from
        The moments: ISO 8601 strings (or date and datetime objects) for times, numbers for
        numbers. Rows from ``valid_from`` on are for validation, from ``test_from`` on for
        testing. One of them may be None: there is no such part then. A string without an offset
        is in the column's time zone.

    Raises
    ------
    ParameterError
        If fractions and moments are both given, or one of them is out of range.

    Notes
    -----
    A row without a time (null, NaN or infinite) is an error when the split is fitted.

    Examples
    --------
    >>> from merlinkit.engine.cpu import CpuEngine
    >>> frame = pl.LazyFrame({"t": [5, 3, 1, 4, 2, 9, 8, 7, 6, 0]})
    >>> TemporalSplit("t", valid=0.2, test=0.1).fit(frame, CpuEngine())
    TemporalSplit(column='t', valid=None, test=None, valid_from=7, test_from=9)
    """

    kind: ClassVar[str] = "temporal"
    row_local: ClassVar[bool] = True

    def __init__(
        self,
        column: str,
        valid: float | None = None,
        test: float | None = None,
        *,
        valid_from: Moment | dt.date | None = None,
        test_from: Moment | dt.date | None = None,
    ) -> None:
        require_name("column", column)
        self.column = column
        self.valid_from = _written("valid_from", valid_from)
        self.test_from = _written("test_from", test_from)
        self.valid = valid
        self.test = test
        if self.is_fitted:
            if valid is not None or test is not None:
                raise ParameterError(
                    "give fractions (valid, test) or moments (valid_from, test_from), not both"
                )
            _require_order(self.valid_from, self.test_from)
            return
        self.valid = 0.1 if valid is None else valid
        self.test = 0.1 if test is None else test
        require_fractions(self.valid, self.test)
        if self.valid == 0 and self.test == 0:
            raise ParameterError("valid and test are both 0: there is nothing to split")

    @property
    def is_fitted(self) -> bool:
        """Whether the moments are known."""
        return self.valid_from is not None or self.test_from is not None

    def columns(self, schema: Schema) -> list[str]:
        """Return the time column."""
        column = schema[self.column]
        kind = column.dtype
        if column.is_list or not (kind.is_numeric() or isinstance(kind, pl.Date | pl.Datetime)):
            hint = "; parse it first" if isinstance(kind, pl.String) else ""
            raise SchemaError(
                f"time column '{self.column}' is {dtype_name(column.polars_dtype)}; Date, Datetime "
                f"or a number was expected{hint}"
            )
        return [self.column]

    def fit(self, frame: pl.LazyFrame, engine: LocalEngine) -> TemporalSplit:
        """Return the split with its moments, after a check that every row has a time.

        Raises
        ------
        DataError
            If a row has no time, or all rows have the same.
        """
        schema = Schema.from_polars(frame.select(self.column).collect_schema())
        self.columns(schema)
        kind = schema[self.column].dtype
        values = frame.select(_physical(self.column, kind).alias("value"))
        value = pl.col("value")
        unusable = value.is_null()
        if kind.is_float():
            unusable = unusable | value.is_nan() | value.is_infinite()
        [counts] = engine.collect(
            [
                values.with_columns(unusable.alias("unusable")).select(
                    pl.len().alias("rows"),
                    pl.col("unusable").sum().alias("unusable"),
                    value.min().alias("smallest"),
                    value.max().alias("largest"),
                )
            ]
        )
        found = counts.row(0, named=True)
        rows = int(found["rows"])
        if found["unusable"]:
            raise DataError(
                f"time column '{self.column}': {found['unusable']:,} of {rows:,} rows have no "
                "time (null, NaN or infinite). A split comes before all features, so Filter and "
                "FillMissing come too late: write the data without these rows, or choose "
                "split=random or split=given"
            )
        if rows == 0:
            raise DataError(f"time column '{self.column}': there are no rows to split")
        if self.is_fitted:
            for name, moment in (("valid_from", self.valid_from), ("test_from", self.test_from)):
                if moment is not None:
                    physical_moment(moment, kind, name)
            return self
        assert self.valid is not None and self.test is not None
        tests = _count(self.test, rows)
        evaluated = tests + _count(self.valid, rows)
        bounds = found["smallest"], found["largest"], rows, engine

        def first_of(last: int) -> Moment:
            return moment_text(kth_smallest(values, max(rows - last, 0), *bounds), kind)

        test_from = first_of(tests) if self.test else None
        valid_from = first_of(evaluated) if self.valid else None
        first = test_from if valid_from is None else valid_from
        assert first is not None
        if physical_moment(first, kind, "first") <= found["smallest"]:
            raise DataError(
                f"time column '{self.column}': no row is before {first}, where validation and test "
                f"begin, so none of the {rows:,} rows is left for training. Too many rows share "
                "one time, or there are too few rows"
            )
        return TemporalSplit(self.column, valid_from=valid_from, test_from=test_from)

    def assign(self, frame: pl.LazyFrame, schema: Schema, dialect: Dialect) -> pl.LazyFrame:
        """Return the rows with their part; rows without a time, which `fit` refuses, have none."""
        if not self.is_fitted:
            raise ParameterError("a temporal split by fractions needs fit before assign")
        require_free(schema)
        self.columns(schema)
        kind = schema[self.column].dtype
        time = _physical(self.column, kind)
        part: Any = pl.when(time.is_null()).then(pl.lit(None, dtype=pl.String))
        for name, moment in (("test", self.test_from), ("valid", self.valid_from)):
            if moment is not None:
                limit = physical_moment(moment, kind, f"{name}_from")
                part = part.when(time >= limit).then(pl.lit(name))
        expression: pl.Expr = part.otherwise(pl.lit("train"))
        return frame.with_columns(expression.alias(PART_COLUMN))

    def to_dict(self) -> dict[str, Any]:
        """Return kind and parameters."""
        return {
            "kind": self.kind,
            "column": self.column,
            "valid": self.valid,
            "test": self.test,
            "valid_from": self.valid_from,
            "test_from": self.test_from,
        }


def _physical(name: str, dtype: pl.DataType) -> pl.Expr:
    """Return a time column as Int64, UInt64 or Float64, exactly."""
    if dtype.is_float():
        return pl.col(name).cast(pl.Float64)
    if isinstance(dtype, pl.UInt64):
        return pl.col(name)
    return pl.col(name).cast(pl.Int64)


def _count(fraction: float, rows: int) -> int:
    """Return the rows of a part: at least one if there is to be such a part."""
    return max(1, round(fraction * rows)) if fraction else 0


def _written(name: str, moment: Moment | dt.date | None) -> Moment | None:
    if isinstance(moment, dt.date):  # datetime is one too
        return moment.isoformat()
    if isinstance(moment, str):
        parse_moment(moment, name)
    elif isinstance(moment, bool) or not isinstance(moment, int | float | None):
        raise ParameterError(f"{name} {moment!r}: expected an ISO 8601 string or a number")
    return moment


def _require_order(valid_from: Moment | None, test_from: Moment | None) -> None:
    if valid_from is None or test_from is None:
        return
    if isinstance(valid_from, str) != isinstance(test_from, str):
        raise ParameterError(
            f"valid_from {valid_from!r} and test_from {test_from!r} are of different kinds"
        )
    if isinstance(valid_from, str) and isinstance(test_from, str):
        first, second = parse_moment(valid_from, "valid_from"), parse_moment(test_from, "test_from")
        if (first[0].tzinfo is None) != (second[0].tzinfo is None):
            raise ParameterError(
                f"one of valid_from '{valid_from}' and test_from '{test_from}' has an offset, the "
                "other has none"
            )
        ordered = first <= second
    else:
        ordered = valid_from <= test_from  # type: ignore[operator]
    if not ordered:
        raise ParameterError(f"valid_from {valid_from} is after test_from {test_from}")
