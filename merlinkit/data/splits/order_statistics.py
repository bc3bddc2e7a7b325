"""The k-th smallest value of a column: exact, in bounded memory, on every engine."""

from __future__ import annotations

import math

import polars as pl

from merlinkit.engine.base import LocalEngine

__all__ = ["kth_smallest"]

COLLECT_ROWS = 1_000_000
"""Values are counted one by one in the client once no more than so many rows are left."""

_BUCKETS = 4096
_VALUE = "value"


def kth_smallest(
    values: pl.LazyFrame,
    rank: int,
    smallest: int | float,
    largest: int | float,
    rows: int,
    engine: LocalEngine,
) -> int | float:
    """Return the value at a position of the sorted column.

    Parameters
    ----------
    values
        One column, named ``value``: Int64, UInt64 or Float64, without nulls, NaN and infinities.
    rank
        The position, from 0.
    smallest, largest, rows
        The column's minimum, maximum and length.
    engine
        Where the passes run.

    Notes
    -----
    Each pass counts the values in buckets of equal width and goes on with the bucket that holds
    the position, so a few passes do, and nothing is sorted. Rounding of the bucket's number does
    no harm: it never makes a larger value's number smaller, and the bounds of a bucket are the
    values found in it.
    """
    column = pl.col(_VALUE)
    while rows > COLLECT_ROWS and smallest < largest:
        # Halves keep the width finite for floats of both signs.
        width = largest / 2 - smallest / 2
        scale = _BUCKETS / width if width > 0 else math.inf
        if not math.isfinite(scale):
            break
        distance = column.cast(pl.Float64) * 0.5 - smallest / 2
        buckets = values.with_columns(
            (distance * scale).floor().clip(0, _BUCKETS - 1).cast(pl.Int32).alias("bucket")
        )
        counted = buckets.group_by("bucket").agg(
            pl.len().alias("rows"),
            column.min().alias("smallest"),
            column.max().alias("largest"),
        )
        [table] = engine.collect([counted])
        before = 0
        for bucket in table.sort("bucket").iter_rows(named=True):
            if rank < before + bucket["rows"]:
                break
            before += bucket["rows"]
        found = bucket["smallest"], bucket["largest"]
        if found == (smallest, largest):  # too close for floats to tell apart
            break
        (smallest, largest), rows, rank = found, bucket["rows"], rank - before
        values = values.filter((column >= smallest) & (column <= largest))
    [table] = engine.collect([values.group_by(_VALUE).agg(pl.len().alias("rows"))])
    for value, count in table.sort(_VALUE).iter_rows():
        if rank < count:
            return value  # type: ignore[no-any-return]
        rank -= count
    raise AssertionError("the rank is beyond the rows")
