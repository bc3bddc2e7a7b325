"""One worked example, or more, for every operator: the table from which the proofs are made.

Every expected value was worked out by hand from the definition in the operator's docstring.
"""

from __future__ import annotations

import math
import struct
from datetime import date, datetime
from typing import Any

import polars as pl
import xxhash

from merlinkit import ops
from merlinkit.engine.dialect import HASH_SEED
from tests.ops.examples.example import Example

NAN = float("nan")
BUCKET_OF_8 = 2 + xxhash.xxh64_intdigest(struct.pack("<q", 8), HASH_SEED) % 4
BUCKET_OF_B_AND_8 = (
    2
    + (
        xxhash.xxh64_intdigest(b"b", HASH_SEED) * 0x9E3779B97F4A7C15
        + xxhash.xxh64_intdigest(struct.pack("<q", 8), HASH_SEED)
    )
    % 2**64
    % 4
)
BUCKET_OF_B = 2 + xxhash.xxh64_intdigest(b"b", HASH_SEED) % 4


CITY = pl.DataFrame(
    {
        # b 3 times; "" and ü twice, tie broken by bytes ("" < "ü"); a and ab once; 2 nulls.
        "city": ["b", "a", None, "b", "ü", "", "ü", "b", "", None, "ab"]
    }
)

