"""From raw logs to processed parts: ingest, split, fit, transform, profile."""

from __future__ import annotations

import json
import secrets
import shutil
from collections.abc import Mapping
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import Any

import polars as pl

from merlinkit.atomic import write_json, write_text
from merlinkit.data.dataset import Dataset
from merlinkit.data.failures import data_errors
from merlinkit.data.manifest import Manifest
from merlinkit.data.splits import PARTS
from merlinkit.engine.base import Engine, LocalEngine
from merlinkit.engine.task import Task
from merlinkit.errors import ArtifactError, DataError
from merlinkit.pipeline.config import RunConfig
from merlinkit.pipeline.parts import PartView, as_parquet, split_parts
from merlinkit.pipeline.run_dir import DATA_SECTIONS, RunDir, fingerprint
from merlinkit.pipeline.source import (
    SOURCE_FILE,
    open_dataset,
    require_same_source,
    source_state,
)
from merlinkit.pipeline.stage import Reporter
from merlinkit.report.profile import build_profile
from merlinkit.schema import JSONValue, Schema
from merlinkit.workflow.workflow import Workflow

__all__ = ["run_etl"]

_LATER_STAGES = ("etl", "train", "evaluate")
_PROFILE = "profile.json"
_FITTED = "fitted"
_FIT = "fit"


def run_etl(
    config: RunConfig,
    run: RunDir,
    reporter: Reporter,
    opened: Dataset | None,
) -> str:
    """Process the data set into ``data/<part>`` and ``workflow``, unless that is done already.

    Parameters
    ----------
    config
        The configuration.
    run
        The run directory.
    reporter
        Where to tell what goes on.
    opened
        The data set as `preflight` opened it; None if it is to be generated.

    Returns
    -------
    str
        Fingerprint of what the result was made from.
    """
    source = source_state(config.dataset, opened)
    made_from = fingerprint(
        {
            "config": {key: config.raw.get(key) for key in ("dataset", "split", "features")},
            "seed": config.seed,
            "output": asdict(config.engine.output),
            "source": source,
        }
    )
    if _is_complete(run, made_from):
        reporter.progress("processed data of the same configuration is there already")
        _remove(run.work)
        return made_from
    require_same_source(run.path, source, overwrite=config.overwrite)
    run.forget_stages(_LATER_STAGES)
    run.save_config(config.raw, DATA_SECTIONS)
    write_json(run.path / SOURCE_FILE, source)
    with config.engine.open() as engine:
        if engine.where:
            reporter.note(f"{engine.where}; memory is shown of this process alone")
        with reporter.stage("ingest", f"ingest {config.dataset.name}") as notes:
            rows = _ingest(config, run, engine, reporter, opened)
            notes.rows = rows.num_rows()
        _split_fit_transform(config, rows, run, engine, reporter, made_from)
    # Half of the work may have been done with what a file was like before.
    require_same_source(run.path, source_state(config.dataset, opened), overwrite=False)
    run.finish_stage("etl", made_from, {"rows": notes.rows})
    # What the next stages need is complete; the rest could only grow stale.
    _remove(run.work)
    return made_from


def _ingest(
    config: RunConfig, run: RunDir, engine: Engine, reporter: Reporter, opened: Dataset | None
) -> Dataset:
    """Return the data set as parquet."""
    dataset = open_dataset(config.dataset, run.work) if opened is None else opened
    run.work.mkdir(parents=True, exist_ok=True)
    engine.require_visible([run.work, *dataset.files[:1]])
    with data_errors():
        rows = as_parquet(dataset, run.work, engine)
    for message in dict.fromkeys([*dataset.notes, *_dropped(dataset)]):
        reporter.note(message)
    return rows


def _split_fit_transform(
    config: RunConfig,
    dataset: Dataset,
    run: RunDir,
    engine: Engine,
    reporter: Reporter,
    made_from: str,
) -> None:
    with reporter.stage("split", f"split by {config.split!r}"):
        _, parts = split_parts(dataset, config.split, engine, run.work, made_from)
    with reporter.stage("fit", "fit features on the training part"):
        workflow, fit = _fit(config, parts["train"], run, engine, reporter, made_from)
    with reporter.stage("transform", "transform all parts") as notes:
        manifests = {
            part: _transform(workflow, part, view, run, engine, made_from, fit, reporter)
            for part, view in parts.items()
        }
        notes.rows = sum(manifest.rows for manifest in manifests.values())
        if manifests["train"].rows == 0:
            raise DataError(
                "no row is left for training: the operators that remove rows (Filter, Dropna, "
                f"KCore) left none of the training part of {config.split!r}; loosen them, or "
                "choose another split"
            )
    with reporter.stage("profile", "profile the raw data"):
        _profile(parts, dataset, run.path, engine)


