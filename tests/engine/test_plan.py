"""What translates to cuDF and what streams, shape by shape.

A failure in one of the tables below says that a release of cudf-polars or Polars moved a plan
shape: a shape that streams now is good news and changes the table; one that no longer does breaks
the operators that use it.
"""

from __future__ import annotations

import importlib.util
import subprocess
import sys
from collections.abc import Callable, Iterator
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from polars import col
from polars.io.plugins import register_io_source

from merlinkit.engine import plan
from merlinkit.engine.plan import PlanProof, prove
from merlinkit.errors import PlanError

installed = importlib.util.find_spec("cudf_polars") is not None
needs_cudf_polars = pytest.mark.skipif(not installed, reason="cudf-polars is not installed")

ROWS = 1_000
FRAME = pl.DataFrame(
    {
        "user": [row % 97 for row in range(ROWS)],
        "item": [row % 13 if row % 7 else None for row in range(ROWS)],
        "time": list(range(ROWS)),
        "price": [row / 8 for row in range(ROWS)],
        "city": [f"c{row % 11}" for row in range(ROWS)],
        "click": [row % 3 == 0 for row in range(ROWS)],
        "at": [datetime(2026, 1, 1) + timedelta(minutes=row) for row in range(ROWS)],
        "tags": [[row % 5, row % 3] for row in range(ROWS)],
    }
)
LOG = FRAME.lazy()
BERLIN = LOG.with_columns(col("at").dt.replace_time_zone("Europe/Berlin"))
SMALL = pl.DataFrame({"user": [0, 1, 2], "weight": [0.5, 1.0, 2.0]}).lazy()
BIG = FRAME.select("user", "time", paid="price").lazy()

# Written as functions, so that a shape that Polars refuses to build fails its own test only.
Shape = Callable[[], pl.LazyFrame]

