"""Third proof: saved, moved and loaded in a new process, a workflow does the same."""

from __future__ import annotations

import shutil
import subprocess
import sys

import polars as pl
import pytest
from polars.testing import assert_frame_equal

from tests.ops.examples import EXAMPLES
from tests.ops.test_values import workflow_of

SCRIPT = """
import sys
from pathlib import Path
import polars as pl
from merlinkit import Workflow
for folder in sorted(Path(sys.argv[1]).iterdir()):
    workflow = Workflow.load(folder / "moved")
    for name in ("seen", "unseen"):
        source = folder / f"{name}.parquet"
        if source.exists():
            workflow.transform(source).to_parquet(folder / f"{name}-out")
    workflow.output_schema.save(folder / "schema.json")
"""


@pytest.fixture(scope="module")
def elsewhere(tmp_path_factory):
    """All examples, saved here and applied in one other process in another folder."""
    root = tmp_path_factory.mktemp("examples")
    for index, example in enumerate(EXAMPLES):
        folder = root / f"{index:03d}"
        folder.mkdir()
        workflow_of(example).fit(example.frame).save(folder / "saved")
        shutil.move(folder / "saved", folder / "moved")
        example.frame.write_parquet(folder / "seen.parquet")
        if example.unseen is not None:
            example.unseen.write_parquet(folder / "unseen.parquet")
    subprocess.run(
        [sys.executable, "-W", "error", "-c", SCRIPT, str(root)],
        check=True,
        cwd=tmp_path_factory.mktemp("elsewhere"),
    )
    return root


@pytest.mark.parametrize("index", range(len(EXAMPLES)), ids=lambda index: EXAMPLES[index].id)
def test_loaded_elsewhere_it_does_the_same(index, elsewhere):
    example = EXAMPLES[index]
    folder = elsewhere / f"{index:03d}"
    workflow = workflow_of(example).fit(example.frame)
    for name, frame in (("seen", example.frame), ("unseen", example.unseen)):
        if frame is not None:
            loaded = pl.read_parquet(folder / f"{name}-out" / "*.parquet")
            assert_frame_equal(loaded, workflow.transform(frame).collect())
    assert workflow.output_schema == type(workflow.output_schema).load(folder / "schema.json")
