"""Vocabularies: tables of ids, values and counts, and how they are made and extended.

A table has one row an id, in the order of ids: the reserved ids first, whose values are null, then
the vocabulary. Its columns are ``id``, the values (one column, or one for each member of a
combination) and ``count``.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import polars as pl

from merlinkit.engine.dialect import Dialect
from merlinkit.ops.base import Table, without_nan
from merlinkit.ops.cross_hash import cross_hash

__all__ = ["NULL_ID", "OOV_ID", "PADDING_ID", "Vocabulary", "canonical", "canonical_dtype"]

PADDING_ID = 0
NULL_ID = 1
OOV_ID = 2
"""First of the ids for values that are not in the vocabulary."""


def canonical_dtype(dtype: pl.DataType) -> pl.DataType:
    """Return the data type that a vocabulary of such values has, whatever width a file used."""
    if isinstance(dtype, pl.UInt64):
        return dtype
    if dtype.is_integer():
        return pl.Int64()
    if dtype.is_float():
        return pl.Float64()
    if isinstance(dtype, pl.Null):
        return pl.String()
    return dtype


def canonical(value: pl.Expr, dtype: pl.DataType) -> pl.Expr:
    """Return a value in the data type of its vocabulary, NaN as null."""
    cast = value.cast(canonical_dtype(dtype))
    # Adding zero makes one zero of the two that floats have.
    return without_nan(cast, dtype) + 0.0 if dtype.is_float() else cast


@dataclass(frozen=True)
class Vocabulary:
    """How the table of one vocabulary is made.

    Parameters
    ----------
    dtypes
        Data types of the values; more than one for combinations of columns.
    buckets
        Ids for values outside of the vocabulary.
    threshold
        Values that occur less often are left out.
    limit
        Most ids, the reserved ones counted; 0 for any number.
    """

    dtypes: tuple[pl.DataType, ...]
    buckets: int
    threshold: int
    limit: int

    @property
    def values(self) -> list[str]:
        """Names of the columns of values."""
        if len(self.dtypes) == 1:
            return ["value"]
        return [f"value_{index}" for index in range(len(self.dtypes))]

    @property
    def first(self) -> int:
        """First id of the vocabulary."""
        return OOV_ID + self.buckets

    def bucket(self, values: Sequence[pl.Expr], dialect: Dialect) -> pl.Expr:
        """Return the out-of-vocabulary id of a value."""
        if self.buckets == 1:
            return pl.lit(OOV_ID, dtype=pl.Int64)
        hashes = [
            dialect.hash64(value, dtype) for value, dtype in zip(values, self.dtypes, strict=True)
        ]
        return (cross_hash(hashes) % self.buckets).cast(pl.Int64) + OOV_ID

    def count(self, frame: pl.LazyFrame) -> pl.LazyFrame:
        """Return how often each value of a frame occurs; null is a value here."""
        return frame.group_by(self.values).agg(pl.len().cast(pl.Int64).alias("count"))

    def given(self, values: pl.Series) -> pl.LazyFrame:
        """Return the table of a vocabulary that is given, in the order of its ids."""
        listed = pl.LazyFrame(
            {
                "id": pl.int_range(
                    self.first, self.first + len(values), dtype=pl.Int64, eager=True
                ),
                "value": values,
                "count": pl.Series([None] * len(values), dtype=pl.Int64),
            }
        )
        return pl.concat([self._reserved(self._nothing()), listed])

    def build(self, counts: pl.LazyFrame, dialect: Dialect) -> pl.LazyFrame:
        """Return the table for counted values: by descending count, ties by value."""
        kept, rare = self._ranked(counts.filter(self._complete()), self.first)
        return pl.concat([self._reserved(self._outside(counts, rare, dialect)), kept])

    def extend(self, table: Table, counts: pl.LazyFrame, dialect: Dialect) -> pl.LazyFrame:
        """Return a table in which every id is kept and new values come after them.

        The threshold applies to the counts of new values alone, since those of values that were
        left out before are not known one by one.
        """
        old = table.frame
        complete = counts.filter(self._complete())
        known = (
            old.filter(pl.col("id") >= self.first)
            .join(
                complete.rename({"count": "more"}),
                on=self.values,
                how="left",
                maintain_order="left",
            )
            .select(
                "id",
                *self.values,
                # A given vocabulary has no counts.
                pl.when(pl.col("count").is_not_null())
                .then(pl.col("count") + pl.col("more").fill_null(0))
                .alias("count"),
            )
        )
        new = complete.join(old.filter(pl.col("id") >= self.first), on=self.values, how="anti")
        kept, rare = self._ranked(new, table.rows)
        before = old.filter(pl.col("id") < self.first).select("id", "count")
        outside = pl.concat([before, self._outside(counts, rare, dialect)])
        return pl.concat([self._reserved(outside), known, kept])

    # -- parts --------------------------------------------------------------------------------

    def _complete(self) -> pl.Expr:
        """Tell which values are not null; of a combination, no member is."""
        return pl.all_horizontal([pl.col(name).is_not_null() for name in self.values])

    def _ranked(self, known: pl.LazyFrame, start: int) -> tuple[pl.LazyFrame, pl.LazyFrame]:
        """Return the values that get an id from ``start`` on, and those that get none."""
        order = ["count", *self.values]
        ranked = known.sort(order, descending=[True] + [False] * len(self.values))
        ranked = ranked.with_row_index("rank").with_columns(
            (pl.col("rank").cast(pl.Int64) + start).alias("id")
        )
        kept = pl.lit(True)
        if self.threshold > 1:
            kept = kept & (pl.col("count") >= self.threshold)
        if self.limit:
            kept = kept & (pl.col("id") < self.limit)
        return (
            ranked.filter(kept).select("id", *self.values, "count"),
            ranked.filter(~kept).select(*self.values, "count"),
        )

    def _outside(self, counts: pl.LazyFrame, rare: pl.LazyFrame, dialect: Dialect) -> pl.LazyFrame:
        """Return reserved ids with the counts of what they stand for."""
        nulls = counts.filter(~self._complete()).select(
            pl.lit(NULL_ID, dtype=pl.Int64).alias("id"), "count"
        )
        bucket = self.bucket([pl.col(name) for name in self.values], dialect)
        return pl.concat([nulls, rare.select(bucket.alias("id"), "count")])

    def _nothing(self) -> pl.LazyFrame:
        return pl.LazyFrame(schema={"id": pl.Int64, "count": pl.Int64})

    def _reserved(self, counts: pl.LazyFrame) -> pl.LazyFrame:
        """Return a row for each reserved id, with the sum of its counts."""
        zeros = pl.LazyFrame(
            {"id": range(self.first), "count": [0] * self.first},
            schema={"id": pl.Int64, "count": pl.Int64},
        )
        values = [
            pl.lit(None, dtype=dtype).alias(name)
            for name, dtype in zip(self.values, self.dtypes, strict=True)
        ]
        return (
            pl.concat([zeros, counts])
            .group_by("id")
            .agg(pl.col("count").sum())
            .sort("id")
            .select("id", *values, "count")
        )