STREAMS: dict[str, Shape] = {
    "group_by count sum mean std min max": lambda: LOG.group_by("user").agg(
        pl.len().alias("rows"),
        col("price").count().alias("count"),
        col("price").sum().alias("sum"),
        col("price").mean().alias("mean"),
        col("price").std().alias("std"),
        col("price").var().alias("var"),
        col("price").min().alias("min"),
        col("price").max().alias("max"),
    ),
    "group_by n_unique": lambda: LOG.group_by("user").agg(col("item").n_unique()),
    "group_by null_count": lambda: LOG.group_by("user").agg(col("item").null_count()),
    "group_by last by time": lambda: LOG.group_by("user").agg(col("price").sort_by("time").last()),
    "group_by a constant column": lambda: (
        LOG.with_columns(one=pl.lit(1)).group_by("one").agg(col("price").std())
    ),
    "left join": lambda: LOG.join(BIG, on="user", how="left"),
    "left join with a small table": lambda: LOG.join(SMALL, on="user", how="left"),
    "inner join with equal nulls": lambda: LOG.join(BIG, on="user", nulls_equal=True),
    "full join": lambda: LOG.join(BIG, on="user", how="full"),
    "semi join": lambda: LOG.join(BIG, on="user", how="semi"),
    "anti join": lambda: LOG.join(BIG, on="user", how="anti"),
    "target encoding by two joins": lambda: LOG.join(
        BIG.group_by("user").agg(col("paid").sum(), pl.len().alias("rows")), on="user", how="left"
    ).select((col("paid") - col("price")) / (col("rows") - 1)),
    "replace": lambda: LOG.with_columns(col("user").replace([1, 2], [3, 4])),
    "replace_strict with a default": lambda: LOG.with_columns(
        col("city").replace_strict(["c1", "c2"], [3, 4], default=0, return_dtype=pl.Int64)
    ),
    "is_in literals": lambda: LOG.with_columns(known=col("user").is_in([1, 2])),
    "bucketize by comparisons": lambda: LOG.with_columns(
        bucket=pl.sum_horizontal((col("price") >= edge).cast(pl.Int32) for edge in (1.0, 5.0))
    ),
    "bucketize by when and then": lambda: LOG.with_columns(
        bucket=pl.when(col("price") < 1).then(0).when(col("price") < 5).then(1).otherwise(2)
    ),
    "hash and modulo": lambda: LOG.with_columns(bucket=col("user").hash(0) % 10),
    "sampling by hash": lambda: LOG.filter(col("user").hash(0) % 10 < 2),
    "wrapping UInt64 arithmetic": lambda: LOG.with_columns(
        mixed=(col("user").cast(pl.UInt64) * pl.lit(2**63 + 3, dtype=pl.UInt64)) ^ 5
    ),
    "concat_str": lambda: LOG.with_columns(pair=pl.concat_str("city", "user", separator="_")),
    "log1p clip pow sqrt round sin": lambda: LOG.select(
        col("price").log1p().alias("log1p"),
        col("price").clip(0, 3).alias("clip"),
        col("price").pow(2).alias("pow"),
        col("price").sqrt().alias("sqrt"),
        col("price").round(2).alias("round"),
        col("price").sin().alias("sin"),
    ),
    "fill_null with a literal": lambda: LOG.with_columns(col("item").fill_null(0)),
    "fill_null with the mean": lambda: LOG.with_columns(col("item").fill_null(col("item").mean())),
    "fill_nan": lambda: LOG.with_columns(col("price").fill_nan(None)),
    "string to integer": lambda: LOG.with_columns(col("city").cast(pl.Int64, strict=False)),
    "to_integer": lambda: LOG.with_columns(
        col("city").str.to_integer(dtype=pl.Int16, strict=False)
    ),
    "widening casts": lambda: LOG.with_columns(
        col("user").cast(pl.Float32, strict=False),
        col("click").cast(pl.Int8, strict=False),
        item=col("item").cast(pl.UInt8).cast(pl.Int16, strict=False),
    ),
    "wrapping cast": lambda: LOG.with_columns(col("time").cast(pl.Int8, wrap_numerical=True)),
    "normalize by the mean": lambda: LOG.with_columns(col("price") - col("price").mean()),
    "mean len max over": lambda: LOG.with_columns(
        mean=col("price").mean().over("user"),
        rows=pl.len().over("user"),
        first=col("price").first().over("user", order_by="time"),
    ),
    "shift over, by time": lambda: LOG.with_columns(
        lag=col("price").shift(1).over("user", order_by="time")
    ),
    "shift over two keys": lambda: LOG.with_columns(
        lag=col("price").shift(1).over("user", "city", order_by="time", descending=True)
    ),
    "diff cum_sum rolling_mean over": lambda: LOG.with_columns(
        diff=col("price").diff(1).over("user", order_by="time"),
        total=col("price").cum_sum().over("user", order_by="time"),
        rolling=col("price").rolling_mean(3).over("user", order_by="time"),
    ),
    "rank over": lambda: LOG.with_columns(rank=col("time").rank("ordinal").over("user")),
    "fill forward over": lambda: LOG.with_columns(
        col("item").fill_null(strategy="forward").over("user", order_by="time")
    ),
    "explode": lambda: LOG.explode("tags", empty_as_null=True),
    "explode and join": lambda: LOG.explode("tags", empty_as_null=True).join(
        SMALL, left_on="tags", right_on="user", how="left"
    ),
    "a list column passed on": lambda: LOG.filter(col("price") > 1).select("tags"),
    "string functions": lambda: LOG.select(
        col("city").str.extract(r"(\d)", 1).alias("extract"),
        col("city").str.contains("1").alias("contains"),
        col("city").str.split_exact("_", 1).alias("split_exact"),
        col("city").str.replace_all("a", "b", literal=True).alias("replace_all"),
        col("city").str.len_chars().alias("len_chars"),
        col("city").str.to_lowercase().alias("to_lowercase"),
        col("city").str.strip_chars().alias("strip_chars"),
        col("city").str.slice(0, 1).alias("slice"),
        col("city").str.json_path_match("$.a").alias("json_path_match"),
    ),
    "to_datetime with a format": lambda: LOG.select(
        col("city").str.to_datetime("%Y-%m-%d %H:%M:%S", cache=False, strict=False)
    ),
    "to_date with a format": lambda: LOG.select(col("city").str.to_date("%Y-%m-%d", cache=False)),
    "parts of a time": lambda: LOG.select(
        col("at").dt.hour().alias("hour"),
        col("at").dt.weekday().alias("weekday"),
        col("at").dt.epoch("s").alias("epoch"),
        col("at").dt.truncate("1h").alias("truncate"),
        pl.from_epoch("time").alias("from_epoch"),
    ),
    "parts of a local time": lambda: BERLIN.select(
        col("at").dt.convert_time_zone("Asia/Tokyo").dt.replace_time_zone(None).dt.hour()
    ),
    "parts of a UTC time": lambda: LOG.select(col("at").dt.replace_time_zone("UTC").dt.hour()),
    "total_seconds": lambda: LOG.select(
        (col("at") - col("at").shift(1).over("user", order_by="time")).dt.total_seconds()
    ),
    "unique": lambda: LOG.unique("user"),
    "unique, none kept of many": lambda: LOG.unique("user", keep="none"),
    "drop_nulls": lambda: LOG.drop_nulls(),
    "concat": lambda: pl.concat([LOG, LOG.with_columns(col("user") + 1)]),
    "sort": lambda: LOG.sort("city", "time", descending=[True, False]),
    "sort and head": lambda: LOG.sort("price").head(10),
    "top_k": lambda: LOG.top_k(10, by="price"),
    "sink_parquet": lambda: LOG.sink_parquet("never.parquet", compression="snappy", lazy=True),
    "sink_csv": lambda: LOG.drop("tags").sink_csv("never.csv", lazy=True),
    "SQL expression": lambda: LOG.select(pl.sql_expr("price * 2 AS paid")),
}