EXAMPLES: tuple[Example, ...] = (
    Example(
        "categorify-strings",
        ops.Categorify(),
        ["city"],
        CITY,
        {"city": [3, 6, 1, 3, 5, 4, 5, 3, 4, 1, 7]},
        {"city": pl.Int64()},
        pl.DataFrame({"city": ["zz", None, "a", "B"]}),
        {"city": [2, 1, 6, 2]},
    ),
    Example(
        "categorify-frequency-threshold",
        ops.Categorify(freq_threshold=2, dtype="int32"),
        ["city"],
        CITY,
        {"city": [3, 2, 1, 3, 5, 4, 5, 3, 4, 1, 2]},
        {"city": pl.Int32()},
        pl.DataFrame({"city": ["a", "ab", "b"]}),
        {"city": [2, 2, 3]},
    ),
    Example(
        "categorify-max-size",
        ops.Categorify(max_size=5),  # pad, null, OOV and the two most frequent
        ["city"],
        CITY,
        {"city": [3, 2, 1, 3, 2, 4, 2, 3, 4, 1, 2]},
        {"city": pl.Int64()},
    ),
    Example(
        "categorify-integers-and-floats",
        ops.Categorify(),
        ["i", "f"],
        pl.DataFrame(
            {
                "i": [7, 7, -1, None, 9],
                "f": [1.5, NAN, -0.0, 0.0, None],  # both zeros are one value; NaN is null
            },
            schema={"i": pl.Int32, "f": pl.Float32},
        ),
        {"i": [3, 3, 4, 1, 5], "f": [4, 1, 3, 3, 1]},
        {"i": pl.Int64(), "f": pl.Int64()},
    ),
    Example(
        "categorify-lists",
        ops.Categorify(),
        ["tags"],
        pl.DataFrame({"tags": [["x", "y"], [], None, ["y", None], ["y"]]}),
        {"tags": [[4, 3], [], None, [3, 1], [3]]},
        {"tags": pl.List(pl.Int64)},
        pl.DataFrame({"tags": [["q", "x"], [None]]}),
        {"tags": [[2, 4], [1]]},
    ),
    Example(
        "categorify-vocabs",
        ops.Categorify(vocabs={"city": ["b", "zz", "a"]}),
        ["city"],
        CITY,
        {"city": [3, 5, 1, 3, 2, 2, 2, 3, 2, 1, 2]},
        {"city": pl.Int64()},
        pl.DataFrame({"city": ["zz"]}),
        {"city": [4]},
    ),
    Example(
        "categorify-vocabs-beside-a-threshold",
        ops.Categorify(vocabs={"given": ["x", "y"]}, freq_threshold=2),
        ["given", "learned"],
        pl.DataFrame({"given": ["y", "x", "z"], "learned": ["p", "p", "q"]}),
        {"given": [4, 3, 2], "learned": [3, 3, 2]},
        {"given": pl.Int64(), "learned": pl.Int64()},
    ),
    Example(
        "categorify-buckets",
        # XXH64 of the bytes with the seed of merlinkit, modulo 4, by the reference library:
        # see test_rare_values_reach_the_same_bucket in test_categorify.py.
        ops.Categorify(freq_threshold=2, num_buckets=4),
        ["i", "s"],
        pl.DataFrame({"i": [7, 7, 8, None], "s": ["a", "a", "b", None]}),
        {"i": [6, 6, BUCKET_OF_8, 1], "s": [6, 6, BUCKET_OF_B, 1]},
        {"i": pl.Int64(), "s": pl.Int64()},
    ),
    Example(
        "categorify-booleans-and-dates",
        ops.Categorify(),
        ["flag", "day"],
        pl.DataFrame(
            {
                "flag": [True, False, None, True],
                "day": [date(2026, 1, 2), date(2026, 1, 1), None, date(2026, 1, 3)],
            }
        ),
        {"flag": [3, 4, 1, 3], "day": [4, 3, 1, 5]},
        {"flag": pl.Int64(), "day": pl.Int64()},
    ),
    Example(
        "categorify-joint",
        # b 3 times over both columns, a twice, c and d once; nulls are counted together.
        ops.Categorify(),
        [["from", "to"], "other"],
        pl.DataFrame({"from": ["a", "b", None], "to": ["b", "b", "c"], "other": ["a", "d", "a"]}),
        {"from": [4, 3, 1], "to": [3, 3, 5], "other": [3, 4, 3]},
        {"from": pl.Int64(), "to": pl.Int64(), "other": pl.Int64()},
        pl.DataFrame({"from": ["c", "z"], "to": ["a", None], "other": ["b", "d"]}),
        {"from": [5, 2], "to": [4, 1], "other": [2, 4]},
    ),
    Example(
        "categorify-joint-lists-and-scalars",
        ops.Categorify(dtype="int32"),
        [["item", "history"]],
        pl.DataFrame({"item": [7, 8, None], "history": [[7, 9], None, [7, None]]}),
        {"item": [3, 4, 1], "history": [[3, 5], None, [3, 1]]},
        {"item": pl.Int32(), "history": pl.List(pl.Int32)},
    ),
    Example(
        "categorify-combo",
        # (a, 1) twice; then (a, 2) before (b, 1); a tuple with a null is null.
        ops.Categorify(encode_type="combo"),
        [["u", "n"], "u"],
        pl.DataFrame({"u": ["a", "a", "b", "a", None, "b"], "n": [1, 2, 1, 1, 1, None]}),
        {"u_n": [3, 4, 5, 3, 1, 1], "u": [3, 3, 4, 3, 1, 4]},
        {"u_n": pl.Int64(), "u": pl.Int64()},
        pl.DataFrame({"u": ["b", "b", "zz"], "n": [1, 2, None]}),
        {"u_n": [5, 2, 1], "u": [4, 4, 2]},
    ),
    Example(
        "categorify-combo-buckets",
        ops.Categorify(encode_type="combo", name_sep="*", freq_threshold=2, num_buckets=4),
        [["u", "n"]],
        pl.DataFrame({"u": ["a", "a", "b"], "n": [1, 1, 8]}),
        {"u*n": [6, 6, BUCKET_OF_B_AND_8]},
        {"u*n": pl.Int64()},
    ),
    Example(
        "fill-missing",
        ops.FillMissing(7, add_binary_cols=True),
        ["i", "f"],
        pl.DataFrame({"i": [1, None, 3], "f": [NAN, None, 2.5]}),
        {"i": [1, 7, 3], "i_filled": [0, 1, 0], "f": [7.0, 7.0, 2.5], "f_filled": [1, 1, 0]},
        {"i": pl.Int64(), "i_filled": pl.Int8(), "f": pl.Float64(), "f_filled": pl.Int8()},
    ),
    Example(
        "fill-missing-strings-and-lists",
        ops.FillMissing("?"),
        ["s", "l"],
        pl.DataFrame({"s": ["a", None, ""], "l": [["x", None], None, []]}),
        {"s": ["a", "?", ""], "l": [["x", "?"], None, []]},
        {"s": pl.String(), "l": pl.List(pl.String)},
    ),
    Example(
        "fill-missing-flags-of-lists",
        ops.FillMissing(0, add_binary_cols=True),
        ["l"],
        pl.DataFrame({"l": [[1, None], None, []]}, schema={"l": pl.List(pl.Int32)}),
        {"l": [[1, 0], None, []], "l_filled": [[0, 1], None, []]},
        {"l": pl.List(pl.Int32), "l_filled": pl.List(pl.Int8)},
    ),
    Example(
        "clip",
        ops.Clip(min_value=0, max_value=10),
        ["i", "f", "l"],
        pl.DataFrame(
            {"i": [-5, 5, None, 50], "f": [-0.5, NAN, None, 10.5], "l": [[-1, 99], [], None, [3]]}
        ),
        {"i": [0, 5, None, 10], "f": [0.0, NAN, None, 10.0], "l": [[0, 10], [], None, [3]]},
        {"i": pl.Int64(), "f": pl.Float64(), "l": pl.List(pl.Int64)},
    ),
    Example(
        "clip-bounds-outside-of-the-type",
        ops.Clip(min_value=-1, max_value=1_000),
        ["small", "big"],
        pl.DataFrame(
            {"small": [0, 255], "big": [0, 2**63]}, schema={"small": pl.UInt8, "big": pl.UInt64}
        ),
        {"small": [0, 255], "big": [0, 1000]},
        {"small": pl.UInt8(), "big": pl.UInt64()},
    ),
    Example(
        "log",
        ops.LogOp(),
        ["x", "l"],
        pl.DataFrame({"x": [0.0, math.e - 1, None, NAN], "l": [[0.0], [], None, [None]]}),
        {"x": [0.0, 1.0, None, None], "l": [[0.0], [], None, [None]]},
        {"x": pl.Float32(), "l": pl.List(pl.Float32)},
        pl.DataFrame(
            {"x": [-1.0, -2.0], "l": [[-1.0], [-3.0, 0.0]]},
        ),
        {"x": [None, None], "l": [[None], [None, 0.0]]},
    ),
    Example(
        "log-invalid-to-null",
        ops.LogOp(invalid="null"),
        ["x"],
        pl.DataFrame({"x": [-1, 0, -7, None]}),
        {"x": [None, 0.0, None, None]},
        {"x": pl.Float32()},
    ),
    Example(
        "normalize",  # mean 2, standard deviation 1
        ops.Normalize(),
        ["x", "i"],
        pl.DataFrame({"x": [1.0, 2.0, 3.0, None, NAN], "i": [1, 2, 3, None, None]}),
        {"x": [-1.0, 0.0, 1.0, None, None], "i": [-1.0, 0.0, 1.0, None, None]},
        {"x": pl.Float32(), "i": pl.Float32()},
        pl.DataFrame({"x": [12.0], "i": [0]}),
        {"x": [10.0], "i": [-2.0]},
    ),
    Example(
        "normalize-constant-and-empty",
        ops.Normalize(out_dtype="float64"),
        ["c", "one", "none"],
        pl.DataFrame(
            {"c": [5.0, 5.0], "one": [3, None], "none": [None, None]},
            schema={"c": pl.Float64, "one": pl.Int32, "none": pl.Float32},
        ),
        {"c": [0.0, 0.0], "one": [0.0, None], "none": [None, None]},
        {"c": pl.Float64(), "one": pl.Float64(), "none": pl.Float64()},
        pl.DataFrame(
            {"c": [7.0], "one": [1], "none": [4.0]},
            schema={"c": pl.Float64, "one": pl.Int32, "none": pl.Float32},
        ),
        {"c": [2.0], "one": [-2.0], "none": [4.0]},
    ),
    Example(
        "normalize-constants-that-round",  # 0.1 summed up 49 times is not 4.9
        ops.Normalize(out_dtype="float64"),
        ["a", "b"],
        pl.DataFrame({"a": [0.1] * 49, "b": [19.99] * 48 + [None]}),
        {"a": [0.0] * 49, "b": [0.0] * 48 + [None]},
        {"a": pl.Float64(), "b": pl.Float64()},
    ),
    Example(
        "normalize-lists",  # elements 1, 2, 3
        ops.Normalize(),
        ["l"],
        pl.DataFrame({"l": [[1.0, 3.0], [], None, [2.0, None]]}),
        {"l": [[-1.0, 1.0], [], None, [0.0, None]]},
        {"l": pl.List(pl.Float32)},
    ),
    Example(
        "bucketize",
        ops.Bucketize([0, 10, 100]),
        ["x", "l"],
        pl.DataFrame(
            {"x": [-1.0, 0.0, 9.9, 10.0, 1e9], "l": [[-1.0, 100.0], [], None, [None], [5.0]]}
        ),
        {"x": [0, 1, 1, 2, 3], "l": [[0, 3], [], None, [None], [1]]},
        {"x": pl.Int32(), "l": pl.List(pl.Int32)},
        pl.DataFrame(
            {"x": [None, NAN], "l": [[NAN], None]},
            schema={"x": pl.Float64, "l": pl.List(pl.Float64)},
        ),
        {"x": [None, None], "l": [[None], None]},
    ),
    Example(
        "bucketize-null-bucket",
        ops.Bucketize({"x": [1.5]}, null_bucket=True),
        ["x"],
        pl.DataFrame({"x": [1, 2, None]}),
        {"x": [0, 1, 2]},
        {"x": pl.Int32()},
    ),
    Example(
        "split",
        ops.Split("|"),
        ["g"],
        pl.DataFrame({"g": ["a|b", "c", "", None, "a||"]}),
        {"g": [["a", "b"], ["c"], [], None, ["a", "", ""]]},
        {"g": pl.List(pl.String)},
        engine_step="cudf-polars has no expression that makes a list; libcudf splits instead",
    ),
    Example(
        "datetime-parts",
        ops.DateTime(["hour", "weekday", "day", "month", "quarter", "year", "week", "day_of_year"]),
        ["t"],
        # 2024-02-29 was a Thursday in ISO week 9, the 60th day of its year.
        pl.DataFrame({"t": [datetime(2024, 2, 29, 23, 59, 1), None]}),
        {
            "t_hour": [23, None],
            "t_weekday": [3, None],
            "t_day": [29, None],
            "t_month": [2, None],
            "t_quarter": [1, None],
            "t_year": [2024, None],
            "t_week": [9, None],
            "t_day_of_year": [60, None],
        },
        {
            f"t_{part}": pl.Int32()
            for part in (
                "hour",
                "weekday",
                "day",
                "month",
                "quarter",
                "year",
                "week",
                "day_of_year",
            )
        },
    ),
    Example(
        "datetime-epoch-inferred",
        ops.DateTime(["year", "minute"]),
        ["s", "ms"],
        # 1,700,000,000 s is 2023-11-14 22:13:20 UTC.
        pl.DataFrame({"s": [1_700_000_000, None], "ms": [1_700_000_000_123, None]}),
        {
            "s_year": [2023, None],
            "s_minute": [13, None],
            "ms_year": [2023, None],
            "ms_minute": [13, None],
        },
        {name: pl.Int32() for name in ("s_year", "s_minute", "ms_year", "ms_minute")},
    ),
    Example(
        "datetime-epochs-of-narrow-types-and-floats",
        ops.DateTime(["year", "minute"], format="s"),
        ["i", "u", "f"],
        pl.DataFrame(
            {
                "i": [1_700_000_000, None, -1, 0, 0],
                "u": [1_700_000_000, None, 0, 0, 0],
                "f": [1_700_000_000.5, NAN, float("inf"), -float("inf"), 1e18],
            },
            schema={"i": pl.Int32, "u": pl.UInt32, "f": pl.Float64},
        ),
        {
            "i_year": [2023, None, 1969, 1970, 1970],
            "i_minute": [13, None, 59, 0, 0],
            "u_year": [2023, None, 1970, 1970, 1970],
            "u_minute": [13, None, 0, 0, 0],
            "f_year": [2023, None, None, None, None],
            "f_minute": [13, None, None, None, None],
        },
        {f"{name}_{part}": pl.Int32() for name in "iuf" for part in ("year", "minute")},
    ),
    Example(
        "datetime-strings-in-a-zone",
        ops.DateTime(["hour", "day"], timezone="Asia/Tokyo", format="%d.%m.%Y %H:%M"),
        ["t"],
        pl.DataFrame({"t": ["01.03.2026 20:30", None]}),  # nine hours later in Tokyo
        {"t_hour": [5, None], "t_day": [2, None]},
        {"t_hour": pl.Int32(), "t_day": pl.Int32()},
        pl.DataFrame({"t": ["not a date"]}),
        {"t_hour": [None], "t_day": [None]},
    ),
    Example(
        "datetime-cyclic",
        ops.DateTime(["hour"], cyclic=True),
        ["t"],
        pl.DataFrame({"t": [datetime(2026, 1, 1, 0), datetime(2026, 1, 1, 6), None]}),
        {"t_hour_sin": [0.0, 1.0, None], "t_hour_cos": [1.0, 0.0, None]},
        {"t_hour_sin": pl.Float32(), "t_hour_cos": pl.Float32()},
    ),
    Example(
        "datetime-dates",
        ops.DateTime(["weekday", "month"]),
        ["d"],
        pl.DataFrame({"d": [date(2026, 12, 1), None]}),  # a Tuesday
        {"d_weekday": [1, None], "d_month": [12, None]},
        {"d_weekday": pl.Int32(), "d_month": pl.Int32()},
    ),
    Example(
        "expression",
        ops.Expression("price * quantity", name="total"),
        ["price", "quantity"],
        pl.DataFrame({"price": [1.5, None, 2.0], "quantity": [2, 3, None]}),
        {"total": [3.0, None, None]},
        {"total": pl.Float64()},
    ),
    Example(
        "expression-of-nan",  # NaN is null, not larger than all numbers
        ops.Expression("rating >= 4", name="y", dtype="int8"),
        ["rating"],
        pl.DataFrame({"rating": [5.0, NAN, 1.0]}),
        {"y": [1, None, 0]},
        {"y": pl.Int8()},
    ),
    Example(
        "expression-strings",
        ops.Expression("UPPER(s) IN ('A', 'B') AND LENGTH(s) = 1", name="y"),
        ["s"],
        pl.DataFrame({"s": ["a", "B", "c", None]}),
        {"y": [True, True, False, None]},
        {"y": pl.Boolean()},
    ),
    Example(
        "expression-polars",
        ops.Expression(lambda: (pl.col("rating") >= 4) | pl.col("vip"), name="y", dtype="int8"),
        ["rating", "vip"],
        pl.DataFrame({"rating": [5, 3, None], "vip": [False, True, False]}),
        {"y": [1, 1, None]},
        {"y": pl.Int8()},
    ),
    Example(
        "filter",
        ops.Filter("price > 0 AND item <> 'x'"),
        ["price", "item"],
        pl.DataFrame({"price": [1, 0, None, 2], "item": ["a", "b", "c", "x"]}),
        {"price": [1], "item": ["a"]},
        {"price": pl.Int64(), "item": pl.String()},
    ),
    Example(
        "filter-nan",
        ops.Filter("price > 0 OR item = 'keep'"),
        ["price", "item"],
        pl.DataFrame({"price": [1.0, NAN, NAN], "item": ["a", "b", "keep"]}),
        {"price": [1.0, NAN], "item": ["a", "keep"]},
        {"price": pl.Float64(), "item": pl.String()},
    ),
    Example(
        "dropna",
        ops.Dropna(),
        ["x", "l"],
        pl.DataFrame({"x": [1.0, NAN, None, 4.0], "l": [[None], [1], [1], None]}),
        {"x": [1.0], "l": [[None]]},
        {"x": pl.Float64(), "l": pl.List(pl.Int64)},
    ),
    Example(
        "rename-swaps",
        ops.Rename(mapping={"a": "b", "b": "a"}),
        ["a", "b"],
        pl.DataFrame({"a": [1, None], "b": ["x", "y"]}),
        {"b": [1, None], "a": ["x", "y"]},
        {"b": pl.Int64(), "a": pl.String()},
    ),
    Example(
        "rename-function",
        ops.Rename(function=str.upper),
        ["a"],
        pl.DataFrame({"a": [1, None]}),
        {"A": [1, None]},
        {"A": pl.Int64()},
    ),
    *(
        Example(
            f"tags-{operator.name}",
            operator,
            ["x"],
            pl.DataFrame({"x": [1, None]}),
            {"x": [1, None]},
            {"x": pl.Int64()},
        )
        for operator in (
            ops.AddMetadata(tags=["t"], properties={"p": [1, "two"]}),
            ops.AddTags(["t", "u"]),
            ops.AddProperties({"p": None}),
            ops.TagAsUserID(),
            ops.TagAsItemID(),
            ops.TagAsUserFeatures(),
            ops.TagAsItemFeatures(),
        )
    ),
)

