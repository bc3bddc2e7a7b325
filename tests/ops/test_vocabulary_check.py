"""What a vocabulary from disk is refused for."""

from __future__ import annotations

import math
from typing import Any

import polars as pl
import pytest

from merlinkit.errors import ArtifactError
from merlinkit.ops.vocabulary_check import check_vocabulary

SCHEMA = {"id": pl.Int64, "value": pl.String, "count": pl.Int64}
GOOD = [(0, None, 0), (1, None, 2), (2, None, 0), (3, "b", 5), (4, "a", None)]


def check(rows: list[tuple[Any, ...]], schema: Any = None, **options: Any) -> None:
    frame = pl.DataFrame(rows, schema=schema or SCHEMA, orient="row")
    given = {"values": ["value"], "reserved": 3, "cardinality": len(rows), **options}
    check_vocabulary(frame.lazy(), "city", **given)
    check_vocabulary(frame, "city", **given)


def test_a_vocabulary_is_accepted_with_or_without_counts() -> None:
    check(GOOD)
    check(GOOD[:3])
    check(GOOD, limit=5)


@pytest.mark.parametrize(
    ("row", "changed", "message"),
    [
        (4, (9, "a", 1), "id 9 is out of range, 0 to 4 expected"),
        (4, (-1, "a", 1), "id -1 is out of range"),
        (4, (2**62, "a", 1), "id 4611686018427387904 is out of range"),
        (4, (None, "a", 1), "an id is null"),
        (4, (3, "a", 1), "id 3 is there twice, or another one is missing"),
        (4, (1, "a", 1), "id 1 is there twice, or another one is missing"),
        (4, (4, "b", 1), "value 'b' has 2 ids, 3 among them"),
        (4, (4, None, 1), "id 4 has no value"),
        (2, (2, "z", 1), "id 2 is one of the 3 reserved ones, but has a value"),
        (2, (2, None, None), "reserved id 2 has no count"),
        (3, (3, "b", -5), "the count of id 3 is negative"),
        (3, (3, "b", 2**63 - 1), "counts add up to more than 64 bits"),
    ],
)
def test_a_crafted_row_is_refused(row: int, changed: tuple[Any, ...], message: str) -> None:
    rows: list[tuple[Any, ...]] = [*GOOD[:row], changed, *GOOD[row + 1 :]]
    if "64 bits" in message:
        rows[1] = (1, None, 2**62)
    with pytest.raises(ArtifactError, match=rf"^the vocabulary of 'city' is damaged: .*{message}"):
        check(rows)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"cardinality": 7}, "it has 5 rows, 7 expected"),
        ({"cardinality": 2}, "it has 2 ids, between 3 and"),
        ({"cardinality": 2**31}, "it has 2147483648 ids, between 3 and 2147483647"),
        ({"limit": 4}, "it has 5 ids, between 3 and 4"),
        ({"reserved": 4}, "id 3 is one of the 4 reserved ones, but has a value"),
        ({"values": ["value_0", "value_1"]}, "columns are id, value, count; id, value_0, value_1"),
        ({"schema": {**SCHEMA, "id": pl.Int32}}, "column 'id' is Int32, Int64 expected"),
        ({"schema": {**SCHEMA, "count": pl.Float64}}, "column 'count' is Float64"),
    ],
)
def test_a_table_of_another_shape_is_refused(options: dict[str, Any], message: str) -> None:
    with pytest.raises(ArtifactError, match=message):
        check(GOOD, **options)


def test_nan_is_no_value() -> None:
    rows = [(0, None, 0), (1, None, 0), (2, None, 0), (3, math.nan, 1)]
    with pytest.raises(ArtifactError, match="the value of id 3 is NaN"):
        check(rows, {**SCHEMA, "value": pl.Float64})


def test_combinations_are_checked_as_a_whole() -> None:
    schema = {"id": pl.Int64, "value_0": pl.String, "value_1": pl.Int64, "count": pl.Int64}
    head = [(index, None, None, 0) for index in range(3)]
    options = {"schema": schema, "values": ["value_0", "value_1"]}
    check([*head, (3, "a", 1, 1), (4, "a", 2, 1)], **options)
    with pytest.raises(ArtifactError, match="value 'a', 1 has 2 ids, 3 among them"):
        check([*head, (3, "a", 1, 1), (4, "a", 1, 1)], **options)
    with pytest.raises(ArtifactError, match="id 3 has no value"):
        check([*head, (3, "a", None, 1)], **options)