# A few rows for each partition are gathered: one partition, of a size that does not grow.
REDUCES: dict[str, Shape] = {
    "global sum mean min max len": lambda: LOG.select(
        col("price").sum().alias("sum"),
        col("price").mean().alias("mean"),
        col("price").min().alias("min"),
        col("price").max().alias("max"),
        pl.len().alias("rows"),
    ),
    "global n_unique": lambda: LOG.select(col("user").n_unique()),
    "global null_count": lambda: LOG.select(col("item").null_count()),
    "number of groups": lambda: LOG.group_by("user").agg(pl.len()).select(pl.len()),
    "filter and head": lambda: LOG.filter(col("price") > 3).head(10),
}

GATHERS: dict[str, tuple[Shape, str]] = {
    "row_index": (lambda: LOG.with_row_index(), "row_index"),
    "row_index of a sorted frame": (lambda: LOG.sort("time").with_row_index(), "row_index"),
    "row_index of a vocabulary": (
        lambda: LOG.group_by("city").agg(pl.len()).sort("len", "city").with_row_index(),
        "row_index",
    ),
    "global std": (lambda: LOG.select(col("price").std()), "'price' (std)"),
    "global median": (lambda: LOG.select(col("price").median()), "'price' (median)"),
    "global quantile": (lambda: LOG.select(col("price").quantile(0.3)), "'price' (quantile)"),
    "global skew": (lambda: LOG.select(col("price").skew()), "'price' (skew)"),
    "group_by a literal key": (
        lambda: LOG.group_by(pl.lit(1).alias("one")).agg(col("price").std()),
        "'price' (std)",
    ),
    "group_by into lists": (lambda: LOG.group_by("user").agg("item"), "'item' (list)"),
    "group_by first": (lambda: LOG.group_by("user").agg(col("item").first()), "'item' (first)"),
    "group_by median": (
        lambda: LOG.group_by("user").agg(col("price").median()),
        "'price' (median)",
    ),
    "explode and regroup": (
        lambda: LOG.explode("tags", empty_as_null=True).group_by("time").agg("tags"),
        "'tags' (list)",
    ),
    "implode": (lambda: LOG.select(col("price").implode()), "'price' (implode)"),
    "join that keeps the order": (
        lambda: LOG.join(BIG, on="user", how="left", maintain_order="left"),
        "join of 'user'",
    ),
    "cross join": (lambda: LOG.join(SMALL, how="cross"), "join gathers"),
    "hash of a struct": (lambda: LOG.select(pl.struct("user", "city").hash()), "as_struct"),
    "search_sorted": (
        lambda: LOG.select(pl.lit(pl.Series([1.0, 2.0])).search_sorted(col("price")).alias("at")),
        "'at' (search_sorted)",
    ),
    "global shift": (lambda: LOG.with_columns(col("price").shift(1)), "'price' (shift)"),
    "global rank": (lambda: LOG.with_columns(col("price").rank()), "'price' (rank)"),
    "global cum_sum": (lambda: LOG.with_columns(col("price").cum_sum()), "'price' (cum_sum)"),
    "over two order columns": (
        lambda: LOG.with_columns(
            lag=col("price").shift(1).over("user", order_by=["time", "price"])
        ),
        "'lag' (over)",
    ),
    "over an expression": (
        lambda: LOG.with_columns(total=col("price").sum().over(col("user") % 2)),
        "'total' (over)",
    ),
    "over in a filter": (lambda: LOG.filter(pl.len().over("user") > 3), "filter"),
    "fill forward in a select": (
        lambda: LOG.select(col("item").fill_null(strategy="forward")),
        "'item'",
    ),
    "sort by an expression": (lambda: LOG.sort(col("price").abs()), "sort of 'price'"),
    "slice with an offset": (lambda: LOG.filter(col("price") > 3).slice(5, 10), "slice"),
    "rolling by time": (
        lambda: LOG.sort("at").rolling("at", period="1d").agg(col("price").sum()),
        "rolling",
    ),
    "unpivot": (lambda: LOG.unpivot(on=["price", "time"], index="user"), "unpivot"),
    "is_in another column": (
        lambda: LOG.with_columns(known=col("user").is_in(col("time").implode())),
        "'known' (implode)",
    ),
}

