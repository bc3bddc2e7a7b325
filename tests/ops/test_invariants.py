"""What holds for any data: generated frames, checked by properties instead of values."""

from __future__ import annotations

import math

import polars as pl
from hypothesis import given, settings
from hypothesis import strategies as st

from merlinkit import Workflow, ops

SEEDED = settings(max_examples=40, deadline=None, derandomize=True, database=None)

TEXT = st.one_of(st.none(), st.text(max_size=4), st.sampled_from(["a", "b", "", "é"]))
WHOLE = st.one_of(st.none(), st.integers(-(2**63), 2**63 - 1), st.integers(-3, 3))
REAL = st.one_of(st.none(), st.floats(-1e9, 1e9), st.sampled_from([0.0, -0.0, 1.5]))


def frames(min_rows: int = 0) -> st.SearchStrategy[pl.DataFrame]:
    rows = st.tuples(TEXT, WHOLE, REAL, st.one_of(st.none(), st.lists(TEXT, max_size=3)))
    schema = {"s": pl.String, "i": pl.Int64, "f": pl.Float64, "l": pl.List(pl.String)}
    return st.lists(rows, min_size=min_rows, max_size=30).map(
        lambda listed: pl.DataFrame(listed, schema=schema, orient="row")
    )


def tables(workflow: Workflow) -> dict[str, pl.DataFrame]:
    state = workflow.state(workflow.output)
    return {name: table.frame.collect() for name, table in state.tables.items()}


def ids_of(column: pl.Series) -> pl.Series:
    is_list = isinstance(column.dtype, pl.List)
    return (column.explode(empty_as_null=False) if is_list else column).drop_nulls()


@SEEDED
@given(frames())
def test_known_values_come_back_from_their_ids(frame):
    workflow = Workflow(["s", "i", "f", "l"] >> ops.Categorify()).fit(frame)
    encoded = workflow.transform(frame).collect()
    back = workflow.inverse_transform(encoded).collect()
    assert back["s"].equals(frame["s"])
    assert back["i"].equals(frame["i"])
    assert back["l"].equals(frame["l"])
    # Both zeros are one value.
    assert back["f"].equals(frame["f"] + 0.0)


@SEEDED
@given(frames(), st.integers(1, 4), st.integers(1, 3))
def test_ids_are_within_their_domain_and_counts_add_up(frame, buckets, threshold):
    operator = ops.Categorify(num_buckets=buckets, freq_threshold=threshold)
    workflow = Workflow(["s", "i", "f", "l"] >> operator).fit(frame)
    encoded = workflow.transform(frame).collect()
    for name, table in tables(workflow).items():
        domain = workflow.output_schema[name].domain
        assert table["id"].to_list() == list(range(domain.max + 1))
        ids = ids_of(encoded[name])
        assert len(ids) == table["count"].sum()
        found = dict(ids.value_counts().iter_rows())
        assert all(table["count"][i] == count for i, count in found.items())
        assert table["count"].sum() == sum(found.values())


@SEEDED
@given(frames(), frames(), st.sampled_from([0, 5, 8]))
def test_update_keeps_every_id(first, second, max_size):
    operator = ops.Categorify(max_size=max_size)
    workflow = Workflow(["s", "i", "f", "l"] >> operator).fit(first)
    before = tables(workflow)
    workflow.update(second)
    for name, table in tables(workflow).items():
        assert table.drop("count")[: before[name].height].equals(before[name].drop("count"))
        assert max_size == 0 or table.height <= max(max_size, before[name].height)
        values = [pl.concat([first, second])[name]]
        assert table["count"].sum() == sum(
            value.explode(empty_as_null=False, keep_nulls=False).len()
            if name == "l"
            else len(value)
            for value in values
        )


@SEEDED
@given(frames(), st.integers(0, 30))
def test_statistics_of_two_parts_are_those_of_the_whole(frame, cut):
    node = (["f"] >> ops.Normalize(out_dtype="float64")) + (
        (["i"] >> ops.FillMedian()) + (["s"] >> ops.JoinGroupby("f", ["count", "mean", "max"]))
    )
    whole = Workflow(node).fit(frame).transform(frame).collect()
    parts = Workflow(node).fit(frame[:cut]).update(frame[cut:]).transform(frame).collect()
    assert whole.columns == parts.columns
    for name in whole.columns:
        for left, right in zip(whole[name], parts[name], strict=True):
            assert left == right or math.isclose(left, right, rel_tol=1e-6, abs_tol=1e-6)


@SEEDED
@given(frames(min_rows=1), st.integers(2, 5))
def test_out_of_fold_means_use_no_row_of_the_own_fold(frame, folds):
    rows = frame.with_row_index("row").with_columns(y=pl.col("row").cast(pl.Float64) % 3)
    node = ["s"] >> ops.TargetEncoding("y", kfold=folds, fold_by="row", out_dtype="float64")
    workflow = Workflow(node).fit(rows)
    before = workflow.transform(rows, training=True).collect()["TE_s_y"]
    # Another target of one row changes nothing about that row's own encoding.
    changed = rows.with_columns(y=pl.when(pl.col("row") == 0).then(99.0).otherwise(pl.col("y")))
    after = Workflow(node).fit(changed).transform(changed, training=True).collect()["TE_s_y"]
    left, right = before[0], after[0]
    assert left == right or math.isclose(left, right, rel_tol=1e-9)
