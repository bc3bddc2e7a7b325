"""Worked examples of operators on whole lists."""

from __future__ import annotations

import polars as pl

from merlinkit import ops
from tests.ops.examples.example import Example

LISTS = pl.DataFrame({"l": [[1, 2, 3, 4], [5], [], None, [6, None]]})
ENGINE = "cudf-polars has no functions on lists; the engine moves their offsets"


def sliced(id: str, operator: ops.ListSlice, *expected: list[int | None] | None) -> Example:
    return Example(
        id, operator, ["l"], LISTS, {"l": expected}, {"l": pl.List(pl.Int64)}, engine_step=ENGINE
    )


EXAMPLES: tuple[Example, ...] = (
    sliced("list-slice-first", ops.ListSlice(2), [1, 2], [5], [], None, [6, None]),
    sliced("list-slice-last", ops.ListSlice(-2), [3, 4], [5], [], None, [6, None]),
    sliced("list-slice-middle", ops.ListSlice(1, 3), [2, 3], [], [], None, [None]),
    sliced("list-slice-to-the-end", ops.ListSlice(1, -1), [2, 3], [], [], None, []),
    sliced("list-slice-from-the-end", ops.ListSlice(-3, -1), [2, 3], [], [], None, [6]),
    sliced("list-slice-mixed", ops.ListSlice(-3, 2), [2], [5], [], None, [6, None]),
    sliced(
        "list-slice-padded",
        ops.ListSlice(3, pad=True, pad_value=-1),
        [1, 2, 3],
        [5, -1, -1],
        [-1, -1, -1],
        None,
        [6, None, -1],
    ),
    sliced(
        "list-slice-last-padded",
        ops.ListSlice(-2, pad=True),
        [3, 4],
        [5, 0],
        [0, 0],
        None,
        [6, None],
    ),
    Example(
        "value-count",
        ops.ValueCount(),
        ["l"],
        LISTS,
        {"l": LISTS["l"].to_list()},
        {"l": pl.List(pl.Int64)},
    ),
)

BAD_PARAMETERS: tuple[tuple[str, dict[str, object], str], ...] = (
    ("ListSlice", {}, "parameter 'start' is missing"),
    ("ListSlice", {"start": 0}, "which keeps nothing"),
    ("ListSlice", {"start": 3, "end": 3}, "is not behind start"),
    ("ListSlice", {"start": 1.5}, "a whole number expected"),
    ("ListSlice", {"start": 1, "end": -1, "pad": True}, "cannot be padded"),
    ("ListSlice", {"start": 2, "pad": "yes"}, "true or false expected"),
    ("ListSlice", {"start": 2, "pad_value": None}, "a number, string or boolean expected"),
)