UNSUPPORTED: dict[str, tuple[Shape, str]] = {
    "list.len": (lambda: LOG.select(size=col("tags").list.len()), "select of 'size'"),
    "list.get": (lambda: LOG.select(col("tags").list.get(0)), "ListFunction.Get"),
    "list.slice": (lambda: LOG.select(col("tags").list.slice(0, 1)), "ListFunction.Slice"),
    "list.sum": (lambda: LOG.select(col("tags").list.sum()), "ListFunction.Sum"),
    "list.contains": (lambda: LOG.select(col("tags").list.contains(1)), "ListFunction.Contains"),
    "list.eval": (lambda: LOG.select(col("tags").list.eval(pl.element() + 1)), "list.eval"),
    "concat_list": (lambda: LOG.select(pl.concat_list("user", "item")), "ListFunction.Concat"),
    "explode of an expression": (
        lambda: LOG.select(col("tags").explode(empty_as_null=True)),
        "Explode",
    ),
    "explode of two columns": (
        lambda: LOG.with_columns(more="tags").explode("tags", "more", empty_as_null=True),
        "explode",
    ),
    "explode without null lists": (
        lambda: LOG.explode("tags", empty_as_null=True, keep_nulls=False),
        "explode",
    ),
    "Categorical": (lambda: LOG.with_columns(col("city").cast(pl.Categorical)), "column 'city'"),
    "Enum": (lambda: LOG.with_columns(col("city").cast(pl.Enum(["c1"]))), "column 'city'"),
    "Time": (lambda: LOG.select(clock=col("at").dt.time()), "column 'clock'"),
    "Null": (lambda: LOG.with_columns(nothing=pl.lit(None)), "data type Null"),
    "cut": (lambda: LOG.with_columns(col("price").cut([1.0, 2.0])), "column 'price'"),
    "str.split": (lambda: LOG.select(col("city").str.split("_")), "select of 'city'"),
    "str.extract_all": (lambda: LOG.select(col("city").str.extract_all("a")), "ExtractAll"),
    "str.replace by regex": (lambda: LOG.select(col("city").str.replace_all("a+", "b")), "literal"),
    "to_integer of base 16": (
        lambda: LOG.select(col("city").str.to_integer(base=16, strict=False)),
        "base 10",
    ),
    "to_datetime with a cache": (lambda: LOG.select(col("city").str.to_datetime("%Y")), "cache"),
    "list in an order, in group_by": (
        lambda: LOG.group_by("user").agg(col("item").sort_by("time")),
        "group_by",
    ),
    "head in group_by": (lambda: LOG.group_by("user").agg(col("item").head(2)), "group_by"),
    "filter in group_by": (
        lambda: LOG.group_by("user").agg(col("item").filter(col("click")).sum()),
        "group_by",
    ),
    "cum_count over": (
        lambda: LOG.with_columns(n=col("item").cum_count().over("user", order_by="time")),
        "with_columns of 'n'",
    ),
    "int_range": (lambda: LOG.with_columns(n=pl.int_range(pl.len())), "with_columns of 'n'"),
    "sample": (lambda: LOG.select(col("price").sample(10)), "sample"),
    "shuffle": (lambda: LOG.select(col("price").shuffle()), "shuffle"),
    "asof join": (
        lambda: LOG.sort("time").join_asof(BIG.sort("time"), on="time"),
        "join does not translate",
    ),
    "merge_sorted": (
        lambda: LOG.select("time").merge_sorted(LOG.select("time"), key="time"),
        "merge_sorted",
    ),
    "group_by_dynamic": (
        lambda: LOG.sort("at").group_by_dynamic("at", every="1h").agg(pl.len()),
        "group_by_dynamic",
    ),
    "corr": (lambda: LOG.select(pl.corr("price", "time")), "corr"),
    "map_batches": (
        lambda: LOG.with_columns(col("price").map_batches(lambda s: s, return_dtype=pl.Float64)),
        "Python function",
    ),
    "replace_strict without a default": (
        lambda: LOG.with_columns(col("user").replace_strict(list(range(97)), list(range(97)))),
        "with_columns of 'user'",
    ),
    "compression level": (
        lambda: LOG.sink_parquet("never.parquet", compression_level=3, lazy=True),
        "compression_level",
    ),
    "partitioned sink": (
        lambda: LOG.sink_parquet(pl.PartitionBy("never", key="user"), lazy=True),
        "sink",
    ),
}

