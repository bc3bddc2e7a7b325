"""How many buckets large data is cut into where rows belong together."""

from __future__ import annotations

import polars as pl

from merlinkit.engine.base import Engine
from merlinkit.workflow.compile import Bucket

__all__ = ["BUCKET_ROWS", "buckets_of"]

BUCKET_ROWS = 2_000_000
"""Rows of a bucket, about: what operators on groups of rows hold in memory at a time."""


def buckets_of(frame: pl.LazyFrame, engine: Engine) -> list[Bucket]:
    """Return the buckets for a frame, each of about `BUCKET_ROWS` rows."""
    rows = engine.collect([frame.select(pl.len())])[0].item()
    count = max(1, -(-rows // BUCKET_ROWS))
    return [Bucket(index, count) for index in range(count)]
