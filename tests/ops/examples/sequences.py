"""Worked examples of operators on rows that belong together."""

from __future__ import annotations

import struct
from datetime import date, datetime

import polars as pl
import xxhash

from merlinkit import ops
from merlinkit.engine.dialect import HASH_SEED
from tests.ops.examples.example import Example

NAN = float("nan")

EVENTS = pl.DataFrame(
    {
        # In time order, u has items a, b, c, d and v has x, y; one row has no user.
        "user": ["u", "v", "u", "u", "v", "u", None],
        "ts": [30, 5, 10, 20, 7, 40, 1],
        "item": ["c", "x", "a", "b", "y", "d", "q"],
        "price": [3.0, 9.0, 1.0, NAN, None, 4.5, 2.0],
    }
)


def hashed_integer(value: int) -> int:
    return xxhash.xxh64_intdigest(struct.pack("<q", value), HASH_SEED)


def session(user: str, start: int, part: int = 0) -> int:
    """Return the id of a session by the reference implementation of the hash."""
    combined = 0
    for member in (
        xxhash.xxh64_intdigest(user.encode(), HASH_SEED),
        hashed_integer(start),
        hashed_integer(part),
    ):
        combined = (combined * 0x9E3779B97F4A7C15 + member) % 2**64
    return combined // 2