# What cudf-polars takes without a word and executes as something else.
DIFFERS: dict[str, tuple[Shape, str]] = {
    "explode without empty lists": (
        lambda: LOG.explode("tags", empty_as_null=False),
        "explode of 'tags' with empty_as_null=False would be executed as empty_as_null=True",
    ),
    "fill forward in with_columns": (
        lambda: LOG.with_columns(col("item").fill_null(strategy="forward")),
        "with_columns of 'item': fill_null(strategy='forward') would be executed within each",
    ),
    "fill with the mean by strategy": (
        lambda: LOG.with_columns(col("item").fill_null(strategy="mean")),
        "fill_null(strategy='mean') would be executed within each partition",
    ),
    "fill forward in a filter": (
        lambda: LOG.filter(col("item").fill_null(strategy="forward") > 2),
        "filter of 'item': fill_null(strategy='forward')",
    ),
    "horizontal concat": (
        lambda: pl.concat(
            [LOG.select("user"), LOG.select("item").filter(col("item") > 0)],
            how="horizontal_extend",
        ),
        "horizontal concat would be executed within each partition",
    ),
    "a series as a column": (
        lambda: LOG.with_columns(order=pl.Series(range(ROWS))),
        "with_columns of 'order': a series of its own length",
    ),
    "is_in with equal nulls": (
        lambda: LOG.with_columns(known=col("item").is_in([1, None], nulls_equal=True)),
        "with_columns of 'known': is_in with nulls_equal=True",
    ),
    "is_in a list column": (
        lambda: LOG.with_columns(known=col("user").is_in("tags")),
        "with_columns of 'known': is_in a list column would look in the lists of all rows",
    ),
    "validated join": (
        lambda: LOG.join(SMALL, on="user", how="left", validate="m:1"),
        "join with validate=ManyToOne would be executed without the check",
    ),
    "hour of a zoned time": (
        lambda: BERLIN.select(col("at").dt.hour()),
        "select of 'at': hour of a time in zone Europe/Berlin would be computed in UTC",
    ),
    "date of a zoned time": (
        lambda: BERLIN.select(day=col("at").dt.date()),
        "select of 'day': date of a time in zone Europe/Berlin",
    ),
    "parsing into a zone": (
        lambda: LOG.select(
            col("city").str.to_datetime("%Y-%m-%d %H:%M", cache=False, time_zone="Asia/Tokyo")
        ),
        "parsing of a time in zone Asia/Tokyo would read it as UTC",
    ),
    "to_datetime without a format": (
        lambda: LOG.select(col("city").str.to_datetime(cache=False)),
        "infer it from the first value of each partition",
    ),
    "narrowing cast to null": (
        lambda: LOG.with_columns(col("time").cast(pl.Int8, strict=False)),
        "with_columns of 'time': cast of Int64 to Int8 with strict=False would wrap",
    ),
    "float to integer or null": (
        lambda: LOG.with_columns(col("price").cast(pl.Int64, strict=False)),
        "cast of Float64 to Int64 with strict=False would wrap",
    ),
    "sign lost or null": (
        lambda: LOG.with_columns(col("time").cast(pl.UInt64, strict=False)),
        "cast of Int64 to UInt64 with strict=False would wrap",
    ),
    "string to a narrow integer or null": (
        lambda: LOG.with_columns(col("city").cast(pl.Int32, strict=False)),
        "cast of String to Int32 with strict=False would wrap",
    ),
    "float to string": (
        lambda: LOG.with_columns(text=col("price").cast(pl.String)),
        "with_columns of 'text': Float64 as String would have at most ten digits",
    ),
    "float in concat_str": (
        lambda: LOG.with_columns(text=pl.concat_str("city", "price")),
        "with_columns of 'text': Float64 as String",
    ),
    "parquet metadata": (
        lambda: LOG.sink_parquet("never.parquet", metadata={"by": "us"}, lazy=True),
        "key_value_metadata would be left out",
    ),
}


# -- tables -----------------------------------------------------------------------------------


