"""Second proof: however the data is cut into files, row groups and orders, the result is one."""

from __future__ import annotations

import polars as pl
import pytest
from polars.testing import assert_frame_equal

from merlinkit import Dataset, Workflow, ops
from merlinkit.errors import MerlinkitError
from merlinkit.ops import Operator
from tests.ops.examples import EXAMPLES
from tests.ops.test_values import assert_values, workflow_of

CUTS = (1, 2, 5, 7, 17)


def write_files(frame: pl.DataFrame, folder, files: int) -> None:
    """Cut a frame into files of row groups of one row, empty files among them."""
    folder.mkdir()
    for index in range(files):
        start = frame.height * index // files
        end = frame.height * (index + 1) // files
        frame[start:end].write_parquet(folder / f"{index:02d}.parquet", row_group_size=1)


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda example: example.id)
@pytest.mark.parametrize("files", CUTS)
def test_any_files(example, files, tmp_path):
    write_files(example.frame, tmp_path / "data", files)
    data = Dataset(tmp_path / "data")
    workflow = Workflow(list(example.columns) >> example.operator)
    result = workflow.fit_transform(data)
    assert_values(result.collect(), example.expected)
    result.to_parquet(tmp_path / "out")
    written = pl.read_parquet(tmp_path / "out" / "*.parquet")
    if not example.ordered:
        expected = pl.DataFrame(dict(example.expected), schema=dict(example.dtypes))
        assert_frame_equal(written, expected, check_row_order=False)
        return
    assert_values(written, example.expected)


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda example: example.id)
def test_any_order_and_files_that_are_all_null(example, tmp_path):
    shuffled = example.frame.sample(fraction=1.0, shuffle=True, seed=7)
    nulls = pl.DataFrame(
        {name: [None] * 3 for name in example.frame.columns}, schema=example.frame.schema
    )
    write_files(shuffled, tmp_path / "data", 3)
    if not example.nulls_count:
        nulls.write_parquet(tmp_path / "data" / "00-nulls.parquet")
    workflow = Workflow(list(example.columns) >> example.operator).fit(Dataset(tmp_path / "data"))
    result = workflow.transform(example.frame, training=True)
    assert_values(result.collect(), example.expected)


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda example: example.id)
@pytest.mark.parametrize("cut", [0, 1, 2])
def test_statistics_of_parts_merge_exactly(example, cut):
    from merlinkit.engine.cpu import CpuEngine
    from merlinkit.ops.base import State, Table

    workflow = workflow_of(example).fit(example.frame)
    node = workflow.output
    inputs = workflow.graph().inputs(node)
    operator = node.operator
    if not operator.needs_fit(inputs):
        assert workflow.state(node) == State()
        return
    dialect = CpuEngine().dialect
    frame = example.frame
    left = operator.statistics(frame[:cut].lazy(), inputs, dialect)
    right = operator.statistics(frame[cut:].lazy(), inputs, dialect)
    merged = operator.merge(left, right)
    history = [{name: plan.collect().height for name, plan in merged.items()}]
    while (further := operator.refine(merged, history)) is not None:
        merged = further
        history.append({name: plan.collect().height for name, plan in merged.items()})
    finalized = operator.finalize(merged, inputs, dialect)
    state = State(
        {name: plan.collect().to_dicts() for name, plan in finalized.values.items()},
        {name: Table(plan, plan.collect().height) for name, plan in finalized.tables.items()},
    )
    result = operator.transform_training(frame.lazy(), inputs, state, dialect).collect()
    assert_values(result.select(example.expected.keys()), example.expected)


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda example: example.id)
@pytest.mark.parametrize("cut", [0, 1, 3])
def test_update_with_more_rows_is_a_fit_on_all(example, cut):
    workflow = workflow_of(example).fit(example.frame[:cut])
    before = {
        name: table.frame.collect()
        for name, table in workflow.state(workflow.output).tables.items()
    }
    operator = workflow.output.operator
    fitted = operator.needs_fit(workflow.graph().inputs(workflow.output))
    if (
        fitted
        and type(operator).recall is Operator.recall
        and not isinstance(operator, ops.Categorify)
    ):
        with pytest.raises(MerlinkitError, match="cannot be updated"):
            workflow.update(example.frame[cut:])
        return
    workflow.update(example.frame[cut:])
    if not isinstance(example.operator, ops.Categorify):
        assert_values(workflow.transform(example.frame, training=True).collect(), example.expected)
        return
    # Vocabularies keep every id, so they depend on what came first; the counts add up to the same.
    whole = workflow_of(example).fit(example.frame)
    tables = whole.state(whole.output).tables
    for name, table in workflow.state(workflow.output).tables.items():
        after = table.frame.collect()
        kept = before[name].drop("count")
        assert after.drop("count")[: kept.height].equals(kept)
        assert after["id"].to_list() == list(range(after.height))
        assert after["count"].sum() == tables[name].frame.collect()["count"].sum()
