"""JoinExternal, DataStats and DropLowCardinality beyond their examples."""

from __future__ import annotations

import statistics

import polars as pl
import pytest

from merlinkit import Workflow, ops
from merlinkit.errors import DataError, ParameterError, SchemaError

ITEMS = pl.DataFrame({"item": ["a", "b", "b"], "brand": ["X", "Y", "Z"]})


def test_a_saved_workflow_does_not_need_the_table(tmp_path):
    path = tmp_path / "items.csv"
    ITEMS.head(2).write_csv(path)
    workflow = Workflow(["item"] >> ops.JoinExternal(path, on="item"))
    frame = pl.DataFrame({"item": ["b", "q"]})
    expected = workflow.fit_transform(frame).collect()
    workflow.save(tmp_path / "saved")
    path.unlink()
    loaded = Workflow.load(tmp_path / "saved")
    assert loaded.transform(frame).collect().equals(expected)
    assert str(tmp_path) not in (tmp_path / "saved" / "workflow.json").read_text()


@pytest.mark.parametrize(
    ("make", "error", "message"),
    [
        (lambda: ops.JoinExternal(ITEMS, on="item"), DataError, "1 keys of item .* example b;"),
        (lambda: ops.JoinExternal("no.csv", on="item"), ParameterError, "table: .*no.csv"),
        (lambda: ops.JoinExternal(ITEMS, on="itm"), SchemaError, "'itm', which it needs"),
        (lambda: ops.JoinExternal(ITEMS, on="n"), ParameterError, "table: no column 'n'"),
        (
            lambda: ops.JoinExternal(ITEMS, on="item", columns="brnd"),
            ParameterError,
            "no column 'brnd'. Did you mean 'brand'",
        ),
        (
            lambda: ops.JoinExternal(pl.DataFrame({"item": [1]}), on="item"),
            SchemaError,
            "key 'item' is String in the data and Int64 in the table",
        ),
        (
            lambda: ops.JoinExternal(pl.DataFrame({"item": ["a"], "n": [1]}), on="item"),
            SchemaError,
            "there is a column 'n' already",
        ),
    ],
)
def test_tables_that_do_not_fit(make, error, message):
    frame = pl.DataFrame({"item": ["a"], "n": [1]})
    with pytest.raises(error, match=message):
        Workflow(["item", "n"] >> make()).fit(frame)


def test_statistics_are_those_of_the_standard_library():
    x = [1.5, None, 2.5, 2.5, 10.0, float("nan")]
    frame = pl.DataFrame({"x": x, "l": [["a", "b", None], None, [], ["a"], ["c"], ["a"]]})
    workflow = Workflow(["x", "l"] >> ops.DataStats()).fit(frame)
    found = ops.DataStats.stats(workflow.state(workflow.output))
    known = [1.5, 2.5, 2.5, 10.0]
    assert found["x"] == {
        "values": 6,
        "nulls": 2,
        "distinct": 3,
        "min": 1.5,
        "max": 10.0,
        "mean": pytest.approx(statistics.fmean(known)),
        "std": pytest.approx(statistics.stdev(known)),
    }
    assert found["l"] == {
        "values": 6,
        "nulls": 1,
        "distinct": 3,
        "min": "a",
        "max": "c",
        "lists": 5,
        "min_length": 0,
        "max_length": 3,
    }


def test_columns_of_few_values_are_dropped_from_the_output():
    frame = pl.DataFrame({"city": ["a", "b"], "country": ["x", "x"], "price": [1.0, 2.0]})
    node = (["city", "country"] >> ops.Categorify() >> ops.DropLowCardinality(5)) + ["price"]
    workflow = Workflow(node).fit(frame)
    assert workflow.transform(frame).collect().columns == ["city", "price"]


def test_a_number_outside_of_the_reduced_type_is_an_error_that_names_the_column():
    workflow = Workflow(["age"] >> ops.ReduceDtypeSize()).fit(pl.DataFrame({"age": [1, 100]}))
    with pytest.raises(DataError, match="column 'age'.*300"):
        workflow.transform(pl.DataFrame({"age": [300]})).collect()
