"""Categorify in depth: the table of ids, unknown values, limits, and bad columns."""

from __future__ import annotations

import subprocess
import sys

import polars as pl
import pytest
import xxhash

from merlinkit import Dataset, Workflow, ops
from merlinkit.engine.dialect import HASH_SEED
from merlinkit.errors import DataError, ParameterError, SchemaError

# Worked out by hand: z 4 times, "" and é twice each (bytes: "" < "é"), then once each and in the
# order of their UTF-8 bytes: B (42), a (61), a+combining accent (61 cc 81), ü (c3 bc), 日 (e6...).
WORDS = ["z", "", "é", "日", "z", "a", None, "z", "ü", "B", "é", "a\u0301", "z", "", None]
TABLE = {
    "id": [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10],
    "value": [None, None, None, "z", "", "é", "B", "a", "a\u0301", "ü", "日"],
    "count": [0, 2, 0, 4, 2, 2, 1, 1, 1, 1, 1],
}
IDS = [3, 4, 5, 10, 3, 7, 1, 3, 9, 6, 5, 8, 3, 4, 1]


def table_of(workflow: Workflow, column: str = "w") -> dict[str, list]:
    return workflow.state(workflow.output).tables[column].frame.collect().to_dict(as_series=False)


@pytest.mark.parametrize("files", [1, 2, 7])
def test_ids_worked_out_by_hand_for_any_number_of_files(files, tmp_path):
    frame = pl.DataFrame({"w": WORDS})
    for index in range(files):
        start, end = len(WORDS) * index // files, len(WORDS) * (index + 1) // files
        frame[start:end].write_parquet(tmp_path / f"{index}.parquet")
    workflow = Workflow(["w"] >> ops.Categorify()).fit(Dataset(tmp_path))
    assert table_of(workflow) == TABLE
    assert sum(TABLE["count"]) == len(WORDS)
    assert workflow.transform(Dataset(tmp_path)).collect()["w"].to_list() == IDS
    column = workflow.output_schema["w"]
    assert (column.domain.max, column.cardinality) == (10, 11)


def test_nan_counts_as_null_and_zeros_are_one():
    frame = pl.DataFrame({"w": [float("nan"), 0.0, -0.0, None, 2.5]})
    workflow = Workflow(["w"] >> ops.Categorify()).fit(frame)
    assert table_of(workflow) == {
        "id": [0, 1, 2, 3, 4],
        "value": [None, None, None, 0.0, 2.5],
        "count": [0, 2, 0, 2, 1],
    }


def test_rare_values_reach_the_same_bucket_at_fit_and_at_transform(tmp_path):
    frame = pl.DataFrame({"w": ["often", "often", "r1", "r2", "r3", None]})
    operator = ops.Categorify(freq_threshold=2, num_buckets=3)
    workflow = Workflow(["w"] >> operator).fit(frame)
    # The definition, with the library of the hash: 2 + XXH64 modulo 3.
    bucket = {
        w: 2 + xxhash.xxh64_intdigest(w.encode(), HASH_SEED) % 3 for w in ("r1", "r2", "r3", "new")
    }
    counts = [sum(bucket[w] == id for w in ("r1", "r2", "r3")) for id in (2, 3, 4)]
    assert table_of(workflow)["count"] == [0, 1, *counts, 2]
    assert table_of(workflow)["id"] == [0, 1, 2, 3, 4, 5]
    unseen = pl.DataFrame({"w": ["r1", "r2", "r3", "new", "often"]})
    expected = [*(bucket[w] for w in ("r1", "r2", "r3", "new")), 5]
    assert workflow.transform(unseen).collect()["w"].to_list() == expected
    # In another process, whose random hash seed is another one.
    workflow.save(tmp_path / "saved")
    unseen.write_parquet(tmp_path / "unseen.parquet")
    script = (
        "import sys, merlinkit as mk\n"
        "w = mk.Workflow.load(sys.argv[1])\n"
        "print(w.transform(sys.argv[2]).collect()['w'].to_list())"
    )
    printed = subprocess.run(
        [sys.executable, "-c", script, tmp_path / "saved", tmp_path / "unseen.parquet"],
        check=True,
        capture_output=True,
        text=True,
    ).stdout
    assert printed.strip() == str(expected)


def test_max_size_counts_the_reserved_ids():
    frame = pl.DataFrame({"w": ["a"] * 3 + ["b"] * 2 + ["c"]})
    for size in (4, 5, 6, 7):
        workflow = Workflow(["w"] >> ops.Categorify(max_size=size)).fit(frame)
        assert workflow.output_schema["w"].cardinality == min(size, 6)
    workflow = Workflow(["w"] >> ops.Categorify(max_size=4)).fit(frame)
    assert workflow.transform(frame).collect()["w"].to_list() == [3, 3, 3, 2, 2, 2]
    assert table_of(workflow)["count"] == [0, 0, 3, 3]


def test_parameters_by_column():
    frame = pl.DataFrame({"a": ["x", "x", "y"], "b": ["x", "x", "y"]})
    operator = ops.Categorify(freq_threshold={"a": 2}, num_buckets={"b": 4})
    schema = Workflow(["a", "b"] >> operator).fit(frame).output_schema
    assert (schema["a"].cardinality, schema["b"].cardinality) == (4, 8)


def test_parameters_for_a_column_that_is_not_there():
    operator = ops.Categorify(freq_threshold={"usr": 2})
    with pytest.raises(SchemaError, match="freq_threshold names column 'usr'.*Did you mean 'user'"):
        Workflow(["user"] >> operator).fit(pl.DataFrame({"user": ["x"]}))


