"""One hash of several columns of a row, the same on every engine, in plain integer arithmetic."""

from __future__ import annotations

from collections.abc import Sequence

import polars as pl

from merlinkit.engine.dialect import Dialect
from merlinkit.schema import Column, Schema

__all__ = ["hashable_columns", "row_hash"]

# Odd constants with well spread bits: the golden ratio, and those of MurmurHash3's finaliser.
_STEP = 0x9E3779B97F4A7C15
_MIX = (0xFF51AFD7ED558CCD, 0xC4CEB9FE1A85EC53)
_NULL = 0x27D4EB2F165667C5
_MASK = 2**64 - 1


def hashable_columns(schema: Schema) -> list[str]:
    """Return the columns whose values can be hashed: scalars that are not raw bytes."""
    return [
        column.name
        for column in schema
        if not column.is_list and not isinstance(column.dtype, pl.Binary)
    ]


def row_hash(columns: Sequence[Column], dialect: Dialect, seed: int) -> pl.Expr:
    """Return a UInt64 hash of some columns of a row.

    Parameters
    ----------
    columns
        Scalar columns; their order does not matter. At least one.
    dialect
        How the engine hashes one value.
    seed
        Another seed gives another, unrelated hash.

    Notes
    -----
    With ``v`` the 64-bit hash of a value, or a constant for null, each column in the order of its
    name does ``h = (h + v) * c; h = h + h // 2**32``, starting at a constant of the seed; two
    rounds more spread the last value over all bits. All arithmetic wraps at 64 bits. The upper
    bits are the best ones. A change here would change every saved split.
    """
    state: pl.Expr = _constant((seed * _STEP + _MIX[0]) & _MASK)
    for column in sorted(columns, key=lambda column: column.name):
        value = dialect.hash64(pl.col(column.name), column.dtype)
        known = pl.when(value.is_null()).then(_constant(_NULL)).otherwise(value)
        state = _fold((state + known) * _constant(_STEP))
    for factor in _MIX:
        state = _fold(state * _constant(factor))
    return state


def _fold(state: pl.Expr) -> pl.Expr:
    """Add the upper half to the lower one, so that a product's weak low bits gain."""
    return state + state // _constant(2**32)


def _constant(value: int) -> pl.Expr:
    return pl.lit(value, dtype=pl.UInt64)