BAD_PARAMETERS: tuple[tuple[str, dict[str, Any], str], ...] = (
    ("AddMetadata", {}, "give tags, properties or both"),
    ("AddMetadata", {"properties": 3}, "a mapping of names to values expected"),
    ("AddProperties", {"properties": ["x"]}, "a mapping of names to values expected"),
    ("AddTags", {"tags": []}, "a string or a list of strings expected"),
    ("AddTags", {}, "parameter 'tags' is missing"),
    ("Bucketize", {"boundaries": [3, 1]}, "must increase, but 3 comes before 1"),
    ("Bucketize", {"boundaries": []}, "a list of numbers expected"),
    ("Bucketize", {"boundaries": {"x": [1, NAN]}}, "finite numbers expected"),
    ("Bucketize", {"boundaries": [1], "null_bucket": 1}, "true or false expected"),
    ("Categorify", {"freq_threshold": -1}, "at least 0 expected"),
    ("Categorify", {"freq_threshold": 1.5}, "a whole number expected"),
    ("Categorify", {"freq_threshold": 2, "max_size": 9}, "exclude each other"),
    ("Categorify", {"max_size": {"city": 3}}, "at least 4 is needed"),
    ("Categorify", {"num_buckets": 3_000_000_000}, "at most 10000000 expected"),
    ("Categorify", {"vocabs": {"city": {"a", "b"}}}, "a list of values without null"),
    ("Categorify", {"vocabs": {"city": 5}}, "a list of values without null"),
    ("Categorify", {"encode_type": "cross"}, "one of 'joint', 'combo' expected"),
    ("Categorify", {"name_sep": 3}, "a string expected"),
    ("Clip", {"max_value": 10**400}, "a finite number expected"),
    ("Bucketize", {"boundaries": [10**400]}, "finite numbers expected"),
    ("FillMissing", {"fill_val": float("inf")}, "a number, string or boolean expected"),
    ("DateTime", {"timezone": "localtime"}, "is unknown"),
    ("Categorify", {"num_buckets": 0}, "at least 1 expected"),
    ("Categorify", {"dtype": "int16"}, "one of 'int64', 'int32' expected"),
    ("Categorify", {"vocabs": {"city": ["a", "a"]}}, "hold 'a' more than once"),
    ("Categorify", {"vocabs": {"city": []}}, "a list of values without null"),
    ("Categorify", {"vocabs": {"a": ["x"]}, "max_size": {"a": 9}}, "both vocabs and a limit"),
    ("Categorify", {"vocabs": ["a"]}, "a mapping of column to values expected"),
    ("Categorify", {"freq_treshold": 2}, "Did you mean 'freq_threshold'?"),
    ("Clip", {}, "give min_value, max_value or both"),
    ("Clip", {"min_value": 2, "max_value": 1}, "min_value=2 is above max_value=1"),
    ("Clip", {"min_value": "2"}, "a finite number expected"),
    ("DateTime", {"parts": ["hours"]}, "Did you mean 'hour'?"),
    ("DateTime", {"parts": ["hour", "hour"]}, "name one twice"),
    ("DateTime", {"parts": ["year"], "cyclic": True}, "cannot be cyclic"),
    ("DateTime", {"timezone": "Mars/Olympus"}, "is unknown"),
    ("DateTime", {"format": "seconds"}, "one of 's', 'ms', 'us', 'ns' expected"),
    ("Dropna", {"columns": ["x"]}, "It takes none."),
    ("Expression", {"expr": "price *", "name": "x"}, "is not a SQL expression"),
    ("Expression", {"expr": pl.col("s").str.join("-"), "name": "x"}, "uses ConcatVertical"),
    ("Expression", {"expr": pl.col("x").bitwise_and(), "name": "x"}, "uses Bitwise"),
    ("Expression", {"expr": pl.col("s").str.to_date(), "name": "x"}, "without a format"),
    ("Expression", {"expr": pl.col("s").str.split("|"), "name": "x"}, "uses Split"),
    ("Expression", {"expr": pl.lit(pl.Series([1, 2])), "name": "x"}, "a series of values"),
    ("Expression", {"expr": "price", "name": ""}, "a non-empty string expected"),
    ("Expression", {"expr": "AVG(price)", "name": "x"}, "looks at other rows"),
    ("Expression", {"expr": "price", "name": "x", "dtype": "int99"}, "unknown data type"),
    ("FillMissing", {"fill_val": None}, "a number, string or boolean expected"),
    ("FillMissing", {"fill_val": NAN}, "a number, string or boolean expected"),
    ("FillMissing", {"add_binary_cols": "yes"}, "true or false expected"),
    ("Filter", {"predicate": 3}, "a SQL expression or a polars.Expr expected"),
    ("Filter", {"predicate": "COUNT(*) > 3"}, "looks at other rows"),
    ("LogOp", {"invalid": "drop"}, "one of 'error', 'null' expected"),
    ("Normalize", {"out_dtype": "int32"}, "'float32' or 'float64' expected"),
    ("Normalize", {"out_dtype": "flot32"}, "unknown data type"),
    ("Rename", {}, "give exactly one"),
    ("Rename", {"name": "a", "postfix": "b"}, "give exactly one"),
    ("Rename", {"mapping": {"a": 3}}, "a mapping of old to new names expected"),
    ("Split", {"separator": ""}, "a non-empty string expected"),
    ("TagAsItemFeatures", {"tags": "x"}, "It takes none."),
    ("TagAsItemID", {"tags": "x"}, "It takes none."),
    ("TagAsUserFeatures", {"tags": "x"}, "It takes none."),
    ("TagAsUserID", {"tags": "x"}, "It takes none."),
)
