"""What is measured of a column, by the kind of its values."""

from __future__ import annotations

import math
from enum import Enum, auto
from typing import Any

import polars as pl

__all__ = ["Kind", "column_summary", "kind_of", "measures", "sampled", "simplified"]

BINS = 20
TOP = 10
FEW_VALUES = 50
"""Numbers with fraction are listed by value up to so many distinct ones."""

TEXT_KEPT = 200
"""Characters of a string value that a profile keeps."""

JSONValue = Any
_PER_SECOND = {"ms": 1e3, "us": 1e6, "ns": 1e9}


class Kind(Enum):
    """Values that are measured alike."""

    WHOLE = auto()
    REAL = auto()
    FLAG = auto()
    TEXT = auto()
    MOMENT = auto()
    OTHER = auto()


def kind_of(dtype: pl.DataType) -> Kind:
    """Return the kind of a scalar data type; structs, nested lists and the like are OTHER."""
    if dtype.is_integer():
        return Kind.WHOLE
    if dtype.is_numeric() or isinstance(dtype, pl.Duration):
        return Kind.REAL
    if isinstance(dtype, pl.Boolean):
        return Kind.FLAG
    if isinstance(dtype, pl.String | pl.Categorical | pl.Enum):
        return Kind.TEXT
    if isinstance(dtype, pl.Date | pl.Datetime | pl.Time):
        return Kind.MOMENT
    return Kind.OTHER


def simplified(alias: str, dtype: pl.DataType) -> pl.Expr:
    """Return a column with fewer data types: reals as Float64, durations as seconds."""
    column = pl.col(alias)
    if isinstance(dtype, pl.Duration):
        return column.to_physical().cast(pl.Float64) / _PER_SECOND[dtype.time_unit]
    if kind_of(dtype) is Kind.REAL:
        return column.cast(pl.Float64)
    if isinstance(dtype, pl.Categorical | pl.Enum):
        return column.cast(pl.String)
    return column


def measures(alias: str, kind: Kind) -> list[pl.Expr]:
    """Return the reductions of the first scan, for a column that `simplified` gave."""
    column = pl.col(alias)
    wanted = {"nulls": column.null_count()}
    if kind is Kind.OTHER:
        return [expr.alias(f"{alias}:{name}") for name, expr in wanted.items()]
    usable = column
    if kind is Kind.REAL:
        usable = pl.when(column.is_finite()).then(column)
        wanted["nans"] = column.is_nan().sum()
        wanted["infinite"] = column.is_infinite().sum()
    wanted |= {
        "distinct": column.approx_n_unique(),
        "min": usable.min(),
        "max": usable.max(),
    }
    if kind is not Kind.TEXT:
        wanted["mean"] = usable.mean()
    if kind in (Kind.WHOLE, Kind.REAL, Kind.FLAG):
        wanted["std"] = usable.cast(pl.Float64).std()
    return [expr.alias(f"{alias}:{name}") for name, expr in wanted.items()]


def sampled(alias: str, kind: Kind) -> pl.Expr:
    """Return what a sample keeps of a column: strings are cut, so that its size is bounded."""
    column = pl.col(alias)
    return column.str.head(TEXT_KEPT) if kind is Kind.TEXT else column


def column_summary(
    alias: str,
    kind: Kind,
    measured: pl.DataFrame,
    exact_distinct: int | None,
    sample: pl.Series | None,
) -> dict[str, JSONValue]:
    """Return one column's entry of a profile.

    Parameters
    ----------
    alias
        Name of the column in the plans.
    kind
        What its values are.
    measured
        The one row of the first scan.
    exact_distinct
        Number of distinct values, null and NaN among them, where it was counted.
    sample
        Some of the values.
    """

    def value(name: str) -> JSONValue:
        column = f"{alias}:{name}"
        return json_value(measured[column]) if column in measured.columns else None

    nulls, nans, infinite = value("nulls"), value("nans") or 0, value("infinite") or 0
    rows = int(measured["rows"].item())
    distinct = exact_distinct if exact_distinct is not None else value("distinct")
    if distinct is not None:
        # Polars counts null as a value, and all NaN as one.
        distinct = distinct - (nulls > 0) - (nans > 0)
        distinct = max(min(distinct, rows - nulls - nans), int(rows > nulls + nans))
    low, high, deviation = value("min"), value("max"), value("std")
    if deviation == 0 and low != high:
        deviation = None  # The squares overflowed.
    entry = {
        "nulls": nulls,
        "nans": nans,
        "infinite": infinite,
        "distinct": distinct,
        "distinct_exact": exact_distinct is not None,
        "min": low,
        "max": high,
        "mean": value("mean"),
        "std": deviation,
        "top": [],
        "histogram": None,
        "sampled_values": None,
    }
    if sample is None or kind is Kind.OTHER:
        return entry
    values = sample.drop_nulls()
    if kind is Kind.REAL:
        values = values.filter(values.is_finite())
    entry["sampled_values"] = len(values)
    if kind in (Kind.TEXT, Kind.FLAG, Kind.WHOLE) or (
        kind is Kind.REAL and distinct is not None and distinct <= FEW_VALUES
    ):
        entry["top"] = top_values(values)
    if kind in (Kind.WHOLE, Kind.REAL, Kind.MOMENT):
        ends = measured.select(low=f"{alias}:min", high=f"{alias}:max")
        entry["histogram"] = histogram(values, ends["low"], ends["high"])
    return entry


def json_value(series: pl.Series) -> JSONValue:
    """Return the one value of a series as a JSON value: ISO strings, null for NaN and infinity."""
    if series.dtype.is_temporal():
        return _iso(series).item()
    found = series.item()
    if isinstance(found, float) and not math.isfinite(found):
        return None
    return found[:TEXT_KEPT] if isinstance(found, str) else found


def _iso(series: pl.Series) -> pl.Series:
    text = series.dt.to_string("iso:strict")
    return text.str.replace(r"\.0+($|[+\-Z])", "$1")


def top_values(values: pl.Series) -> list[list[JSONValue]]:
    """Return the most frequent values with their counts, ties by value."""
    counted = values.rename("value").value_counts(name="count")
    best = counted.sort("count", "value", descending=[True, False]).head(TOP)
    return [[value, count] for value, count in best.iter_rows()]


def histogram(values: pl.Series, low: pl.Series, high: pl.Series) -> dict[str, JSONValue] | None:
    """Return edges and counts of bins of equal width between two ends, both included.

    Parameters
    ----------
    values
        Finite numbers, dates or times, without nulls.
    low, high
        One value each: the ends, of the values' data type.

    Returns
    -------
    dict or None
        ``edges``, one more than ``counts``. Whole numbers that lie close together get a bin
        each, with edges halfway between them. None where there is nothing between the ends.
    """
    if low.item() is None or high.item() is None:
        return None
    start = float(low.to_physical().item())
    end = float(high.to_physical().item())
    bins = BINS
    if values.dtype.is_integer() and end - start < BINS:
        bins = int(end - start) + 1
        start, end = start - 0.5, end + 0.5
    width = (end - start) / bins
    if width == 0 or not math.isfinite(width):
        return None
    place = (values.to_physical().cast(pl.Float64) - start) / width
    counts = [0] * bins
    for index, count in place.floor().clip(0, bins - 1).cast(pl.Int32).value_counts().iter_rows():
        counts[index] = count
    edges: list[JSONValue] = [start + width * index for index in range(bins)] + [end]
    if values.dtype.is_temporal():
        physical = pl.Series(edges).round().cast(values.to_physical().dtype)
        edges = _iso(physical.cast(values.dtype)).to_list()
    return {"edges": edges, "counts": counts}