def test_vocabulary_of_another_type():
    operator = ops.Categorify(vocabs={"n": ["one"]})
    with pytest.raises(
        ParameterError, match="vocabs for column 'n' do not fit its data type Int64"
    ):
        Workflow(["n"] >> operator).fit(pl.DataFrame({"n": [1]}))


def test_nested_lists_are_refused():
    with pytest.raises(SchemaError, match="and lists of these, can be encoded"):
        Workflow(["n"] >> ops.Categorify()).fit(pl.DataFrame({"n": [[[1]]]}))


def test_high_cardinality_streams(tmp_path):
    # Pain: a column in which each value occurs once.
    rows = 300_000
    frame = pl.select(w=pl.int_range(rows, dtype=pl.Int64).cast(pl.String))
    frame.write_parquet(tmp_path / "unique.parquet", row_group_size=10_000)
    workflow = Workflow(["w"] >> ops.Categorify())
    workflow.fit(Dataset(tmp_path / "unique.parquet"), work_dir=tmp_path / "work")
    assert workflow.output_schema["w"].cardinality == rows + 3
    ids = workflow.transform(Dataset(tmp_path / "unique.parquet")).collect()["w"]
    # All occur once, so ids follow the values' bytes.
    assert ids.to_list() == (frame["w"].rank("ordinal").cast(pl.Int64) + 2).to_list()


def test_update_keeps_ids_and_appends_by_count():
    # Pain: no incremental fit. Day 1: b twice, a; day 2: d twice, c, a, null.
    workflow = Workflow(["w"] >> ops.Categorify())
    workflow.fit(pl.DataFrame({"w": ["a", "b", "b"]}))
    workflow.update(pl.DataFrame({"w": ["d", "c", "a", "d", None]}))
    assert table_of(workflow) == {
        "id": [0, 1, 2, 3, 4, 5, 6],
        "value": [None, None, None, "b", "a", "d", "c"],
        "count": [0, 1, 0, 2, 2, 2, 1],
    }


def test_update_stops_at_max_size_and_counts_what_is_left_out():
    workflow = Workflow(["w"] >> ops.Categorify(max_size=5))
    workflow.fit(pl.DataFrame({"w": ["b", "b", "a"]}))
    workflow.update(pl.DataFrame({"w": ["c", "c", "c", "a"]}))
    assert table_of(workflow) == {
        "id": [0, 1, 2, 3, 4],
        "value": [None, None, None, "b", "a"],
        "count": [0, 0, 3, 2, 2],
    }


def test_update_leaves_a_given_vocabulary():
    workflow = Workflow(["w"] >> ops.Categorify(vocabs={"w": ["x"]}))
    workflow.fit(pl.DataFrame({"w": ["a"]})).update(pl.DataFrame({"w": ["b", "x"]}))
    assert table_of(workflow)["value"] == [None, None, None, "x"]


def test_an_update_that_fails_changes_nothing():
    workflow = Workflow((["w"] >> ops.Categorify()) + (["p"] >> ops.LogOp()))
    workflow.fit(pl.DataFrame({"w": ["a"], "p": [1.0]}))
    with pytest.raises(DataError, match="values of -1 or below"):
        workflow.update(pl.DataFrame({"w": ["b"], "p": [-5.0]}))
    encoded = workflow.transform(pl.DataFrame({"w": ["b"], "p": [0.0]})).collect()
    assert encoded["w"].to_list() == [2]


def test_a_joint_group_shares_domain_and_embedding_table():
    frame = pl.DataFrame({"from": ["a", "b"], "to": ["b", "c"]})
    schema = Workflow([["from", "to"]] >> ops.Categorify()).fit(frame).output_schema
    assert schema["from"].domain == schema["to"].domain
    assert (schema["from"].domain.name, schema["from"].cardinality) == ("from_to", 6)


def test_a_combination_comes_back():
    frame = pl.DataFrame({"u": ["a", "b", None], "n": [1, 2, 3], "x": [0.5, 1.5, 2.5]})
    node = ([["u", "n"]] >> ops.Categorify(encode_type="combo") >> ops.Rename("both")) + ["x"]
    workflow = Workflow(node).fit(frame)
    encoded = workflow.transform(frame).collect()
    assert encoded.columns == ["both", "x"]
    back = workflow.inverse_transform(encoded).collect().to_dict(as_series=False)
    assert back == {"u": ["a", "b", None], "n": [1, 2, None], "x": [0.5, 1.5, 2.5]}


@pytest.mark.parametrize(
    ("columns", "operator", "message"),
    [
        ([["s", "n"]], ops.Categorify(), "cannot share a vocabulary"),
        ([["s", "l"]], ops.Categorify(encode_type="combo"), "holds lists, which cannot be part"),
        ([["s", "l"], "s"], ops.Categorify(), "'s' would come out twice"),
        ([["s", "n"], "s_n"], ops.Categorify(encode_type="combo"), "are named 's_n'"),
        (
            [["s", "n"]],
            ops.Categorify(encode_type="combo", vocabs={"s_n": ["x"]}),
            "vocabs are given for the combination",
        ),
        ([["s", "l"]], ops.Categorify(max_size={"s": 9}), "not among its columns s_l"),
    ],
)
def test_groups_that_cannot_be(columns, operator, message):
    frame = pl.DataFrame({"s": ["a"], "n": [1], "l": [["a"]], "s_n": ["x"]})
    with pytest.raises(SchemaError, match=message):
        Workflow(columns >> operator).fit(frame)