EXAMPLES: tuple[Example, ...] = (
    Example(
        "lag",
        ops.Lag("user", "ts", shift=[1, -1]),
        ["item"],
        EVENTS,
        {
            "item_lag_1": ["b", None, None, "a", "x", "c", None],
            "item_lag_-1": ["d", "y", "b", "c", None, None, None],
        },
        {"item_lag_1": pl.String(), "item_lag_-1": pl.String()},
    ),
    Example(
        "lag-ties-by-value",  # both rows of u at time 1: a comes before b
        ops.Lag(["user"], ["ts"]),
        ["item"],
        pl.DataFrame({"user": ["u", "u", "u"], "ts": [1, 1, 2], "item": ["b", "a", "c"]}),
        {"item_lag_1": ["a", None, "b"]},
        {"item_lag_1": pl.String()},
    ),
    Example(
        "difference-lag",
        ops.DifferenceLag("user", "ts", shift=[1, 2]),
        ["ts", "price"],
        EVENTS,
        {
            "ts_difference_lag_1": [10.0, None, None, 10.0, 2.0, 10.0, None],
            "ts_difference_lag_2": [20.0, None, None, None, None, 20.0, None],
            "price_difference_lag_1": [None, None, None, None, None, 1.5, None],
            "price_difference_lag_2": [2.0, None, None, None, None, None, None],
        },
        {
            f"{name}_difference_lag_{shift}": pl.Float32()
            for name in ("ts", "price")
            for shift in (1, 2)
        },
    ),
    Example(
        "difference-lag-of-times",
        ops.DifferenceLag(["user", "kind"], "when"),
        ["when", "day", "big"],
        pl.DataFrame(
            {
                "user": [1, 1, 1, None],
                "kind": ["k", "k", None, "k"],
                "when": [
                    datetime(2026, 1, 2),
                    datetime(2026, 1, 1, 12),
                    datetime(2026, 1, 1),
                    None,
                ],
                "day": [date(2026, 1, 2), date(2026, 1, 1), None, None],
                # The difference is exact although Float32 holds neither value.
                "big": [1_700_000_001, 1_700_000_000, 0, None],
            }
        ),
        {
            "when_difference_lag_1": [43_200.0, None, None, None],
            "day_difference_lag_1": [86_400.0, None, None, None],
            "big_difference_lag_1": [1.0, None, None, None],
        },
        {f"{name}_difference_lag_1": pl.Float32() for name in ("when", "day", "big")},
    ),
    Example(
        "sessionize",
        ops.Sessionize("user", "ts", gap=10),
        ["user", "ts"],
        pl.DataFrame(
            {
                "user": ["u", "u", "v", "u", None, "u", "v"],
                "ts": [10, 0, 5, 21, 3, None, 500],
            }
        ),
        {
            "user": ["u", "u", "v", "u", None, "u", "v"],
            "ts": [10, 0, 5, 21, 3, None, 500],
            "session_id": [
                session("u", 0),
                session("u", 0),
                session("v", 5),
                session("u", 21),
                None,
                None,
                session("v", 500),
            ],
            "session_position": [1, 0, 0, 0, None, None, 0],
        },
        {
            "user": pl.String(),
            "ts": pl.Int64(),
            "session_id": pl.Int64(),
            "session_position": pl.Int32(),
        },
    ),
    Example(
        "sessionize-max-length",
        ops.Sessionize("user", "when", gap=3600, max_length=2),
        ["item"],
        pl.DataFrame(
            {
                "user": ["u"] * 4,
                "when": [datetime(1970, 1, 1, 0, minute) for minute in (2, 0, 1, 1)],
                "item": [1, 2, 4, 3],  # the two at minute 1 are ordered by item: 3 before 4
            }
        ),
        {
            "item": [1, 2, 4, 3],
            "session_id": [
                session("u", 0, 1),
                session("u", 0),
                session("u", 0, 1),
                session("u", 0),
            ],
            "session_position": [1, 0, 0, 1],
        },
        {"item": pl.Int64(), "session_id": pl.Int64(), "session_position": pl.Int32()},
    ),
    Example(
        "groupby-lists",
        ops.Groupby("user", {"item": ["list", "first", "last"], "ts": ["list"]}, "ts"),
        ["user", "item", "ts"],
        EVENTS,
        {
            "user": [None, "u", "v"],
            "item_list": [["q"], ["a", "b", "c", "d"], ["x", "y"]],
            "item_first": ["q", "a", "x"],
            "item_last": ["q", "d", "y"],
            "ts_list": [[1], [10, 20, 30, 40], [5, 7]],
        },
        {
            "user": pl.String(),
            "item_list": pl.List(pl.String),
            "item_first": pl.String(),
            "item_last": pl.String(),
            "ts_list": pl.List(pl.Int64),
        },
    ),
    Example(
        "groupby-descending-ties-by-value",
        ops.Groupby(["user"], {"item": "list"}, sort_cols=["ts"], ascending=False),
        ["user", "ts", "item"],
        pl.DataFrame({"user": [1] * 4, "ts": [1, 2, 2, None], "item": ["d", "c", "b", "a"]}),
        # As going up nulls come first, also where the order goes down.
        {"user": [1], "item_list": [["a", "b", "c", "d"]]},
        {"user": pl.Int64(), "item_list": pl.List(pl.String)},
    ),
    Example(
        "groupby-numbers",
        ops.Groupby(
            ["a", "b"],
            ["count", "nunique", "sum", "mean", "std", "var", "min", "max", "median"],
        ),
        ["a", "b", "x"],
        pl.DataFrame(
            {
                "a": [1, 1, 1, 1, 2, 2],
                "b": ["p", "p", "p", "p", "p", None],
                "x": [1.0, 2.0, 6.0, NAN, None, 5.0],
            }
        ),
        {
            "a": [1, 2, 2],
            "b": ["p", None, "p"],
            "x_count": [3, 1, 0],
            "x_nunique": [3, 1, 0],
            "x_sum": [9.0, 5.0, 0.0],
            "x_mean": [3.0, 5.0, None],
            "x_std": [7.0**0.5, None, None],
            "x_var": [7.0, None, None],
            "x_min": [1.0, 5.0, None],
            "x_max": [6.0, 5.0, None],
            "x_median": [2.0, 5.0, None],
        },
        {
            "a": pl.Int64(),
            "b": pl.String(),
            "x_count": pl.Int64(),
            "x_nunique": pl.Int64(),
            **{
                f"x_{name}": pl.Float64()
                for name in ("sum", "mean", "std", "var", "min", "max", "median")
            },
        },
    ),
    Example(
        "k-core",
        # Items z and x have one row each, and without them user 3 has none.
        ops.KCore("user", "item", min_user=2, min_item=2),
        ["user", "item", "x"],
        pl.DataFrame(
            {
                "user": [1, 1, 2, 2, 3, 3, None],
                "item": ["a", "b", "a", "b", "z", "x", "a"],
                "x": [10, 20, 30, 40, 50, 60, 70],
            }
        ),
        {"user": [1, 1, 2, 2], "item": ["a", "b", "a", "b"], "x": [10, 20, 30, 40]},
        {"user": pl.Int64(), "item": pl.String(), "x": pl.Int64()},
        pl.DataFrame({"user": [1, 9], "item": ["b", "a"], "x": [1, 2]}),
        {"user": [1], "item": ["b"], "x": [1]},
    ),
    Example(
        "k-core-one-round",
        # The round removes user 4, then items a and z; only a second would remove users 1 and 3.
        ops.KCore("user", "item", min_user=2, min_item=2, rounds=1),
        ["user", "item"],
        pl.DataFrame({"user": [1, 1, 3, 3, 4], "item": ["a", "b", "b", "z", "a"]}),
        {"user": [1, 3], "item": ["b", "b"]},
        {"user": pl.Int64(), "item": pl.String()},
    ),
)