@needs_cudf_polars
@pytest.mark.parametrize("name", STREAMS)
def test_translates_and_streams(name: str) -> None:
    proof = prove(STREAMS[name]())
    assert (proof.unsupported, proof.fallbacks) == ((), ())
    assert proof.partitions > 1
    assert proof.nodes >= 1
    assert proof.ok


@needs_cudf_polars
@pytest.mark.parametrize("name", REDUCES)
def test_gathering_a_few_rows_of_each_partition_is_no_fallback(name: str) -> None:
    proof = prove(REDUCES[name]())
    assert (proof.unsupported, proof.fallbacks) == ((), ())
    assert proof.partitions == 1


@needs_cudf_polars
@pytest.mark.parametrize("name", GATHERS)
def test_translates_but_gathers_into_one_partition(name: str) -> None:
    shape, named = GATHERS[name]
    proof = prove(shape())
    assert proof.unsupported == ()
    assert len(proof.fallbacks) == 1
    assert named in proof.fallbacks[0]
    assert "gathers 10 partitions into one" in proof.fallbacks[0]
    assert not proof.ok


@needs_cudf_polars
@pytest.mark.parametrize("name", UNSUPPORTED)
def test_does_not_translate(name: str) -> None:
    shape, named = UNSUPPORTED[name]
    proof = prove(shape())
    assert any(named in sentence for sentence in proof.unsupported), proof.unsupported
    assert proof.partitions == 0
    assert not proof.ok


@needs_cudf_polars
@pytest.mark.parametrize("name", DIFFERS)
def test_would_be_executed_as_something_else(name: str) -> None:
    shape, named = DIFFERS[name]
    proof = prove(shape())
    assert len(proof.unsupported) == 1
    assert named in proof.unsupported[0]
    assert not proof.ok


@needs_cudf_polars
def test_join_by_a_range_is_never_fine() -> None:
    # Without a driver it cannot be translated, with one it gathers a side.
    assert not prove(LOG.join_where(SMALL, col("price") > col("weight"))).ok


# -- where and how many -----------------------------------------------------------------------


@needs_cudf_polars
def test_every_problem_of_a_plan_is_named_once() -> None:
    size, first = col("tags").list.len(), col("tags").list.get(0)
    frame = LOG.select(size=size, first=first, total=col("tags").list.sum() + first)
    places = [sentence.split(" does not")[0] for sentence in prove(frame).unsupported]
    assert sorted(places) == [
        "an expression that is used twice",
        "select of 'size'",
        "select of 'total'",
    ]


@needs_cudf_polars
def test_two_gathers_keep_their_reasons_apart() -> None:
    frame = LOG.with_columns(col("price").shift(1)).join(
        BIG.select("user").with_row_index("row"), on="user", how="left"
    )
    first, second = prove(frame).fallbacks
    assert first.startswith("select or with_columns of 'price' (shift) gathers 10 partitions")
    assert "This selection is not supported" in first
    assert second.startswith("row_index gathers 10 partitions")
    assert "row_index is not supported" in second


@needs_cudf_polars
def test_partitions_follow_from_the_rows() -> None:
    assert prove(LOG, max_rows_per_partition=100).partitions == 10
    assert prove(LOG, max_rows_per_partition=300).partitions == 4
    assert prove(pl.concat([LOG, BIG.select(user="user")], how="diagonal")).partitions == 20
    assert prove(LOG.with_row_index(), max_rows_per_partition=300).partitions == 1


@needs_cudf_polars
def test_order_that_is_kept_is_noted() -> None:
    kept = LOG.group_by("city", maintain_order=True).agg(col("price").sum())
    (note,) = prove(kept).notes
    assert note.startswith("group_by of 'city', 'price' (sum) keeps an order")
    assert prove(LOG.unique("city", keep="first")).notes[0].startswith("unique keeps an order")
    assert prove(LOG.group_by("city").agg(col("price").sum())).notes == ()
    assert prove(LOG.unique("city")).notes == ()


@needs_cudf_polars
def test_small_tables_are_noted() -> None:
    (note,) = prove(LOG.join(SMALL.with_row_index(), on="user", how="left")).notes
    assert note.startswith("the frame of 'user', 'weight' is one partition")


# -- proofs that prove something --------------------------------------------------------------


@needs_cudf_polars
def test_a_frame_of_one_partition_proves_nothing() -> None:
    with pytest.raises(PlanError, match=r"too few rows to prove anything.*frame of 1000 rows"):
        prove(SMALL.with_row_index())
    with pytest.raises(PlanError, match="too few rows"):
        prove(LOG, max_rows_per_partition=ROWS)
    with pytest.raises(PlanError, match="too few rows"):
        prove(LOG.head(5).with_row_index())
    with pytest.raises(PlanError, match="too few rows"):
        prove(FRAME.clear().lazy())
    with pytest.raises(PlanError, match="below 1"):
        prove(LOG, max_rows_per_partition=0)


