"""Time stamps as people write them, and as the integers that columns hold."""

from __future__ import annotations

import datetime as dt
import math
import re
import zoneinfo

import polars as pl

from merlinkit.dtypes import dtype_name
from merlinkit.errors import ParameterError

__all__ = ["Moment", "moment_text", "physical_moment"]

Moment = str | int | float
"""An ISO 8601 string for dates and time stamps, a number for numbers."""

_NANOSECONDS = {"ms": 10**6, "us": 10**3, "ns": 1}
_DAY = 86_400 * 10**9
_FRACTION = re.compile(r"[.,](\d+)")
_EPOCH = dt.datetime(1970, 1, 1)


def physical_moment(moment: Moment, dtype: pl.DataType, parameter: str) -> int | float:
    """Return the smallest number of a column's type that is not before a moment.

    Parameters
    ----------
    moment
        What the user wrote. A string without an offset is in the time zone of the column.
    dtype
        The type of the column: a number, Date or Datetime.
    parameter
        Name of the parameter, for messages.

    Raises
    ------
    ParameterError
        If the moment is not of the kind of the column.

    Examples
    --------
    >>> physical_moment("1970-01-01T00:00:01.5", pl.Datetime("ms"), "valid_from")
    1500
    >>> physical_moment("1970-01-02T12:00", pl.Date(), "valid_from")
    2
    """
    if dtype.is_numeric():
        if isinstance(moment, str):
            raise ParameterError(
                f"{parameter} {moment!r}: the column is {dtype_name(dtype)}, a number was expected"
            )
        return math.ceil(moment) if dtype.is_integer() else moment
    if not isinstance(moment, str):
        raise ParameterError(
            f"{parameter} {moment!r}: the column is {dtype_name(dtype)}, an ISO 8601 string was "
            "expected, such as '2026-11-01T00:00:00'"
        )
    zone = dtype.time_zone if isinstance(dtype, pl.Datetime) else None
    nanoseconds = _nanoseconds(moment, zone, parameter)
    unit = _NANOSECONDS[dtype.time_unit] if isinstance(dtype, pl.Datetime) else _DAY
    return -(-nanoseconds // unit)


def parse_moment(moment: str, parameter: str) -> tuple[dt.datetime, int]:
    """Return a time stamp to the second and its nanoseconds.

    Raises
    ------
    ParameterError
        If it is not ISO 8601.
    """
    fraction = _FRACTION.search(moment)
    digits = fraction.group(1) if fraction else ""
    try:
        if len(digits) > 9:
            raise ValueError("more than nine digits of a second")
        moment_to_second = _FRACTION.sub("", moment, count=1)
        return dt.datetime.fromisoformat(moment_to_second), int(digits.ljust(9, "0") or 0)
    except ValueError as error:
        raise ParameterError(
            f"{parameter} '{moment}' is no ISO 8601 time stamp ({error}); expected one such as "
            "'2026-11-01' or '2026-11-01T12:30:00+01:00'"
        ) from None


def _nanoseconds(moment: str, zone: str | None, parameter: str) -> int:
    stamp, nanoseconds = parse_moment(moment, parameter)
    if stamp.tzinfo is not None and zone is None:
        raise ParameterError(
            f"{parameter} '{moment}' has an offset, but the column has no time zone; write it "
            "without"
        )
    if zone is not None:
        if stamp.tzinfo is None:
            stamp = stamp.replace(tzinfo=zoneinfo.ZoneInfo(zone))
        stamp = stamp.astimezone(dt.UTC).replace(tzinfo=None)
    passed = stamp - _EPOCH
    return (passed.days * 86_400 + passed.seconds) * 10**9 + nanoseconds


def moment_text(physical: int | float, dtype: pl.DataType) -> Moment:
    """Return a number of a column as `physical_moment` reads it back.

    Examples
    --------
    >>> moment_text(1500, pl.Datetime("ms", "UTC")), moment_text(2, pl.Date())
    ('1970-01-01T00:00:01.500+00:00', '1970-01-03')
    """
    if isinstance(dtype, pl.Date):
        return (_EPOCH + dt.timedelta(days=physical)).date().isoformat()
    if not isinstance(dtype, pl.Datetime):
        return physical
    per_second = 10**9 // _NANOSECONDS[dtype.time_unit]
    seconds, rest = divmod(int(physical), per_second)
    stamp = _EPOCH + dt.timedelta(seconds=seconds)
    fraction = f".{rest:0{len(str(per_second)) - 1}d}"
    offset = "" if dtype.time_zone is None else "+00:00"
    return f"{stamp.isoformat()}{fraction}{offset}"