def _fit(
    config: RunConfig,
    rows: PartView,
    run: RunDir,
    engine: Engine,
    reporter: Reporter,
    made_from: str,
) -> tuple[Workflow, str]:
    """Return the fitted workflow and a name of this fit, both as a killed run left them, or new.

    A repeated fit may differ in the last bit of a sum, so what was transformed by one fit is not
    mixed with what another one transforms: hence the name.
    """
    mark = run.work / _FITTED
    try:
        fit = mark.read_text(encoding="utf-8")
        if fit.startswith(f"{made_from} "):
            workflow = Workflow.load(run.workflow)
            reporter.progress("a run that was interrupted has fitted them already")
            return workflow, fit
    except (OSError, UnicodeDecodeError, ArtifactError):
        pass
    mark.unlink(missing_ok=True)
    workflow = Workflow(config.features)
    _remove(run.work / "fit")
    workflow.fit(rows, engine, work_dir=run.work / "fit", progress=reporter.progress)
    workflow.save(run.workflow, engine)
    fit = f"{made_from} {secrets.token_hex(8)}"
    write_text(mark, fit)
    return workflow, fit


def _transform(
    workflow: Workflow,
    part: str,
    view: PartView,
    run: RunDir,
    engine: Engine,
    made_from: str,
    fit: str,
    reporter: Reporter,
) -> Manifest:
    folder = run.data(part)
    manifest = _transformed(folder, fit)
    if manifest is None:
        result = workflow.transform(view, engine, training=part == "train")
        details: dict[str, JSONValue] = {"fingerprint": made_from, _FIT: fit}
        manifest = result.to_parquet(folder, overwrite=True, resume=fit, details=details)
    reporter.progress(f"{view.name}: {manifest.rows:,} rows in {len(manifest.files)} files")
    return manifest


def _transformed(folder: Path, fit: str) -> Manifest | None:
    """Return the manifest of a part that a killed run has completed, None if there is none."""
    try:
        manifest = Manifest.load(folder)
        if manifest.details.get(_FIT) != fit:
            return None
        manifest.verify(folder)
    except (ArtifactError, OSError):
        return None
    return manifest


def _is_complete(run: RunDir, made_from: str) -> bool:
    """Tell whether everything that etl leaves is there, whole, and of this configuration."""
    if not run.stage_is_done("etl", made_from):
        return False
    try:
        json.loads((run.path / _PROFILE).read_text(encoding="utf-8"))
        Workflow.load(run.workflow)
        for part in PARTS:
            manifest = Manifest.load(run.data(part))
            if manifest.details.get("fingerprint") != made_from:
                return False
            manifest.verify(run.data(part))
    except (ArtifactError, OSError, ValueError):
        # Damaged after the fact: made again, as if it had never been complete.
        return False
    return True


def _remove(folder: Path) -> None:
    shutil.rmtree(folder, ignore_errors=True)


def _dropped(dataset: Dataset) -> list[str]:
    """Return what to say about rows that could not be read."""
    malformed = dataset.malformed
    if not malformed.count:
        return []
    shown = "; ".join(
        f"{row.file} line {row.line}: {row.reason} ({row.text!r})" for row in malformed.sample
    )
    return [f"{malformed.count} malformed rows were skipped, for example {shown}"]


def _profile(parts: Mapping[str, PartView], dataset: Dataset, folder: Path, engine: Engine) -> None:
    tasks = [
        Task(f"profile {view.name}", partial(_profile_part, part, view.scan(), dataset.schema))
        for part, view in parts.items()
    ]
    profile: dict[str, Any] = {"parts": {}, "sample": {}, "columns": []}
    for part in engine.run(tasks):
        profile["parts"].update(part["parts"])
        profile["sample"].update(part["sample"])
        profile["columns"] += part["columns"]
    write_json(folder / _PROFILE, profile)


def _profile_part(
    part: str, frame: pl.LazyFrame, schema: Schema, engine: LocalEngine
) -> dict[str, Any]:
    with data_errors(f"the {part} part cannot be profiled"):
        return build_profile({part: frame}, schema, engine)