def _source(
    with_columns: list[str] | None,
    predicate: pl.Expr | None,
    n_rows: int | None,
    batch_size: int | None,
) -> Iterator[pl.DataFrame]:
    yield FRAME


@needs_cudf_polars
def test_plans_over_files_are_refused(tmp_path: Path) -> None:
    flat = FRAME.select("user", "city")
    flat.write_parquet(tmp_path / "log.parquet")
    flat.write_csv(tmp_path / "log.csv")
    flat.write_ndjson(tmp_path / "log.jsonl")
    plans = {
        "scan of parquet": pl.scan_parquet(tmp_path / "log.parquet"),
        "scan of csv": pl.scan_csv(tmp_path / "log.csv"),
        "scan of ndjson": pl.scan_ndjson(tmp_path / "log.jsonl"),
        "scan of Python source": register_io_source(_source, schema=FRAME.schema),
    }
    for what, scan in plans.items():
        with pytest.raises(PlanError, match=f"{what}.*in-memory frame of the same schema"):
            prove(scan.select("user"))
    with pytest.raises(PlanError, match="scan of parquet"):
        prove(LOG.join(plans["scan of parquet"], on="user"))


@needs_cudf_polars
def test_a_gather_without_a_warning_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    import cudf_polars.streaming.utils as utils

    with monkeypatch.context() as patch:
        patch.setattr(utils, "_fallback_inform", lambda msg, config_options: None)
        for shape, named in GATHERS.values():
            (sentence,) = prove(shape()).fallbacks
            assert named in sentence
            assert sentence.endswith("gathers 10 partitions into one")


@needs_cudf_polars
def test_only_aggregates_make_one_row_of_a_partition() -> None:
    frame = LOG.select(
        total=col("price").sum() / pl.len() + 1,
        missing=col("item").null_count(),
        values=col("price").implode(),
        price=col("price"),
        centred=col("price") - col("price").mean(),
        constant=pl.lit(1),
    )
    root, _, errors = plan._translate(frame, pl.GPUEngine(executor="in-memory"))
    assert errors == []
    assert {each.name: plan._is_one_row(each.value) for each in root.exprs} == {
        "total": True,
        "missing": True,
        "values": False,
        "price": False,
        "centred": False,
        "constant": True,
    }


@needs_cudf_polars
def test_a_warning_without_a_gather_is_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(plan, "_is_reduced", lambda gathered, parent: True)
    assert prove(LOG.with_row_index()).fallbacks == (
        "cudf-polars falls back: row_index is not supported for multiple partitions",
    )


@needs_cudf_polars
def test_a_fault_while_lowering_is_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    import cudf_polars.streaming.parallel as parallel

    def fail(*args: Any, **kwargs: Any) -> None:
        raise AssertionError("no keys")

    monkeypatch.setattr(parallel, "lower_ir_graph", fail)
    proof = prove(LOG)
    assert proof.unsupported == (
        "the plan cannot be lowered to partitions: AssertionError: no keys",
    )
    assert proof.partitions == 0


# -- the same plan as collect, and nothing else ------------------------------------------------


def _kinds(traverser: Any) -> list[str]:
    """Return the kinds of the nodes of a plan, parents first."""
    root = traverser.get_node()
    kinds: list[str] = []
    waiting = [root]
    while waiting:
        traverser.set_node(waiting.pop())
        kinds.append(type(traverser.view_current_node()).__name__)
        waiting.extend(traverser.get_inputs())
    traverser.set_node(root)
    return kinds


