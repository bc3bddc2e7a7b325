"""The stable hash, lookups and lists: the steps that engines spell differently."""

from __future__ import annotations

import struct
from datetime import date, datetime

import polars as pl
import pytest
import xxhash

from merlinkit.engine.cpu import CpuEngine
from merlinkit.engine.cudf_dialect import CudfDialect
from merlinkit.engine.dialect import HASH_SEED, Indexed, Lookup, Numbered, Pair

DIALECT = CpuEngine().dialect


def hashes(values: pl.Series) -> list[int | None]:
    expr = DIALECT.hash64(pl.col("x"), values.dtype)
    return (
        values.to_frame("x").lazy().select(expr).collect(engine="streaming").to_series().to_list()
    )


def of_bytes(raw: bytes) -> int:
    return xxhash.xxh64_intdigest(raw, HASH_SEED)


@pytest.mark.parametrize("dtype", [pl.Int8, pl.Int32, pl.Int64])
def test_integers_of_any_width_hash_as_eight_little_endian_bytes(dtype):
    numbers = [0, 1, -1, 127, None]
    expected = [None if n is None else of_bytes(struct.pack("<q", n)) for n in numbers]
    assert hashes(pl.Series(numbers, dtype=dtype)) == expected


def test_unsigned_integers_hash_by_their_bits():
    numbers = [0, 2**63, 2**64 - 1, None]
    expected = [None if n is None else of_bytes(struct.pack("<Q", n)) for n in numbers]
    assert hashes(pl.Series(numbers, dtype=pl.UInt64)) == expected


def test_strings_hash_as_utf8():
    texts = ["", "a", "ü", "日本", "a" * 100, None, "a"]
    expected = [None if text is None else of_bytes(text.encode()) for text in texts]
    assert hashes(pl.Series(texts)) == expected
    assert hashes(pl.Series([None, None], dtype=pl.String)) == [None, None]


def test_floats_have_one_zero_and_one_nan():
    plus, minus, nan, one, null = hashes(pl.Series([0.0, -0.0, float("nan"), 1.0, None]))
    assert plus == minus == of_bytes(struct.pack("<d", 0.0))
    assert one == of_bytes(struct.pack("<d", 1.0))
    assert nan not in (plus, one)
    assert null is None


def test_times_hash_by_their_ticks():
    assert hashes(pl.Series([date(1970, 1, 3)])) == [of_bytes(struct.pack("<q", 2))]
    stamps = pl.Series([datetime(1970, 1, 1, 0, 0, 1)], dtype=pl.Datetime("ms"))
    assert hashes(stamps) == [of_bytes(struct.pack("<q", 1000))]


def test_the_seed_is_the_one_that_cudf_polars_passes_to_libcudf():
    from cudf_polars.dsl.translate import Translator

    plan = pl.LazyFrame({"x": ["a"]}).select(CudfDialect().hash64(pl.col("x"), pl.String()))
    node = Translator(plan._ldf.visit(), pl.GPUEngine(executor="in-memory")).translate_ir()
    found = []

    def walk(expr):
        if getattr(expr, "name", None) == "hash":
            found.append(expr.options)
        for child in expr.children:
            walk(child)

    for named in node.exprs:
        walk(named.value)
    # As UnaryFunction.do_evaluate of cudf-polars computes it.
    assert [hash(tuple(options)) & 0xFFFFFFFFFFFFFFFF for options in found] == [HASH_SEED]


def test_lookup_keeps_order_and_gives_null_where_there_is_nothing():
    table = Lookup(pl.LazyFrame({"k": ["b", "a"], "v": [10, 20]}), "k", "v")
    frame = pl.LazyFrame({"x": ["a", None, "z", "b", "a"]})
    assert DIALECT.lookup(frame, "x", table, "y").collect()["y"].to_list() == [
        20,
        None,
        None,
        10,
        20,
    ]
    nothing = Lookup(pl.LazyFrame({"k": ["b"], "v": [1]}).clear(), "k", "v")
    assert DIALECT.lookup(frame, "x", nothing, "y").collect()["y"].to_list() == [None] * 5


def test_list_steps_see_only_their_own_values():
    frame = pl.DataFrame({"l": [[1, 2], [], None, [None], [3]], "other": list("abcde")})
    # A slice of a larger buffer, as batches of a stream are.
    part = frame[1:5].lazy()
    seen: list[int] = []

    def double(values: pl.LazyFrame, name: str) -> pl.LazyFrame:
        seen.append(values.collect().height)
        return values.with_columns((pl.col(name) * 2).cast(pl.Int64))

    result = DIALECT.elementwise(part, "l", double, pl.Int64()).collect()
    assert result["l"].to_list() == [[], None, [None], [6]]
    assert result["other"].to_list() == list("bcde")
    assert sum(seen) == 2
    assert DIALECT.elements(part, "l").collect()["l"].to_list() == [None, 3]


@pytest.mark.parametrize(
    ("keys", "values", "held"),
    [
        (["b", "a"], [3, 4], Numbered),
        (["b", "a"], [4, 3], Pair),
        (["b", "a"], [0.5, 1.5], Pair),
        ([5, 6, 7], ["x", "y", "z"], Indexed),
        ([-1, 0], [2.5, 3.5], Indexed),
        ([5, 7, 6], ["x", "y", "z"], Pair),
        ([True, False], [3, 4], Pair),
    ],
)
def test_every_way_to_hold_a_table_finds_the_same(keys, values, held):
    table = Lookup(pl.LazyFrame({"k": keys, "v": values}), "k", "v")
    assert type(table.in_memory()) is held
    unknown = {str: ["", "zz"], int: [-9, 99], bool: []}[type(keys[0])]
    asked = [None, *unknown, *keys, keys[0]]
    frame = pl.LazyFrame({"x": asked}, schema={"x": pl.Series(keys).dtype})
    found = DIALECT.lookup(frame, "x", table, "y").collect()
    assert found["y"].to_list() == [dict(zip(keys, values, strict=True)).get(x) for x in asked]
    assert found["y"].dtype == pl.Series(values).dtype


def test_keys_too_large_for_the_table_are_none_of_it():
    table = Lookup(pl.LazyFrame({"k": [0, 1], "v": ["x", "y"]}), "k", "v")
    frame = pl.LazyFrame({"x": [1, 2**64 - 1]}, schema={"x": pl.UInt64})
    assert DIALECT.lookup(frame, "x", table, "y").collect()["y"].to_list() == ["y", None]
