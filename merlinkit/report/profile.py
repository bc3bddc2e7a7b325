"""What raw data looks like: one entry a column and part, computed in bounded memory.

Three scans of each part are enough, whatever its size:

1. counts, extremes, moments, list lengths and estimated numbers of distinct values;
2. exact numbers of distinct values, for the columns where the estimate says they fit in memory;
3. every n-th row, for histograms and most frequent values.

The result holds JSON values only, so it can be written as it is.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import polars as pl

from merlinkit.dtypes import dtype_name
from merlinkit.engine.base import LocalEngine
from merlinkit.engine.dialect import Dialect
from merlinkit.errors import ParameterError
from merlinkit.report.measures import column_summary
from merlinkit.report.scans import (
    PlainColumn,
    Source,
    count_distinct,
    first_scan,
    plain_columns,
    sources_of,
    stride,
    take_samples,
)
from merlinkit.schema import Schema

__all__ = ["EXACT_DISTINCT_VALUES", "SAMPLE_CELLS", "SAMPLE_ROWS", "build_profile", "profile_plans"]

SAMPLE_ROWS = 200_000
"""Rows of a part that histograms and most frequent values are taken from."""

SAMPLE_CELLS = 8_000_000
"""Most values held at once by a sample; wide data is sampled more thinly."""

EXACT_DISTINCT_VALUES = 2_000_000
"""Distinct values of all columns of a part that are counted exactly, smallest columns first."""

JSONValue = Any


def profile_plans(frame: pl.LazyFrame, schema: Schema, dialect: Dialect) -> list[pl.LazyFrame]:
    """Return the plans of the first scan, each of which gives one row.

    Parameters
    ----------
    frame
        The data.
    schema
        The columns to look at; the frame may have others.
    dialect
        How the engine that will run the plans takes elements out of lists.

    Returns
    -------
    list of LazyFrame
        First the measures of all columns and the number of rows, then one plan for the elements
        of each list column. Columns are named by their place in the schema, ``c0:nulls``.

    Raises
    ------
    SchemaError
        If the frame lacks a column of the schema.

    Examples
    --------
    >>> import polars as pl
    >>> from merlinkit.engine.cpu import CpuEngine
    >>> frame = pl.LazyFrame({"price": [1.0, None, 4.0]})
    >>> engine = CpuEngine()
    >>> plans = profile_plans(frame, Schema.from_polars(frame.collect_schema()), engine.dialect)
    >>> row = engine.collect(plans)[0].row(0, named=True)
    >>> row["rows"], row["c0:nulls"], row["c0:max"]
    (3, 1, 4.0)
    """
    plain, columns = plain_columns(frame, schema)
    return first_scan(plain, columns, dialect)


def build_profile(
    parts: Mapping[str, pl.LazyFrame],
    schema: Schema,
    engine: LocalEngine,
    sample_rows: int = SAMPLE_ROWS,
) -> dict[str, JSONValue]:
    """Describe the columns of every part of a data set.

    Parameters
    ----------
    parts
        Plans of the parts by name, such as ``train``, ``valid`` and ``test``.
    schema
        The columns to look at; the plans may have others.
    engine
        Where the plans run.
    sample_rows
        Rows of a part that histograms and most frequent values are taken from: every n-th row,
        so that the whole range of a file that is ordered by time is seen. Wide data gives fewer.

    Returns
    -------
    dict
        ``parts`` (rows by part), ``sample`` (by part: rows taken, one in how many) and
        ``columns``, a list of mappings with ``name``, ``dtype``, ``part``, ``rows``, ``nulls``,
        ``nans``, ``infinite``, ``distinct``, ``distinct_exact``, ``min``, ``max``, ``mean``,
        ``std`` (ddof 1), ``list_length``, ``top``, ``histogram``, ``sampled`` (whether the last
        two are of a sample) and ``sampled_values`` (how many values they are of). What has no
        meaning for a column is null.

    Raises
    ------
    SchemaError
        If a plan lacks a column of the schema.
    ParameterError
        If `sample_rows` is below 1.

    Notes
    -----
    NaN and infinite values are counted apart and left out of extremes, moments and histograms,
    as nulls are; null and NaN are no distinct values. Values of a list column are those of its
    elements, its nulls are null lists. Durations are in seconds. Dates and times are ISO
    strings; their histogram has ISO strings as edges. Distinct values are counted exactly where
    they fit `EXACT_DISTINCT_VALUES`, else estimated (HyperLogLog, mostly within 10 percent).

    Examples
    --------
    >>> import polars as pl
    >>> from merlinkit.engine.cpu import CpuEngine
    >>> frame = pl.LazyFrame({"genre": ["Drama", "Drama", None]})
    >>> schema = Schema.from_polars(frame.collect_schema())
    >>> entry = build_profile({"train": frame}, schema, CpuEngine())["columns"][0]
    >>> entry["nulls"], entry["distinct"], entry["top"]
    (1, 1, [['Drama', 2]])
    """
    if sample_rows < 1:
        raise ParameterError(f"sample_rows is {sample_rows}; at least 1 is needed")
    kept = min(sample_rows, max(1_000, SAMPLE_CELLS // max(1, len(schema))))
    profile: dict[str, JSONValue] = {"parts": {}, "sample": {}, "columns": []}
    for part, frame in parts.items():
        plain, columns = plain_columns(frame, schema)
        results = engine.collect(first_scan(plain, columns, engine.dialect))
        sources = sources_of(plain, columns, engine.dialect, results)
        exact = count_distinct(list(sources.values()), engine, EXACT_DISTINCT_VALUES)
        samples = take_samples(list(sources.values()), engine, kept)
        rows = int(results[0]["rows"].item())
        every = stride(rows, kept)
        profile["parts"][part] = rows
        profile["sample"][part] = {"rows": math.ceil(rows / every), "every": every}
        for column in columns:
            source = sources[column.alias]
            summary = column_summary(
                column.alias,
                source.kind,
                source.measured,
                exact.get(column.alias),
                samples.get(column.alias),
            )
            entry = _entry(column, source, summary, results[0], kept)
            profile["columns"].append({**entry, "part": part})
    return profile


def _entry(
    column: PlainColumn,
    source: Source,
    summary: Mapping[str, JSONValue],
    outer: pl.DataFrame,
    kept: int,
) -> dict[str, JSONValue]:
    entry = {
        "name": column.name,
        "dtype": dtype_name(column.dtype),
        "rows": int(outer["rows"].item()),
        **summary,
        "list_length": None,
        "sampled": source.rows > kept,
    }
    if column.inner is not None:
        found = outer.row(0, named=True)
        entry["nulls"] = found[f"{column.alias}:nulls"]
        entry["list_length"] = {
            "min": found[f"{column.alias}:shortest"],
            "mean": found[f"{column.alias}:length"],
            "max": found[f"{column.alias}:longest"],
        }
    return entry