@needs_cudf_polars
@pytest.mark.parametrize("name", ["target encoding by two joins", "sort and head", "concat"])
def test_the_plan_is_the_one_that_collect_hands_over(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    handed_over: list[list[str]] = []
    proved: list[list[str]] = []
    watch = plan._Watch

    def record(traverser: Any) -> plan._Watch:
        proved.append(_kinds(traverser))
        return watch(traverser)

    monkeypatch.setattr(plan, "_Watch", record)
    frame = STREAMS[name]()
    prove(frame)
    frame.collect(
        engine=pl.GPUEngine(),
        post_opt_callback=lambda traverser, _: handed_over.append(_kinds(traverser)),
    )
    assert proved == handed_over
    assert len(proved[0]) > 1


@needs_cudf_polars
def test_only_what_is_left_after_optimising_counts() -> None:
    unused = LOG.with_columns(size=col("tags").list.len()).select("user")
    assert prove(unused).ok
    assert not prove(unused.with_columns(size=col("user")).join(LOG.with_row_index(), on="user")).ok


@needs_cudf_polars
def test_no_device_is_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    from cudf_polars.utils import config

    def refuse(*args: Any) -> None:
        raise AssertionError("a device was asked for")

    cached = config.get_total_device_memory.cache_info().currsize
    with monkeypatch.context() as patch:
        patch.setattr(config, "get_device_handle", refuse)
        assert prove(LOG.filter(col("price") > 1)).ok
    assert config.get_total_device_memory.cache_info().currsize == cached


@needs_cudf_polars
def test_the_environment_changes_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    frame = LOG.group_by("user").agg(col("price").sum()).with_row_index()
    before = prove(frame)
    for option, value in (
        ("EXECUTOR", "in-memory"),
        ("EXECUTOR__FALLBACK_MODE", "raise"),
        ("EXECUTOR__DYNAMIC_PLANNING", "0"),
        ("EXECUTOR__MAX_ROWS_PER_PARTITION", "1000000"),
        ("EXECUTOR__CLUSTER", "spmd"),
        ("EXECUTOR__JOIN_FILTER_PUSHDOWN", "1"),
    ):
        monkeypatch.setenv(f"CUDF_POLARS__{option}", value)
    assert prove(frame) == before
    assert len(before.fallbacks) == 1


@needs_cudf_polars
def test_nothing_is_written(tmp_path: Path) -> None:
    target = tmp_path / "out.parquet"
    assert prove(LOG.sink_parquet(target, lazy=True)).ok
    assert list(tmp_path.iterdir()) == []


# -- releases ---------------------------------------------------------------------------------


@needs_cudf_polars
def test_the_installed_release_was_checked() -> None:
    plan.require_cudf_polars()
    assert plan.is_available()


@needs_cudf_polars
@pytest.mark.parametrize("name", plan.PRIVATE_NAMES.strip().split("\n"))
def test_private_name_is_where_it_was(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(plan, "PRIVATE_NAMES", name)
    assert plan._moved_names.__wrapped__() == ()


@needs_cudf_polars
def test_a_release_that_moves_names_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        plan,
        "PRIVATE_NAMES",
        "cudf_polars.dsl.ir:Slice(offset, start)\n"
        "cudf_polars.dsl.ir:Gone()\n"
        "cudf_polars.gone:Slice()",
    )
    monkeypatch.setattr(plan, "_moved_names", plan._moved_names.__wrapped__)
    with pytest.raises(PlanError) as caught:
        plan.require_cudf_polars()
    message = str(caught.value)
    assert "cudf_polars.dsl.ir:Slice has no start" in message
    assert "cudf_polars.dsl.ir:Gone is gone" in message
    assert "cudf_polars.gone:Slice is gone" in message
    assert not plan.is_available()


@needs_cudf_polars
def test_another_release_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("cudf_polars.__version__", "26.12.00")
    with pytest.raises(PlanError, match=r"cudf-polars 26\.12\.00 found, 26\.10\.\* was checked"):
        prove(LOG)
    assert not plan.is_available()


def test_a_missing_package_is_named_with_the_fix(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(plan.importlib.util, "find_spec", lambda name: None)
    with pytest.raises(PlanError, match=r"pip install 'merlinkit\[plan\]'"):
        prove(LOG)
    assert not plan.is_available()


def test_a_broken_package_is_named_with_the_fix(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(name: str) -> None:
        raise ImportError("libcudf.so not found")

    monkeypatch.setattr(plan.importlib.util, "find_spec", lambda name: object())
    monkeypatch.setattr(plan.importlib, "import_module", fail)
    with pytest.raises(PlanError, match=r"cannot be imported: libcudf.so.*merlinkit\[plan\]"):
        plan.require_cudf_polars()


def test_importing_the_module_imports_nothing_of_cuda() -> None:
    code = (
        "import sys, merlinkit.engine.plan\n"
        "print([n for n in sys.modules if n.split('.')[0] in "
        "('cudf_polars', 'pylibcudf', 'rmm', 'cuda', 'cupy', 'pynvml')])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_ok_needs_both_to_be_empty() -> None:
    assert PlanProof((), (), 10, 1).ok
    assert not PlanProof(("x",), (), 10, 1).ok
    assert not PlanProof((), ("x",), 10, 1).ok
    assert PlanProof((), (), 10, 1, notes=("x",)).ok