BAD_PARAMETERS: tuple[tuple[str, dict[str, object], str], ...] = (
    ("Lag", {"partition_cols": [], "order_by": "t"}, "a string or a list of strings expected"),
    ("Lag", {"partition_cols": "u", "order_by": "t", "shift": 0}, "which is the row itself"),
    ("Lag", {"partition_cols": "u", "order_by": "t", "shift": [1, 1]}, "names a number twice"),
    ("Lag", {"partition_cols": "u", "order_by": "t", "shift": []}, "a whole number or a list"),
    ("Lag", {"partition_cols": "u"}, "parameter 'order_by' is missing"),
    ("DifferenceLag", {"partition_cols": "u", "order_by": "t", "shift": "1"}, "a whole number"),
    ("Sessionize", {"user_col": "u", "time_col": "t", "gap": -1}, "0 or more expected"),
    ("Sessionize", {"user_col": "u", "time_col": "t", "gap": "30m"}, "a finite number expected"),
    ("Sessionize", {"user_col": "", "time_col": "t", "gap": 1}, "a non-empty string expected"),
    (
        "Sessionize",
        {"user_col": "u", "time_col": "t", "gap": 1, "max_length": 0},
        "at least 1 expected",
    ),
    ("Groupby", {"groupby_cols": "u", "aggs": "lists"}, "Did you mean 'list'"),
    ("Groupby", {"groupby_cols": "u", "aggs": ["sum", "sum"]}, "names 'sum' twice"),
    ("Groupby", {"groupby_cols": "u", "aggs": {}}, "aggs is empty"),
    ("Groupby", {"groupby_cols": "u", "aggs": {"u": "sum"}}, "by which rows are grouped"),
    ("Groupby", {"groupby_cols": "u", "ascending": "no"}, "true or false expected"),
    ("Groupby", {"groupby_cols": "u", "name_sep": 1}, "a string expected"),
    ("KCore", {"user_col": "u", "item_col": "i"}, "give min_user, min_item or both"),
    ("KCore", {"user_col": "u", "item_col": "u", "min_user": 2}, "are both 'u'"),
    ("KCore", {"user_col": "u", "item_col": "i", "min_user": 0}, "at least 1 expected"),
    (
        "KCore",
        {"user_col": "u", "item_col": "i", "min_item": 2, "rounds": 0},
        "at least 1 expected",
    ),
)
