"""Fourth proof: every plan of every operator translates to cuDF and streams."""

from __future__ import annotations

import pytest

from merlinkit.engine.plan import prove
from merlinkit.workflow.cudf_plans import cudf_plans
from tests.ops.examples import EXAMPLES
from tests.ops.test_values import workflow_of


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
