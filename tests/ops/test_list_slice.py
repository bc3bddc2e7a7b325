"""ListSlice and ValueCount beyond their examples: against Python's own slices."""

from __future__ import annotations

import itertools

import polars as pl
import pytest

from merlinkit import Workflow, ops
from merlinkit.errors import ParameterError, SchemaError
from merlinkit.schema import Domain

ENDS = [-7, -3, -2, -1, 0, 1, 2, 3, 7]


def slices() -> list[ops.ListSlice]:
    made = []
    for start, end in itertools.product(ENDS, [None, *ENDS]):
        try:
            made.append(ops.ListSlice(start, end))
        except ParameterError:
            continue
    return made


def python_slice(operator: ops.ListSlice) -> slice:
    if operator.end is not None:
        return slice(operator.start, operator.end)
    return slice(operator.start) if operator.start > 0 else slice(operator.start, None)


def column(lists: list[list[int]]) -> pl.DataFrame:
    return pl.DataFrame({"l": lists}, schema={"l": pl.List(pl.Int64)})


@pytest.mark.parametrize("operator", slices(), ids=repr)
def test_slices_are_python_s(operator):
    lists = [list(range(size)) for size in range(12)]
    result = Workflow(["l"] >> operator).fit_transform(column(lists)).collect()
    assert result["l"].to_list() == [values[python_slice(operator)] for values in lists]


@pytest.mark.parametrize("operator", slices(), ids=repr)
@pytest.mark.parametrize(("fewest", "most"), [(0, 0), (3, 3), (1, 4), (0, 12), (5, 20)])
def test_the_schema_has_the_lengths_that_are_left(operator, fewest, most):
    lists = [list(range(size)) for size in range(fewest, most + 1)]
    workflow = Workflow(["l"] >> ops.ValueCount() >> operator).fit(column(lists))
    left = [len(values[python_slice(operator)]) for values in lists]
    assert workflow.output_schema["l"].value_count == (min(left), max(left))


@pytest.mark.parametrize("operator", slices(), ids=repr)
def test_the_schema_has_the_bound_of_lists_of_any_length(operator):
    workflow = Workflow(["l"] >> operator).fit(column([[1]]))
    left = [len(range(size)[python_slice(operator)]) for size in range(60)]
    found = workflow.output_schema["l"].value_count
    # Longer than the bounds, so it grows without end.
    expected = None if max(left) > 20 else (0, max(left))
    assert found == expected


@pytest.mark.parametrize(
    ("dtype", "value"),
    [
        (pl.String, 0),
        (pl.Int64, "7"),
        (pl.Int64, "x"),
        (pl.Int64, 1.5),
        (pl.Int64, True),
        (pl.Int8, 300),
        (pl.Boolean, 0),
        (pl.Date, 0),
        (pl.List(pl.Int64), 0),
    ],
    ids=str,
)
def test_a_pad_value_that_the_elements_cannot_hold_is_an_error(dtype, value):
    frame = pl.DataFrame({"l": [[]]}, schema={"l": pl.List(dtype)})
    operator = ops.ListSlice(3, pad=True, pad_value=value)
    with pytest.raises(SchemaError, match=f"column 'l' is List.*cannot hold pad_value={value!r}"):
        Workflow(["l"] >> operator).fit(frame)


@pytest.mark.parametrize(
    ("dtype", "value", "padding"),
    [
        (pl.Float32, 0, 0.0),
        (pl.Float32, 0.5, 0.5),
        (pl.Int16, -1.0, -1),
        (pl.String, "", ""),
        (pl.Boolean, False, False),
    ],
    ids=str,
)
def test_a_pad_value_takes_the_type_of_the_elements(dtype, value, padding):
    frame = pl.DataFrame({"l": [[], None]}, schema={"l": pl.List(dtype)})
    operator = ops.ListSlice(2, pad=True, pad_value=value)
    result = Workflow(["l"] >> operator).fit_transform(frame).collect()
    assert result.schema == frame.schema
    assert result["l"].to_list() == [[padding] * 2, None]


def test_a_float32_takes_a_pad_value_that_it_rounds():
    frame = pl.DataFrame({"l": [[]]}, schema={"l": pl.List(pl.Float32)})
    node = ["l"] >> ops.ListSlice(1, pad=True, pad_value=0.1)
    assert Workflow(node).fit_transform(frame).collect()["l"].to_list() == [[pytest.approx(0.1)]]


def test_the_domain_grows_to_hold_the_padding():
    node = ["l"] >> ops.HashBucket(5) >> ops.ListSlice(3, pad=True, pad_value=9)
    found = Workflow(node).fit(pl.DataFrame({"l": [["a"]]})).output_schema["l"]
    assert (found.domain, found.value_count) == (Domain(0, 9), (3, 3))


def test_lists_of_lists_keep_their_type():
    frame = pl.DataFrame({"l": [[[1], [2, 3]], [[4]]]})
    workflow = Workflow(["l"] >> ops.ValueCount() >> ops.ListSlice(1)).fit(frame)
    assert workflow.output_schema["l"].value_count == (1, 1)
    result = workflow.transform(frame).collect()
    assert result.schema == workflow.output_schema.to_polars() == frame.schema
    assert result["l"].to_list() == [[[1]], [[4]]]
