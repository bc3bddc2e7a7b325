"""One stable hash of several columns."""

from __future__ import annotations

from collections.abc import Sequence

import polars as pl

__all__ = ["cross_hash"]

_MULTIPLIER = 0x9E3779B97F4A7C15
"""Odd, so that multiplying by it modulo 2**64 loses nothing (2**64 over the golden ratio)."""


def cross_hash(hashes: Sequence[pl.Expr]) -> pl.Expr:
    """Return the UInt64 hash of a tuple from those of its members; null if one of them is.

    Parameters
    ----------
    hashes
        UInt64 hashes of the members, in order.

    Notes
    -----
    A polynomial in wrapping 64-bit arithmetic, which Polars and libcudf compute alike. The order
    counts, and equal members do not cancel out as they do in an exclusive or.
    """
    combined = hashes[0]
    for further in hashes[1:]:
        combined = combined * pl.lit(_MULTIPLIER, dtype=pl.UInt64) + further
    return combined
