"""One hash of several columns of a row, the same on every engine, in plain integer arithmetic."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import polars as pl

from merlinkit.engine.dialect import Dialect
from merlinkit.schema import Column, Schema

__all__ = ["hashable_columns", "with_row_hash"]

_MULTIPLIER = 0xFF51AFD7ED558CCD
"""The first multiplier of MurmurHash3's finaliser."""
_NULL = 0x27D4EB2F165667C5
_WRAP = 2**64


def hashable_columns(schema: Schema) -> list[str]:
    """Return the columns whose values can be hashed: scalars that are not raw bytes."""
    return [
        column.name
        for column in schema
        if not column.is_list and not isinstance(column.dtype, pl.Binary)
    ]


def with_row_hash(
    frame: pl.LazyFrame, columns: Sequence[Column], dialect: Dialect, seed: int, into: str
) -> pl.LazyFrame:
    """Add a UInt64 hash of some columns of each row.

    Parameters
    ----------
    frame
        The rows.
    columns
        Scalar columns; their order does not matter.
    dialect
        How the engine hashes one value.
    seed
        Another seed gives another, unrelated hash.
    into
        Name of the new column.

    Notes
    -----
    With ``v`` the 64-bit hash of each value, or a constant for null, in the order of the names of
    the columns, and ``a`` the numbers that SplitMix64 (Steele et al., 2014) draws from the seed,
    odd ones but for the first::

        h = a[0] + v[0] * a[1] + v[1] * a[2] + ...
        h = h * (2 * h + 1)        # the permutation of RC6: not linear, so seeds are unrelated
        h = h + h // 2**32         # upper bits reach the lower ones
        h = h * 0xFF51AFD7ED558CCD
        h = h * (2 * h + 1)

    All arithmetic wraps at 64 bits. The upper bits are the best ones. A change here would change
    every saved split.
    """
    drawn = _draws(seed)
    total = _constant(next(drawn))
    for column in sorted(columns, key=lambda column: column.name):
        value = dialect.hash64(pl.col(column.name), column.dtype).fill_null(_constant(_NULL))
        total = total + value * _constant(next(drawn) | 1)
    # Each step is a column, for an expression that names the one before twice would grow
    # exponentially.
    h = pl.col(into)
    for step in (
        total,
        h * (h + h + _constant(1)),
        h + h // _constant(2**32),
        h * _constant(_MULTIPLIER),
        h * (h + h + _constant(1)),
    ):
        frame = frame.with_columns(step.alias(into))
    return frame


def _draws(seed: int) -> Iterator[int]:
    """Yield the numbers of SplitMix64."""
    state = seed
    while True:
        state = (state + 0x9E3779B97F4A7C15) % _WRAP
        z = (state ^ (state >> 30)) * 0xBF58476D1CE4E5B9 % _WRAP
        z = (z ^ (z >> 27)) * 0x94D049BB133111EB % _WRAP
        yield z ^ (z >> 31)


def _constant(value: int) -> pl.Expr:
    return pl.lit(value, dtype=pl.UInt64)
