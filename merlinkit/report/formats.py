"""How a report writes numbers, times and long values."""

from __future__ import annotations

import math
import re
from datetime import UTC, datetime

from merlinkit.report.coerce import number

__all__ = [
    "amount",
    "clean",
    "duration",
    "large",
    "mebibytes",
    "metric",
    "percent",
    "short",
    "when",
]

MISSING = "–"
_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\ud800-\udfff]")
_TIME = re.compile(r"^(\d{4}-\d\d-\d\d)T(\d\d:\d\d:\d\d)(?:\.\d+)?(?=$|[+-]|Z)")
_SCALES = ((1e12, "T"), (1e9, "G"), (1e6, "M"))
MINUTE = 60
HOUR = 3600


def clean(value: object) -> str:
    """Return text without control, direction and half characters, which no page can show."""
    return _CONTROL.sub("\N{REPLACEMENT CHARACTER}", str(value))


def short(value: object, limit: int = 60) -> str:
    """Return text of a bounded length, cut with an ellipsis.

    Examples
    --------
    >>> short("abcdef", 4), short("abc", 4), short(None)
    ('abc…', 'abc', '–')
    """
    if value is None:
        return MISSING
    if isinstance(value, bool):
        return str(value).lower()
    # Cut first: str() of an enormous value is the slow part of cleaning it.
    kept = str(value) if not isinstance(value, str) else value
    kept = clean(kept[: limit + 1])
    return kept if len(kept) <= limit else kept[: limit - 1] + "…"


def amount(value: object, digits: int = 4) -> str:
    """Return a number for a table: separators for whole ones, significant digits for others.

    Examples
    --------
    >>> amount(1234567), amount(0.123456), amount(123456.7), amount(1.5e-7), amount(None)
    ('1,234,567', '0.1235', '123,457', '1.5e-07', '–')
    """
    if isinstance(value, int) and not isinstance(value, bool) and abs(value) < 10**15:
        return f"{value:,}"
    found = number(value)
    if isinstance(value, float) and not math.isfinite(value):
        return MISSING
    if found is None:
        return _without_fraction(short(value))
    if found == 0:
        return "0"
    if 1e-3 <= abs(found) < 1e15:
        if round(abs(found)) >= 10**digits:
            return f"{found:,.0f}"
        return f"{found:,.{digits}g}"
    return f"{found:.{digits}g}"


def _without_fraction(shown: str) -> str:
    """Return a time without the fraction of its seconds, with a space before the hour."""
    return _TIME.sub(r"\1 \2", shown)


def metric(value: object, decimals: int = 4) -> str:
    """Return a metric with a fixed number of decimals.

    Examples
    --------
    >>> metric(0.78125), metric(3), metric(float("nan"))
    ('0.7812', '3.0000', '–')
    """
    found = number(value)
    if found is None:
        return MISSING
    return f"{found:,.{decimals}f}" if abs(found) < 1e6 else f"{found:.4g}"


def percent(share: float) -> str:
    """Return a share as a percentage that is 0 % or 100 % only where it is exactly so.

    Examples
    --------
    >>> percent(0.1234), percent(0), percent(1), percent(0.00001), percent(0.99999)
    ('12.3%', '0%', '100%', '<0.1%', '>99.9%')
    """
    if share in (0, 1):
        return f"{share:.0%}"
    if share < 0.001:
        return "<0.1%"
    if 0.999 < share < 1:
        return ">99.9%"
    return f"{share * 100:.1f}%"


def duration(value: object) -> str:
    """Return seconds as people read them.

    Examples
    --------
    >>> duration(0.0123), duration(2.5), duration(75), duration(7325), duration(None)
    ('12 ms', '2.5 s', '1 min 15 s', '2 h 02 min', '–')
    """
    seconds = number(value)
    if seconds is None:
        return MISSING
    if 0 < seconds < 1:
        return f"{seconds * 1000:.0f} ms"
    if seconds < MINUTE:
        return f"{seconds:.1f} s"
    whole = round(seconds)
    if whole < HOUR:
        return f"{whole // MINUTE} min {whole % MINUTE:02d} s"
    return f"{whole // HOUR:,} h {whole % HOUR // MINUTE:02d} min"


def mebibytes(value: object) -> str:
    """Return MiB, or GiB from 1024 of them.

    Examples
    --------
    >>> mebibytes(512), mebibytes(1536), mebibytes(None)
    ('512 MiB', '1.5 GiB', '–')
    """
    found = number(value)
    if found is None:
        return MISSING
    return f"{found:,.0f} MiB" if found < 1024 else f"{found / 1024:,.1f} GiB"


def large(value: float) -> str:
    """Return a large number with a letter for its scale.

    Examples
    --------
    >>> large(33_100_000), large(950)
    ('33.1 M', '950')
    """
    for scale, letter in _SCALES:
        if abs(value) >= scale:
            return f"{value / scale:.3g} {letter}"
    return f"{value:,.0f}"


def when(value: object) -> str:
    """Return a time: unix seconds in UTC, text as it is.

    Examples
    --------
    >>> when(0), when("2026-11-30T10:00:00+01:00")
    ('1970-01-01 00:00:00 UTC', '2026-11-30T10:00:00+01:00')
    """
    seconds = number(value)
    if seconds is None:
        return short(value)
    try:
        return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%d %H:%M:%S UTC")
    except (OverflowError, ValueError, OSError):
        return MISSING
