"""First proof: values worked out by hand, with nulls, unseen values and empty frames."""

from __future__ import annotations

import math

import polars as pl
import pytest

from merlinkit import Workflow
from merlinkit.ops import OPERATORS
from tests.ops.examples import BAD_PARAMETERS, EXAMPLES, Example

each_example = pytest.mark.parametrize("example", EXAMPLES, ids=lambda example: example.id)


def assert_values(frame: pl.DataFrame, expected) -> None:
    assert frame.columns == list(expected)
    for name, wanted in expected.items():
        found = frame[name].to_list()
        assert len(found) == len(wanted), (name, found)
        for row, (left, right) in enumerate(zip(found, wanted, strict=True)):
            assert equal(left, right), f"{name}[{row}]: {left!r} found, {right!r} expected"


def equal(left, right) -> bool:
    if isinstance(left, list) and isinstance(right, list | tuple):
        return len(left) == len(right) and all(map(equal, left, right))
    if isinstance(left, float) and isinstance(right, float):
        return (math.isnan(left) and math.isnan(right)) or math.isclose(
            left, right, rel_tol=1e-6, abs_tol=1e-6
        )
    return left == right and type(left) is type(right)


def workflow_of(example: Example) -> Workflow:
    return Workflow(list(example.columns) >> example.operator)


@each_example
def test_values_worked_out_by_hand(example):
    workflow = workflow_of(example)
    result = workflow.fit_transform(example.frame).collect()
    assert_values(result, example.expected)
    assert dict(result.schema) == dict(example.dtypes)
    if example.unseen is not None:
        assert_values(workflow.transform(example.unseen).collect(), example.unseen_expected)


@each_example
def test_schema_is_what_comes_out(example):
    workflow = workflow_of(example).fit(example.frame)
    result = workflow.transform(example.frame).collect()
    assert workflow.output_schema.to_polars() == result.schema
    for column in workflow.output_schema:
        if column.domain is None:
            continue
        values = result[column.name]
        values = values.explode(empty_as_null=False) if column.is_list else values
        values = values.drop_nulls()
        if len(values):
            assert column.domain.min <= values.min()
            assert values.max() <= column.domain.max


@each_example
def test_empty_frame_after_fit(example):
    workflow = workflow_of(example).fit(example.frame)
    empty = workflow.transform(example.frame.clear()).collect()
    assert empty.height == 0
    assert empty.schema == workflow.output_schema.to_polars()


@each_example
def test_fit_on_an_empty_frame(example):
    workflow = workflow_of(example).fit(example.frame.clear())
    assert workflow.transform(example.frame.clear()).collect().height == 0
    # What was not seen at fit still gets an answer of the right type.
    result = workflow.transform(example.frame).collect()
    assert result.schema == workflow.output_schema.to_polars()


def test_every_operator_has_an_example_and_a_bad_parameter():
    assert {example.operator.name for example in EXAMPLES} == set(OPERATORS)
    without_parameters = {"DataStats", "Dropna", "ValueCount"}
    assert {name for name, _, _ in BAD_PARAMETERS} | without_parameters == set(OPERATORS)
