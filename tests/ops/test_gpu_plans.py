"""Fourth proof: every plan of every operator translates to cuDF and streams."""

from __future__ import annotations

import polars as pl
import pytest

from merlinkit import Schema, Workflow, ops
from merlinkit.engine.cudf_dialect import CudfDialect
from merlinkit.engine.plan import prove
from merlinkit.ops import Operator
from merlinkit.ops.base import Finalized
from merlinkit.workflow.cudf_plans import cudf_plans, null_frame
from merlinkit.workflow.graph import as_node
from tests.ops.examples import EXAMPLES
from tests.ops.test_values import workflow_of


class LengthOf(Operator):
    """What an operator must not do: ``list.len`` has no cuDF form in cudf-polars."""

    def __init__(self, at_fit: bool = False) -> None:
        self.at_fit = at_fit

    def output_schema(self, inputs, state):
        return Schema(column.with_dtype(pl.Int64(), is_list=False) for column in inputs)

    def needs_fit(self, inputs):
        return self.at_fit

    def statistics(self, frame, inputs, dialect):
        longest = pl.col(inputs.names[0]).list.len().max().alias("longest")
        return {"longest": frame.select(longest)}

    def merge(self, left, right):
        return left

    def finalize(self, statistics, inputs, dialect):
        return Finalized(values=statistics)

    def transform(self, frame, inputs, state, dialect):
        return frame.with_columns(pl.col(inputs.names).list.len().cast(pl.Int64))


@pytest.mark.parametrize("at_fit", [False, True])
@pytest.mark.parametrize("first", [None, ops.Categorify()], ids=["alone", "after Categorify"])
def test_an_operator_that_cudf_cannot_run_is_found(at_fit, first):
    frame = pl.DataFrame({"l": [["a", "b"], ["a"]]})
    node = as_node(["l"]) if first is None else as_node(["l"]) >> first
    workflow = Workflow(node >> LengthOf(at_fit)).fit(frame)
    unsupported = [
        sentence
        for _, proof in proofs(workflow, Schema.from_polars(frame.schema))
        if proof is not None
        for sentence in proof.unsupported
    ]
    assert len(unsupported) == 1 + at_fit


@pytest.mark.parametrize(
    "example",
    [example for example in EXAMPLES if example.operator.invertible],
    ids=lambda example: example.id,
)
def test_inverse_plans_translate_and_stream(example):
    workflow = workflow_of(example).fit(example.frame)
    node = workflow.output
    inputs = workflow.graph().inputs(node)
    dialect = CudfDialect()
    frame = null_frame(workflow.output_schema, 1_000)
    plan = node.operator.inverse(frame, inputs, workflow.state(node), dialect)
    for part in [plan, *(item.plan for item in dialect.list_plans)]:
        proof = prove(part)
        assert proof.ok, (proof.unsupported, proof.fallbacks)


def proofs(workflow, data):
    for item in cudf_plans(workflow.output, data, workflow.states):
        streams = item.one_partition_reason is None
        yield item, None if item.plan is None else prove(item.plan, streams=streams)


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda example: example.id)
def test_plans_translate_and_stream(example):
    workflow = workflow_of(example).fit(example.frame)
    gaps = []
    for item, proof in proofs(workflow, workflow._data):
        if proof is None:
            gaps.append(item.step)
            continue
        assert not proof.unsupported, (item.step, proof.unsupported)
        if item.one_partition_reason is None:
            assert not proof.fallbacks, (item.step, proof.fallbacks)
    # A step outside of plans is only there with the reason that the example states.
    assert bool(gaps) == (example.engine_step is not None), gaps
