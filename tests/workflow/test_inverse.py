"""Back from ids and normalized numbers to raw values."""

from __future__ import annotations

import polars as pl
import pytest

from merlinkit import Workflow, ops
from merlinkit.errors import SchemaError

LOGS = pl.DataFrame(
    {
        "user": ["b", "a", None, "b"],
        "tags": [["x", None], [], None, ["y", "x"]],
        "price": [1.0, 2.0, 3.0, None],
        "ts": [0, 3600, 7200, 10800],
    }
)


def test_scalars_lists_and_numbers_come_back():
    node = (["user"] >> ops.Categorify() >> ops.Rename("user_cat")) + (
        (["tags"] >> ops.Categorify()) + (["price"] >> ops.Normalize())
    )
    workflow = Workflow(node).fit(LOGS)
    encoded = workflow.transform(LOGS).collect()
    assert encoded.columns == ["user_cat", "tags", "price"]
    back = workflow.inverse_transform(encoded).collect()
    assert back.columns == ["user", "tags", "price"]
    assert back["user"].to_list() == ["b", "a", None, "b"]
    assert back["tags"].to_list() == [["x", None], [], None, ["y", "x"]]
    assert back["price"].to_list() == pytest.approx([1.0, 2.0, 3.0, None])


def test_padding_unknown_and_ids_out_of_range_are_null():
    workflow = Workflow(["user"] >> ops.Categorify()).fit(LOGS)
    ids = pl.DataFrame({"user": [0, 1, 2, 3, 4, 99, -1, None]})
    back = workflow.inverse_transform(ids).collect()
    assert back["user"].to_list() == [None, None, None, "b", "a", None, None, None]


def test_other_columns_pass_through():
    node = (["user"] >> ops.Categorify()) + (["ts"] >> ops.DateTime("hour", format="s"))
    workflow = Workflow(node).fit(LOGS)
    scored = pl.DataFrame({"score": [0.5], "user": [3], "ts_hour": [7]})
    back = workflow.inverse_transform(scored).collect()
    assert back.to_dict(as_series=False) == {"score": [0.5], "user": ["b"], "ts_hour": [7]}


def test_swapped_names_come_back():
    frame = pl.DataFrame({"a": ["p", "q"], "b": [1.0, 3.0]})
    node = (["a"] >> ops.Categorify()) + ["b"]
    workflow = Workflow(node >> ops.Rename(mapping={"a": "b", "b": "a"})).fit(frame)
    encoded = workflow.transform(frame).collect()
    assert encoded.to_dict(as_series=False) == {"b": [3, 4], "a": [1.0, 3.0]}
    back = workflow.inverse_transform(encoded).collect()
    assert back.to_dict(as_series=False) == {"a": ["p", "q"], "b": [1.0, 3.0]}


def test_two_columns_that_would_come_back_as_one_are_refused():
    node = (["user"] >> ops.Categorify()) + (
        ["user"] >> ops.Categorify(freq_threshold=2) >> ops.Rename("frequent")
    )
    workflow = Workflow(node).fit(LOGS)
    with pytest.raises(SchemaError, match="'frequent' would come back as 'user'"):
        workflow.inverse_transform(workflow.transform(LOGS).collect())


def test_integers_are_rounded_back():
    frame = pl.DataFrame({"n": [1, 1_000_003, None]})
    workflow = Workflow(["n"] >> ops.Normalize(out_dtype="float64")).fit(frame)
    back = workflow.inverse_transform(workflow.transform(frame).collect()).collect()
    assert back["n"].to_list() == [1, 1_000_003, None]
    assert back["n"].dtype == pl.Int64


def test_logarithms_give_whole_numbers_back_as_far_as_float32_goes():
    exact = pl.DataFrame({"n": range(0, 1_000_000, 997)})
    large = pl.DataFrame({"n": [10**7 + 3, 10**12 + 7, 2**53 + 1]})
    workflow = Workflow(["n"] >> ops.LogOp()).fit(exact)
    assert workflow.inverse_transform(workflow.transform(exact).collect()).collect().equals(exact)
    back = workflow.inverse_transform(workflow.transform(large).collect()).collect()
    assert back.schema == large.schema
    assert not back.equals(large)
    assert back["n"].to_list() == pytest.approx(large["n"].to_list(), rel=2e-6)


def test_columns_that_share_a_vocabulary_come_back_one_by_one():
    logs = pl.DataFrame({"from": ["a", "b", None], "to": ["b", "c", "a"]})
    workflow = Workflow([["from", "to"]] >> ops.Categorify()).fit(logs)
    encoded = workflow.transform(logs).collect()
    assert workflow.inverse_transform(encoded).collect().equals(logs)
    assert workflow.inverse_transform(encoded.select("to")).collect().equals(logs.select("to"))


def test_one_column_that_comes_out_twice_comes_back_once():
    logs = pl.DataFrame({"item": ["a", "b", "a"]})
    ids = ["item"] >> ops.Categorify()
    workflow = Workflow((ids >> ops.Rename(name="x")) + (ids >> ops.Rename(name="y"))).fit(logs)
    encoded = workflow.transform(logs).collect()
    assert workflow.inverse_transform(encoded.select("y")).collect().equals(logs)
    with pytest.raises(SchemaError, match="'y' would come back as 'item', and so does another"):
        workflow.inverse_transform(encoded).collect()
