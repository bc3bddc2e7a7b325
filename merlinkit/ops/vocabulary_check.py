"""Checking a vocabulary that comes from disk, where anyone may have written it."""

from __future__ import annotations

from collections.abc import Sequence

import polars as pl

from merlinkit.errors import ArtifactError

__all__ = ["check_vocabulary"]

_MOST_IDS = 2**31 - 1
_LARGEST_SUM = float(2**63)


def check_vocabulary(
    table: pl.LazyFrame | pl.DataFrame,
    name: str,
    *,
    values: Sequence[str],
    reserved: int,
    cardinality: int,
    limit: int = 0,
) -> None:
    """Raise unless a table is a vocabulary: every id once, in order, for a value of its own.

    Parameters
    ----------
    table
        Columns ``id`` (Int64), the values and ``count`` (Int64), one row an id.
    name
        Name of the vocabulary, for messages.
    values
        Names of the columns of values; several for combinations.
    reserved
        Number of ids that stand for no value (padding, null, out of vocabulary). They come first,
        their values are null and their counts are not.
    cardinality
        Number of ids, so that the largest one is one less.
    limit
        Most ids there may be; 0 for any number.

    Raises
    ------
    ArtifactError
        If columns or their types are others; an id is null, twice, out of range or out of order; a
        reserved id has a value or another one has none; a value is NaN or has two ids; a count is
        negative, or their sum is beyond 64 bits.

    Examples
    --------
    >>> rows = {"id": [0, 1, 2, 3], "value": [None] * 3 + ["x"], "count": [0, 0, 0, 5]}
    >>> table = pl.DataFrame(rows)
    >>> check_vocabulary(table, "city", values=["value"], reserved=3, cardinality=4)
    >>> check_vocabulary(table, "city", values=["value"], reserved=2, cardinality=4)
    Traceback (most recent call last):
        ...
    merlinkit.errors.ArtifactError: the vocabulary of 'city' is damaged: id 2 has no value
    """
    where = f"the vocabulary of '{name}' is damaged"
    plan = table.lazy()
    found = dict(plan.collect_schema())
    expected = ["id", *values, "count"]
    if list(found) != expected:
        raise ArtifactError(
            f"{where}: its columns are {', '.join(found)}; {', '.join(expected)} expected"
        )
    for column in ("id", "count"):
        if found[column] != pl.Int64:
            raise ArtifactError(f"{where}: column '{column}' is {found[column]}, Int64 expected")
    if not reserved <= cardinality <= _MOST_IDS or (limit and cardinality > limit):
        most = min(limit or _MOST_IDS, _MOST_IDS)
        raise ArtifactError(
            f"{where}: it has {cardinality} ids, between {reserved} and {most} expected"
        )
    _check_rows(where, plan, values, reserved, cardinality)
    distinct = (
        plan.filter(pl.col("id") >= reserved)
        .group_by(values)
        .agg(pl.col("id").min(), pl.len().alias("ids"))
        .filter(pl.col("ids") > 1)
        .sort("id")
        .head(1)
        .collect(engine="streaming")
    )
    if distinct.height:
        row = distinct.row(0, named=True)
        shown = ", ".join(repr(row[value]) for value in values)
        raise ArtifactError(f"{where}: value {shown} has {row['ids']} ids, {row['id']} among them")


def _check_rows(
    where: str, plan: pl.LazyFrame, values: Sequence[str], reserved: int, cardinality: int
) -> None:
    """Raise for the first kind of problem that rows have alone."""
    schema = plan.collect_schema()
    given = [pl.col(name).is_not_null() for name in values]
    nan = [pl.col(name).is_nan() for name in values if schema[name].is_float()]
    is_reserved = pl.col("id") < reserved
    problems = {
        "an id is null": pl.col("id").is_null(),
        f"id {{}} is out of range, 0 to {cardinality - 1} expected": ~pl.col("id").is_between(
            0, cardinality - 1
        ),
        "id {} is there twice, or another one is missing before it": pl.col("id") != pl.col("row"),
        f"id {{}} is one of the {reserved} reserved ones, but has a value": is_reserved
        & pl.any_horizontal(given),
        "id {} has no value": ~is_reserved & ~pl.all_horizontal(given),
        "the value of id {} is NaN": pl.any_horizontal(nan) if nan else pl.lit(False),
        "reserved id {} has no count": is_reserved & pl.col("count").is_null(),
        "the count of id {} is negative": pl.col("count") < 0,
    }
    numbered = plan.with_row_index("row").with_columns(pl.col("row").cast(pl.Int64))
    first = numbered.select(
        pl.len().alias("rows"),
        pl.col("count").cast(pl.Float64).sum().alias("sum"),
        *(
            pl.col("id").filter(bad.fill_null(False)).first().alias(f"id_{index}")
            for index, bad in enumerate(problems.values())
        ),
        *(
            bad.fill_null(False).any().alias(f"bad_{index}")
            for index, bad in enumerate(problems.values())
        ),
    )
    found = first.collect(engine="streaming").row(0, named=True)
    for index, message in enumerate(problems):
        if found[f"bad_{index}"]:
            raise ArtifactError(f"{where}: {message.format(found[f'id_{index}'])}")
    if found["rows"] != cardinality:
        raise ArtifactError(f"{where}: it has {found['rows']} rows, {cardinality} expected")
    if found["sum"] >= _LARGEST_SUM:
        raise ArtifactError(f"{where}: its counts add up to more than 64 bits hold")
