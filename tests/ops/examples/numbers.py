"""Worked examples of operators that scale, fill or narrow numbers."""

from __future__ import annotations

from datetime import date

import polars as pl

from merlinkit import ops
from tests.ops.examples.example import Example

NAN = float("nan")

EXAMPLES: tuple[Example, ...] = (
    Example(
        "min-max",
        ops.NormalizeMinMax(),
        ["x", "i", "c", "l"],
        pl.DataFrame(
            {
                "x": [0.0, 5.0, 10.0, None, NAN],
                "i": [-1, 0, 1, None, None],
                "c": [7, 7, None, 7, 7],
                "l": [[2.0, 6.0], [], None, [None], [4.0]],
            }
        ),
        {
            "x": [0.0, 0.5, 1.0, None, None],
            "i": [0.0, 0.5, 1.0, None, None],
            "c": [0.0, 0.0, None, 0.0, 0.0],
            "l": [[0.0, 1.0], [], None, [None], [0.5]],
        },
        {"x": pl.Float32(), "i": pl.Float32(), "c": pl.Float32(), "l": pl.List(pl.Float32)},
        pl.DataFrame({"x": [-5.0, 99.0], "i": [9, -9], "c": [8, 6], "l": [[0.0], [10.0]]}),
        {"x": [0.0, 1.0], "i": [1.0, 0.0], "c": [0.0, 0.0], "l": [[0.0], [1.0]]},
    ),
    Example(
        "min-max-without-clipping",
        ops.NormalizeMinMax(clip=False, out_dtype="float64"),
        ["x"],
        pl.DataFrame({"x": [10, 20]}),
        {"x": [0.0, 1.0]},
        {"x": pl.Float64()},
        pl.DataFrame({"x": [30, 0]}),
        {"x": [2.0, -1.0]},
    ),
    Example(
        "fill-median",
        ops.FillMedian(add_binary_cols=True),
        ["odd", "even", "f", "none"],
        pl.DataFrame(
            {
                "odd": [9, None, 1, 4, None, None],  # 1, 4, 9
                "even": [1, 2, 5, 9, None, None],  # (2 + 5) / 2, rounded down
                "f": [1.0, 2.0, 2.0, 100.0, NAN, None],
                "none": [None] * 6,
            },
            schema_overrides={"none": pl.Float32},
        ),
        {
            "odd": [9, 4, 1, 4, 4, 4],
            "odd_filled": [0, 1, 0, 0, 1, 1],
            "even": [1, 2, 5, 9, 3, 3],
            "even_filled": [0, 0, 0, 0, 1, 1],
            "f": [1.0, 2.0, 2.0, 100.0, 2.0, 2.0],
            "f_filled": [0, 0, 0, 0, 1, 1],
            "none": [0.0] * 6,
            "none_filled": [1] * 6,
        },
        {
            "odd": pl.Int64(),
            "odd_filled": pl.Int8(),
            "even": pl.Int64(),
            "even_filled": pl.Int8(),
            "f": pl.Float64(),
            "f_filled": pl.Int8(),
            "none": pl.Float32(),
            "none_filled": pl.Int8(),
        },
    ),
    Example(
        "reduce-dtype-size",
        ops.ReduceDtypeSize(),
        ["a", "b", "c", "d", "u", "f", "none"],
        pl.DataFrame(
            {
                "a": [-128, 127, None],
                "b": [128, 0, 0],
                "c": [32_768, 0, None],
                "d": [2**31, 0, 0],
                "u": [2**63, 0, None],
                "f": [0.5, None, NAN],
                "none": [None, None, None],
            },
            schema_overrides={"u": pl.UInt64, "none": pl.Int64},
        ),
        {
            "a": [-128, 127, None],
            "b": [128, 0, 0],
            "c": [32_768, 0, None],
            "d": [2**31, 0, 0],
            "u": [2**63, 0, None],
            "f": [0.5, None, NAN],
            "none": [None, None, None],
        },
        {
            "a": pl.Int8(),
            "b": pl.Int16(),
            "c": pl.Int32(),
            "d": pl.Int64(),
            "u": pl.UInt64(),
            "f": pl.Float32(),
            "none": pl.Int64(),
        },
    ),
    Example(
        "data-stats",
        ops.DataStats(),
        ["x", "s", "l", "day"],
        pl.DataFrame(
            {
                "x": [1.0, NAN, 3.0],
                "s": ["a", None, "a"],
                "l": [[1, 2], None, []],
                "day": [date(2026, 1, 1), None, None],
            }
        ),
        {
            "x": [1.0, NAN, 3.0],
            "s": ["a", None, "a"],
            "l": [[1, 2], None, []],
            "day": [date(2026, 1, 1), None, None],
        },
        {"x": pl.Float64(), "s": pl.String(), "l": pl.List(pl.Int64), "day": pl.Date()},
    ),
    Example(
        "drop-low-cardinality-without-domains",
        ops.DropLowCardinality(3),
        ["x", "y"],
        pl.DataFrame({"x": [1, None], "y": ["a", "a"]}),
        {"x": [1, None], "y": ["a", "a"]},
        {"x": pl.Int64(), "y": pl.String()},
    ),
)

BAD_PARAMETERS: tuple[tuple[str, dict[str, object], str], ...] = (
    ("NormalizeMinMax", {"clip": "no"}, "true or false expected"),
    ("NormalizeMinMax", {"out_dtype": "int8"}, "one of 'float32', 'float64' expected"),
    ("FillMedian", {"add_binary_cols": 1}, "true or false expected"),
    ("ReduceDtypeSize", {"float_dtype": "float16"}, "one of 'float32', 'float64' expected"),
    ("DropLowCardinality", {"min_cardinality": 0}, "at least 1 expected"),
)
