"""Run directories for the tests of the report."""

from __future__ import annotations

from pathlib import Path

import pytest

from merlinkit.schema import Column, Domain, Schema
from tests.report.runs import CALIBRATION, METRICS, RUN, Run, full_events, profile_entry


@pytest.fixture
def run(tmp_path: Path) -> Run:
    """A run directory that holds a configuration and nothing else."""
    path = tmp_path / "2026-11-30_10-00-00"
    path.mkdir()
    (path / "config.yaml").write_text("dataset:\n  name: movies\nseed: 42\n", encoding="utf-8")
    return Run(path)


@pytest.fixture
def full_run(run: Run) -> Run:
    """A run directory with all that a run leaves."""
    run.json("run.json", RUN)
    run.json("metrics.json", METRICS)
    run.json("calibration.json", CALIBRATION)
    run.json(
        "profile.json",
        {
            "parts": {"train": 1234, "valid": 30, "test": 40},
            "columns": [profile_entry("price"), profile_entry("price", "test", rows=40, nulls=0)],
        },
    )
    run.events(full_events())
    run.schema(
        Schema(
            [
                Column("item", "Int64", domain=Domain(0, 999, "items"), tags=["categorical"]),
                Column("seen", "List(Int64)", domain=Domain(0, 999, "items"), tags=["categorical"]),
                Column("price", "Float32", tags=["continuous"]),
                Column("click", "Int8", domain=Domain(0, 1), tags=["target"]),
            ]
        )
    )
    return run
