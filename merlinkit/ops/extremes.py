"""Smallest and largest values, as statistics that merge."""

from __future__ import annotations

import polars as pl

from merlinkit.ops.base import Statistics

__all__ = ["extremes", "widened"]


def extremes(values: pl.LazyFrame, value: pl.Expr) -> pl.LazyFrame:
    """Return one row with ``min`` and ``max`` of an expression over a frame.

    Grouping by a constant is what keeps it streaming on cuDF. A frame without rows gives none.
    """
    return (
        values.select(pl.lit(0).alias("all"), value.alias("x"))
        .group_by("all")
        .agg(pl.col("x").min().alias("min"), pl.col("x").max().alias("max"))
        .select("min", "max")
    )


def widened(left: Statistics, right: Statistics) -> Statistics:
    """Return the extremes of two data sets together."""
    return {
        name: pl.concat([left[name], right[name]]).select(pl.col("min").min(), pl.col("max").max())
        for name in left
    }
