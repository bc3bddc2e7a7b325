"""The three scans that a profile of a part is made of."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import polars as pl
import polars.selectors as cs

from merlinkit.engine.base import LocalEngine
from merlinkit.engine.dialect import Dialect
from merlinkit.errors import SchemaError, did_you_mean
from merlinkit.report.measures import Kind, kind_of, measures, sampled, simplified
from merlinkit.schema import Schema

__all__ = [
    "PlainColumn",
    "Source",
    "count_distinct",
    "first_scan",
    "plain_columns",
    "sources_of",
    "stride",
    "take_samples",
]


@dataclass(frozen=True)
class PlainColumn:
    """A column under a name that is safe in expressions (``^a$`` and ``*`` are not)."""

    name: str
    alias: str
    dtype: pl.DataType

    @property
    def inner(self) -> pl.DataType | None:
        """Data type of the elements of a list column, None for others."""
        if not isinstance(self.dtype, pl.List):
            return None
        inner = self.dtype.inner
        return inner() if isinstance(inner, type) else inner


@dataclass(frozen=True)
class Source:
    """The values of a column: the rows of a plan, or the elements of its lists.

    Parameters
    ----------
    alias
        Name of the column in the plan.
    kind
        What the values are.
    plan
        Gives the values, simplified.
    measured
        The row that the first scan gave of them.
    """

    alias: str
    kind: Kind
    plan: pl.LazyFrame
    measured: pl.DataFrame

    @property
    def rows(self) -> int:
        """Number of values, nulls among them."""
        return int(self.measured["rows"].item())

    @property
    def estimate(self) -> int | None:
        """Estimated number of distinct values; None where the kind has none."""
        name = f"{self.alias}:distinct"
        return int(self.measured[name].item()) if name in self.measured.columns else None


def plain_columns(frame: pl.LazyFrame, schema: Schema) -> tuple[pl.LazyFrame, list[PlainColumn]]:
    """Return the columns of a schema alone, under plain names.

    Raises
    ------
    SchemaError
        If the frame lacks one.
    """
    found = frame.collect_schema()
    missing = [name for name in schema.names if name not in found]
    if missing:
        listed = ", ".join(f"'{name}'.{did_you_mean(name, found.names())}" for name in missing[:5])
        raise SchemaError(f"cannot profile columns that the data does not have: {listed}")
    columns = [
        PlainColumn(name, f"c{index}", found[name]) for index, name in enumerate(schema.names)
    ]
    plain = frame.select(cs.by_name(*(column.name for column in columns)))
    return plain.rename({column.name: column.alias for column in columns}), columns


def _scalars(plain: pl.LazyFrame, columns: Sequence[PlainColumn]) -> pl.LazyFrame:
    return plain.with_columns(
        simplified(column.alias, column.dtype) for column in columns if column.inner is None
    )


def _elements(plain: pl.LazyFrame, alias: str, inner: pl.DataType, on: Dialect) -> pl.LazyFrame:
    return on.elements(plain, alias).select(simplified(alias, inner))


def first_scan(
    plain: pl.LazyFrame, columns: Sequence[PlainColumn], dialect: Dialect
) -> list[pl.LazyFrame]:
    """Return one plan for the rows, then one for the elements of each list column."""
    wanted = [pl.len().alias("rows")]
    plans = []
    for column in columns:
        alias, inner = column.alias, column.inner
        if inner is None:
            wanted.extend(measures(alias, kind_of(column.dtype)))
            continue
        length = pl.col(alias).list.len()
        wanted.extend(
            [
                pl.col(alias).null_count().alias(f"{alias}:nulls"),
                length.min().alias(f"{alias}:shortest"),
                length.mean().alias(f"{alias}:length"),
                length.max().alias(f"{alias}:longest"),
            ]
        )
        elements = _elements(plain, alias, inner, dialect)
        plans.append(elements.select(pl.len().alias("rows"), *measures(alias, kind_of(inner))))
    return [_scalars(plain, columns).select(wanted), *plans]


def sources_of(
    plain: pl.LazyFrame,
    columns: Sequence[PlainColumn],
    dialect: Dialect,
    results: Sequence[pl.DataFrame],
) -> dict[str, Source]:
    """Return the values of each column by alias, from the results of `first_scan`."""
    outer, *per_list = results
    scalars = _scalars(plain, columns)
    own: dict[str, list[str]] = {}
    for name in outer.columns:
        own.setdefault(name.partition(":")[0], []).append(name)
    left = iter(per_list)
    found = {}
    for column in columns:
        alias, inner = column.alias, column.inner
        if inner is None:
            measured = outer.select("rows", *own[alias])
            found[alias] = Source(alias, kind_of(column.dtype), scalars, measured)
        else:
            elements = _elements(plain, alias, inner, dialect)
            found[alias] = Source(alias, kind_of(inner), elements, next(left))
    return found


def stride(rows: int, kept: int) -> int:
    """Return n such that every n-th of some rows are at most so many."""
    return max(1, math.ceil(rows / kept))


def _grouped(sources: Sequence[Source]) -> list[list[Source]]:
    """Put sources of one plan together, so that one query serves them."""
    groups: dict[int, list[Source]] = {}
    for source in sources:
        groups.setdefault(id(source.plan), []).append(source)
    return list(groups.values())


def count_distinct(sources: Sequence[Source], engine: LocalEngine, budget: int) -> dict[str, int]:
    """Return exact numbers of distinct values by alias, for as many columns as fit.

    Parameters
    ----------
    sources
        The columns.
    engine
        Where to count.
    budget
        Distinct values of all columns together that memory may hold. The columns with the
        fewest, by the estimate of the first scan, come first.
    """
    small = []
    for source in sorted(sources, key=lambda source: source.estimate or 0):
        if source.estimate is not None and source.estimate <= budget:
            small.append(source)
            budget -= source.estimate
    plans = [
        group[0].plan.select(pl.col(source.alias).n_unique() for source in group)
        for group in _grouped(small)
    ]
    return {
        name: int(value)
        for frame in engine.collect(plans)
        for name, value in frame.row(0, named=True).items()
    }


def take_samples(sources: Sequence[Source], engine: LocalEngine, kept: int) -> dict[str, pl.Series]:
    """Return every n-th value by alias, at most `kept` of a column."""
    plans = [
        group[0]
        .plan.select(sampled(source.alias, source.kind) for source in group)
        .gather_every(stride(group[0].rows, kept))
        for group in _grouped([source for source in sources if source.kind is not Kind.OTHER])
    ]
    return {series.name: series for frame in engine.collect(plans) for series in frame}
