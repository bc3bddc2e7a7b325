"""From raw logs to processed parts: ingest, split, fit, transform, profile."""

from __future__ import annotations

import json
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from merlinkit.atomic import write_json
from merlinkit.data.dataset import Dataset
from merlinkit.data.failures import data_errors
from merlinkit.data.manifest import Manifest
from merlinkit.data.splits import PARTS
from merlinkit.engine.base import Engine
from merlinkit.engine.select import get_engine
from merlinkit.errors import ArtifactError, DataError
from merlinkit.pipeline.config import RunConfig
from merlinkit.pipeline.parts import PartView, as_parquet, split_parts
from merlinkit.pipeline.run_dir import DATA_SECTIONS, RunDir, fingerprint
from merlinkit.pipeline.source import open_dataset, source_state
from merlinkit.pipeline.stage import Reporter
from merlinkit.report.profile import build_profile
from merlinkit.workflow.workflow import Workflow

__all__ = ["run_etl"]

_LATER_STAGES = ("etl", "train", "evaluate")
_PROFILE = "profile.json"


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
    work = run.work
    with reporter.stage("ingest", f"ingest {config.dataset.name}") as notes:
        made_from = fingerprint(
            {
                "config": {key: config.raw.get(key) for key in ("dataset", "split", "features")},
                "seed": config.seed,
                "row_group_rows": config.engine.row_group_rows,
                "source": source_state(config.dataset, opened),
            }
        )
        if _is_complete(run, made_from):
            reporter.progress("processed data of the same configuration is there already")
            _remove(work)
            return made_from
        run.forget_stages(_LATER_STAGES)
        run.save_config(config.raw, DATA_SECTIONS)
        dataset = open_dataset(config.dataset, work) if opened is None else opened
        engine = get_engine(config.engine.name, row_group_rows=config.engine.row_group_rows)
        with data_errors():
            rows = as_parquet(dataset, work, engine)
        notes.rows = rows.num_rows()
        for message in dict.fromkeys([*dataset.notes, *_dropped(dataset)]):
            reporter.note(message)
    _split_fit_transform(config, rows, run, engine, reporter, made_from)
    run.finish_stage("etl", made_from, {"rows": notes.rows})
    # What the next stages need is complete; the rest could only grow stale.
    _remove(work)
    return made_from


def _split_fit_transform(
    config: RunConfig,
    dataset: Dataset,
    run: RunDir,
    engine: Engine,
    reporter: Reporter,
    made_from: str,
) -> None:
    with reporter.stage("split", f"split by {config.split!r}"):
        _, parts = split_parts(dataset, config.split, engine, run.work)
    with reporter.stage("fit", "fit features on the training part"):
        workflow = Workflow(config.features)
        _remove(run.work / "fit")
        workflow.fit(parts["train"], engine, work_dir=run.work / "fit", progress=reporter.progress)
        workflow.save(run.workflow, engine)
    with reporter.stage("transform", "transform all parts") as notes:
        manifests = {
            part: _transform(
                workflow,
                view,
                run.data(part),
                engine,
                made_from,
                reporter,
                training=part == "train",
            )
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


def _transform(
    workflow: Workflow,
    view: PartView,
    folder: Path,
    engine: Engine,
    made_from: str,
    reporter: Reporter,
    *,
    training: bool,
) -> Manifest:
    details = {"fingerprint": made_from}
    result = workflow.transform(view, engine, training=training)
    manifest = result.to_parquet(folder, overwrite=True, details=details)
    reporter.progress(f"{view.name}: {manifest.rows:,} rows in {len(manifest.files)} files")
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
    with data_errors():
        profile: Any = build_profile(
            {part: view.scan() for part, view in parts.items()}, dataset.schema, engine
        )
    write_json(folder / _PROFILE, profile)
