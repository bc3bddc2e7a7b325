"""Sessionize: sessions from gaps of inactivity."""

from __future__ import annotations

import polars as pl

from merlinkit.engine.dialect import Dialect
from merlinkit.errors import ParameterError, SchemaError
from merlinkit.ops.base import Operator, State, is_number, require, scratch, without_nan
from merlinkit.ops.cross_hash import cross_hash
from merlinkit.ops.group_order import group_order, require_scalar
from merlinkit.ops.parameters import require_int, require_number, require_text
from merlinkit.schema import Column, Schema, Tags

__all__ = ["Sessionize"]

SESSION_ID = "session_id"
SESSION_POSITION = "session_position"


class Sessionize(Operator):
    """Cut the events of each user into sessions, at gaps of inactivity.

    Parameters
    ----------
    user_col
        Column of the user.
    time_col
        Column of the time: a datetime, a date or a number.
    gap
        Longest time between two events of a session, in seconds for dates and datetimes and in
        the column's own unit for numbers. A longer one starts a new session.
    max_length
        Most events of a session; the next one starts a new session. None for any number.

    Raises
    ------
    SchemaError
        If the time is neither a number nor a date or datetime, or a column is a list.

    Notes
    -----
    The columns that it is applied to come out with ``session_id`` (Int64, a stable hash of the
    user, the time at which the session starts and, with `max_length`, its number after that) and
    ``session_position`` (Int32, from 0, in the order of time) behind them. Both are null where
    user or time is null. Events of the same user and time are ordered by the other columns that the
    operator gets. Sessions are those of the whole data set, however it is cut into files.

    Examples
    --------
    >>> import polars as pl
    >>> import merlinkit as mk
    >>> frame = pl.DataFrame({"user": [1, 1, 1], "ts": [0, 4000, 100]})
    >>> node = ["user", "ts"] >> Sessionize("user", "ts", gap=1800)
    >>> mk.Workflow(node).fit_transform(frame).collect()["session_position"].to_list()
    [0, 0, 1]
    """

    def __init__(
        self, user_col: str, time_col: str, gap: float, max_length: int | None = None
    ) -> None:
        require_text("Sessionize", "user_col", user_col)
        require_text("Sessionize", "time_col", time_col)
        require_number("Sessionize", "gap", gap)
        if gap < 0:
            raise ParameterError(f"Sessionize: gap is {gap}, 0 or more expected")
        if max_length is not None:
            require_int("Sessionize", "max_length", max_length, minimum=1)
        self.user_col = user_col
        self.time_col = time_col
        self.gap = gap
        self.max_length = max_length

    def dependencies(self) -> list[str]:
        """Return user and time."""
        return [self.user_col, self.time_col]

    def rows_together(self, inputs: Schema) -> list[str]:
        """Return the user."""
        return [self.user_col]

    def output_schema(self, inputs: Schema, state: State | None) -> Schema:
        """Return the columns as they are, and those of the session."""
        require_scalar(self, "user_col", [self.user_col], inputs)
        require_scalar(self, "time_col", [self.time_col], inputs)
        time = inputs[self.time_col]
        require(
            self,
            time,
            lambda dtype: is_number(dtype) or isinstance(dtype, pl.Date | pl.Datetime),
            "a number, date or datetime",
        )
        applied = [inputs[name] for name in self.applied_to(inputs)]
        for column in applied:
            if column.name in (SESSION_ID, SESSION_POSITION):
                raise SchemaError(f"Sessionize: there is a column '{column.name}' already")
        session = Column(SESSION_ID, pl.Int64(), tags=[Tags.SESSION_ID, Tags.SESSION])
        return Schema([*applied, session, Column(SESSION_POSITION, pl.Int32())])

    def origins(self, inputs: Schema) -> dict[str, list[str]]:
        """Return user and time for the session, else the column itself."""
        made = {name: [name] for name in self.applied_to(inputs)}
        by = list(dict.fromkeys(self.dependencies()))
        return made | {SESSION_ID: by, SESSION_POSITION: by}

    def transform(
        self, frame: pl.LazyFrame, inputs: Schema, state: State, dialect: Dialect
    ) -> pl.LazyFrame:
        """Count the gaps of each user, then the events between them."""
        user, column = self.user_col, inputs[self.time_col]
        time, start, within, part = (scratch(name) for name in ("time", "start", "within", "part"))
        order = group_order(inputs, [self.time_col])
        frame = frame.with_columns(self._time(column).alias(time))
        since = pl.col(time) - pl.col(time).shift(1).over(user, order_by=order)
        starts = since.is_null() | (since.cast(pl.Float64) > float(self._gap(column)))
        frame = frame.with_columns(starts.cast(pl.Int64).alias(start))
        frame = frame.with_columns(pl.col(start).cum_sum().over(user, order_by=order).alias(within))
        session = [user, within]
        frame = frame.with_columns(
            pl.lit(1, dtype=pl.Int64).alias(part), pl.col(time).min().over(session).alias(start)
        )
        frame = frame.with_columns(
            (pl.col(part).cum_sum().over(session, order_by=order) - 1).alias(within)
        )
        length = self.max_length or 2**62
        known = pl.col(user).is_not_null() & pl.col(time).is_not_null()
        time_type = frame.collect_schema()[time]
        hashed = cross_hash(
            [
                dialect.hash64(pl.col(user), inputs[user].dtype),
                dialect.hash64(pl.col(start), time_type),
                dialect.hash64(pl.col(within) // length, pl.Int64()),
            ]
        )
        return frame.with_columns(
            pl.when(known).then((hashed // 2).cast(pl.Int64)).alias(SESSION_ID),
            pl.when(known).then((pl.col(within) % length).cast(pl.Int32)).alias(SESSION_POSITION),
        ).drop(time, start, within, part)

    def _time(self, column: Column) -> pl.Expr:
        value = pl.col(column.name)
        if isinstance(column.dtype, pl.Date | pl.Datetime):
            return value.dt.epoch("us")
        if column.dtype.is_integer() and not isinstance(column.dtype, pl.UInt64):
            return value.cast(pl.Int64)
        return without_nan(value.cast(pl.Float64), pl.Float64())

    def _gap(self, column: Column) -> float:
        temporal = isinstance(column.dtype, pl.Date | pl.Datetime)
        return self.gap * 1_000_000 if temporal else self.gap
