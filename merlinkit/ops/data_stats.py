"""DataStats: what the columns of the data look like."""

from __future__ import annotations

from typing import Any, cast

import polars as pl

from merlinkit.dtypes import dtype_from_name, dtype_name
from merlinkit.engine.dialect import Dialect
from merlinkit.ops.base import (
    Finalized,
    State,
    Statistics,
    UnchangedValues,
    values_of,
    without_nan,
)
from merlinkit.ops.vocabulary import canonical, canonical_dtype
from merlinkit.schema import Column, JSONValue, Schema

__all__ = ["DataStats"]


class DataStats(UnchangedValues):
    """Learn what columns look like; the values stay.

    `stats` returns it: for each column the number of ``values`` (elements, in list columns), of
    ``nulls`` among them (NaN counts), and of ``distinct`` values without null; for numbers ``min``,
    ``max``, ``mean`` and ``std`` (one degree of freedom less); for strings, dates and times
    ``min`` and ``max`` as text; for list columns ``lists``, the number of lists, and
    ``min_length`` and ``max_length``. A figure that there is not, or that is infinite, is None.

    Notes
    -----
    All figures are exact however the data is cut into files, mean and deviation as far as Float64
    goes. They are made from counts of the
    distinct values, which are kept for updates, so memory grows with their number, not with that of
    the rows.

    Examples
    --------
    >>> import polars as pl
    >>> import merlinkit as mk
    >>> workflow = mk.Workflow(["price"] >> DataStats())
    >>> workflow.fit(pl.DataFrame({"price": [1.0, 3.0, None, 3.0]}))
    Workflow(['price'] >> DataStats())
    >>> stats = DataStats.stats(workflow.state(workflow.output))
    >>> stats["price"]["nulls"], stats["price"]["distinct"], round(stats["price"]["std"], 3)
    (1, 2, 1.155)
    """

    def output_schema(self, inputs: Schema, state: State | None) -> Schema:
        """Return the columns as they are."""
        return inputs

    @staticmethod
    def stats(state: State) -> dict[str, dict[str, Any]]:
        """Return what was learned, by column; ``state`` is that of the operator's node."""
        found: dict[str, dict[str, Any]] = {}
        for name, rows in state.values.items():
            column = name.partition(":")[2]
            for row in rows:
                figures = dict(row)
                if (dtype := figures.pop(_KIND, None)) is not None:
                    figures |= {end: _text(figures[end], dtype) for end in ("min", "max")}
                found.setdefault(column, {}).update(figures)
        return found

    # -- fit ----------------------------------------------------------------------------------

    def needs_fit(self, inputs: Schema) -> bool:
        """Return true."""
        del inputs
        return True

    def statistics(self, frame: pl.LazyFrame, inputs: Schema, dialect: Dialect) -> Statistics:
        """Count each value, and each length of lists."""
        out: Statistics = {}
        for column in inputs:
            value = canonical(pl.col(column.name), column.dtype)
            out[f"values:{column.name}"] = _counted(
                values_of(frame, column, dialect).select(
                    without_nan(value, canonical_dtype(column.dtype)).alias("value")
                )
            )
            if column.is_list:
                lengths = dialect.lengths(frame, column.name)
                out[f"lengths:{column.name}"] = _counted(
                    lengths.select(pl.col(column.name).alias("value"))
                )
        return out

    def merge(self, left: Statistics, right: Statistics) -> Statistics:
        """Add up the counts."""
        return {
            name: pl.concat([left[name], right[name]]).group_by("value").agg(pl.col("count").sum())
            for name in left
        }

    def finalize(self, statistics: Statistics, inputs: Schema, dialect: Dialect) -> Finalized:
        """Make figures of the counts, and keep these."""
        values: Statistics = {}
        for column in inputs:
            name = f"values:{column.name}"
            values[name] = _figures(statistics[name], column)
            if column.is_list:
                name = f"lengths:{column.name}"
                known = pl.col("value").is_not_null()
                values[name] = statistics[name].select(
                    pl.col("count").filter(known).sum().alias("lists"),
                    pl.col("value").min().alias("min_length"),
                    pl.col("value").max().alias("max_length"),
                )
        tables = {name: counts.sort("value") for name, counts in statistics.items()}
        return Finalized(values, tables)

    def recall(self, state: State, inputs: Schema) -> Statistics:
        """Return the counts."""
        return {name: table.frame for name, table in state.tables.items()}

    def transform(
        self, frame: pl.LazyFrame, inputs: Schema, state: State, dialect: Dialect
    ) -> pl.LazyFrame:
        """Return the frame as it is."""
        return frame


_KIND = "data_type"
"""Names the data type of dates and times, whose extremes are kept as physical integers: cuDF
cannot make text of them."""


def _text(physical: JSONValue, dtype: str) -> str | None:
    if physical is None:
        return None
    moment = pl.Series([physical], dtype=pl.Int64).cast(dtype_from_name(dtype))
    # Polars makes no text of durations.
    return str(moment[0]) if moment.dtype == pl.Duration else cast(str, moment.cast(pl.String)[0])


def _counted(values: pl.LazyFrame) -> pl.LazyFrame:
    return values.group_by("value").agg(pl.len().cast(pl.Int64).alias("count"))


def _figures(counts: pl.LazyFrame, column: Column) -> pl.LazyFrame:
    known = pl.col("value").is_not_null()
    figures = [
        pl.col("count").sum().alias("values"),
        pl.col("count").filter(~known).sum().alias("nulls"),
        known.cast(pl.Int64).sum().alias("distinct"),
    ]
    if column.dtype.is_numeric():
        x, n = pl.col("value").cast(pl.Float64), pl.col("count").cast(pl.Float64)
        counts = counts.with_columns(
            pl.when(known).then(n).otherwise(0.0).alias("n"), x.fill_null(0.0).alias("x")
        )
        total = pl.col("n").sum()
        mean = pl.when(total > 0).then((pl.col("x") * pl.col("n")).sum() / total)
        counts = counts.with_columns(mean.alias("mean"))
        squares = ((pl.col("x") - pl.col("mean")).pow(2) * pl.col("n")).sum()
        figures += [
            pl.col("value").min().alias("min"),
            pl.col("value").max().alias("max"),
            pl.col("mean").max().alias("mean"),
            pl.when(total > 1).then((squares / (total - 1.0)).sqrt()).alias("std"),
        ]
    elif isinstance(column.dtype, pl.String):
        figures += [pl.col("value").min().alias("min"), pl.col("value").max().alias("max")]
    elif column.dtype.is_temporal():
        figures += [
            pl.col("value").min().cast(pl.Int64).alias("min"),
            pl.col("value").max().cast(pl.Int64).alias("max"),
            pl.lit(dtype_name(column.dtype)).alias(_KIND),
        ]
    return counts.select(figures)
