"""Worked examples of operators that hash, by the reference implementation of XXH64."""

from __future__ import annotations

import struct

import polars as pl
import xxhash

from merlinkit import ops
from merlinkit.engine.dialect import HASH_SEED
from tests.ops.examples.example import Example

NAN = float("nan")


def text(value: str) -> int:
    return xxhash.xxh64_intdigest(value.encode(), HASH_SEED)


def integer(value: int) -> int:
    return xxhash.xxh64_intdigest(struct.pack("<q", value), HASH_SEED)


def real(value: float) -> int:
    return xxhash.xxh64_intdigest(struct.pack("<d", value), HASH_SEED)


def cross(*hashes: int) -> int:
    combined = 0
    for member in hashes:
        combined = (combined * 0x9E3779B97F4A7C15 + member) % 2**64
    return combined


EXAMPLES: tuple[Example, ...] = (
    Example(
        "hash-bucket",
        ops.HashBucket({"s": 100, "i": 7, "f": 10}),
        ["s", "i", "f"],
        pl.DataFrame(
            {"s": ["a", "", None, "ü"], "i": [-1, 2, None, 2], "f": [0.5, NAN, None, -0.0]},
            schema={"s": pl.String, "i": pl.Int16, "f": pl.Float64},
        ),
        {
            "s": [text("a") % 100, text("") % 100, None, text("ü") % 100],
            "i": [integer(-1) % 7, integer(2) % 7, None, integer(2) % 7],
            "f": [real(0.5) % 10, None, None, real(0.0) % 10],
        },
        {"s": pl.Int32(), "i": pl.Int32(), "f": pl.Int32()},
    ),
    Example(
        "hash-bucket-lists-and-null-id",
        ops.HashBucket(50, null_id=0),
        ["l", "s"],
        pl.DataFrame({"l": [["x", None], [], None], "s": ["y", None, "x"]}),
        {"l": [[text("x") % 50, 0], [], None], "s": [text("y") % 50, 0, text("x") % 50]},
        {"l": pl.List(pl.Int32), "s": pl.Int32()},
    ),
    Example(
        "hashed-cross",
        ops.HashedCross({"s_X_i": 1000, "i_X_s": 1000, "s_X_t": 9}),
        [["s", "i"], ["i", "s"], ["s", "t"]],
        pl.DataFrame(
            {"s": ["a", "b", None], "i": [1, None, 1], "t": ["a", "b", "a"]},
        ),
        {
            "s_X_i": [cross(text("a"), integer(1)) % 1000, None, None],
            "i_X_s": [cross(integer(1), text("a")) % 1000, None, None],
            # Equal values do not collapse to one id.
            "s_X_t": [cross(text("a"), text("a")) % 9, cross(text("b"), text("b")) % 9, None],
        },
        {"s_X_i": pl.Int32(), "i_X_s": pl.Int32(), "s_X_t": pl.Int32()},
    ),
    Example(
        "hashed-cross-of-a-plain-list",
        ops.HashedCross(10),
        ["s", "i", "t"],
        pl.DataFrame({"s": ["a", "b"], "i": [1, 2], "t": [True, False]}),
        {
            "s_X_i_X_t": [
                cross(text("a"), integer(1), integer(1)) % 10,
                cross(text("b"), integer(2), integer(0)) % 10,
            ]
        },
        {"s_X_i_X_t": pl.Int32()},
    ),
)

BAD_PARAMETERS: tuple[tuple[str, dict[str, object], str], ...] = (
    ("HashBucket", {}, "parameter 'num_buckets' is missing"),
    ("HashBucket", {"num_buckets": 0}, "at least 1 expected"),
    ("HashBucket", {"num_buckets": {}}, "num_buckets is empty"),
    ("HashBucket", {"num_buckets": {"a": 2.5}}, "a whole number expected"),
    ("HashBucket", {"num_buckets": 2**31}, "at most 2147483647 expected"),
    ("HashBucket", {"num_buckets": 5, "null_id": 5}, "one of the ids 0 to 4 expected"),
    ("HashedCross", {"num_buckets": -1}, "at least 1 expected"),
    ("HashedCross", {"num_buckets": {}}, "num_buckets is empty"),
)
