"""From processed parts to a trained model."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import TYPE_CHECKING

from merlinkit.data.manifest import Manifest
from merlinkit.data.splits import PARTS
from merlinkit.engine.cpu import CpuEngine
from merlinkit.errors import ArtifactError, RunDirError
from merlinkit.pipeline.checks import check_processed, check_target, note_of_scale
from merlinkit.pipeline.config import RunConfig
from merlinkit.pipeline.preflight import check_model_columns
from merlinkit.pipeline.run_dir import MODEL_SECTIONS, RunDir, fingerprint
from merlinkit.pipeline.stage import Reporter
from merlinkit.schema import Schema, Tags

if TYPE_CHECKING:
    from merlinkit.loader import Loader

__all__ = ["TRAIN_STARTED", "has_model", "make_loader", "processed_schema", "run_train"]

_LATER_STAGES = ("train", "evaluate")
# What a model leaves in a run directory.
_FOLDERS = ("checkpoints", "tensorboard")
_FILES = ("metrics.json", "calibration.json")
TRAIN_STARTED = "train-started"
"""Marks in the record that checkpoints in the folder are of a certain configuration."""


def run_train(config: RunConfig, run: RunDir, reporter: Reporter, made_from: str) -> str:
    """Train the model of the configuration on the processed parts, unless that is done already.

    A training that was interrupted goes on from its last checkpoint. Where that, or the model of
    a complete training, is damaged, it starts anew.

    Parameters
    ----------
    config
        The configuration.
    run
        The run directory, with complete processed parts.
    reporter
        Where to tell what goes on.
    made_from
        Fingerprint of what the processed parts were made from.

    Returns
    -------
    str
        Fingerprint of what the model was made from.

    Raises
    ------
    DataError, ConfigError, SchemaError
        If a model cannot learn from the processed parts; an earlier model is then as it was.
    """
    # PyTorch takes seconds to import, and verbs that need no model do without.
    import torch

    from merlinkit.models.registry import build_model
    from merlinkit.training import Trainer

    trained_from = fingerprint(
        {
            "data": made_from,
            "config": {key: config.raw.get(key) for key in MODEL_SECTIONS},
            "seed": config.seed,
        }
    )
    started = run.stage_details(TRAIN_STARTED) or {}
    resume = started.get("fingerprint") == trained_from
    if resume:
        done = run.stage_is_done("train", trained_from)
        damage = _damage(run.path / "checkpoints", done=done)
        if damage is not None:
            reporter.note(f"{damage}; training starts anew")
            resume = False
        elif done:
            reporter.progress("a model of the same configuration is trained already")
            return trained_from
    schema = processed_schema(run)
    _check_data(config, run, schema, reporter)
    run.forget_stages(_LATER_STAGES)
    if not resume:
        _drop_model(run)
    run.save_config(config.raw, MODEL_SECTIONS)
    if not resume:
        run.finish_stage(TRAIN_STARTED, trained_from, {})
    with reporter.stage("train", f"train {config.model.name}") as notes:
        model = build_model(config.model.name, config.model.parameters, schema, seed=config.seed)
        size = sum(parameter.numel() for parameter in model.parameters())
        reporter.progress(f"{size:,} parameters")
        if config.trainer.threads is not None:
            torch.set_num_threads(config.trainer.threads)
        trainer = Trainer(config.trainer, schema)
        train = make_loader(config, run.data("train"), schema, shuffle=True)
        has_valid = Manifest.load(run.data("valid")).rows > 0
        valid = make_loader(config, run.data("valid"), schema, shuffle=False) if has_valid else None
        notes.rows = train.num_rows
        result = trainer.fit(model, train, valid, run.path, reporter.events, resume=resume)
        run.finish_stage(
            "train",
            trained_from,
            {
                "steps": result.steps,
                "epochs": result.epochs,
                "samples_per_second": result.samples_per_second,
                "stopped_early": result.stopped_early,
            },
        )
    return trained_from


def _damage(checkpoints: Path, *, done: bool) -> str | None:
    """Return what is wrong with the checkpoints that a training left, None if nothing is."""
    from merlinkit.training.checkpoint import CheckpointStore

    store = CheckpointStore(checkpoints)
    try:
        # Killed before its first checkpoint, a training goes on from its first step.
        if done or store.path("last") is not None:
            store.read("best", training=False)
        if not done and store.path("last") is not None:
            store.read("last")
    except ArtifactError as error:
        return str(error)
    return None


def _check_data(config: RunConfig, run: RunDir, schema: Schema, reporter: Reporter) -> None:
    check_model_columns(schema)
    # Training is in this process, and so are its checks.
    engine = CpuEngine()
    check_target(schema, run.data("train"), engine)
    for part in PARTS:
        check_processed(schema, run.data(part), part, engine)
    note = note_of_scale(schema, run.data("train"), engine)
    if note is not None:
        reporter.note(note)


def has_model(path: Path) -> bool:
    """Tell whether a training left a checkpoint in a run directory."""
    folder = path / "checkpoints"
    return folder.is_dir() and any(folder.iterdir())


def _drop_model(run: RunDir) -> None:
    """Delete a model and what was measured of it; the processed data stays."""
    # First of all, so that a kill in between does not leave half a model that counts.
    run.forget_stages((TRAIN_STARTED,))
    for name in _FOLDERS:
        shutil.rmtree(run.path / name, ignore_errors=True)
    for name in _FILES:
        (run.path / name).unlink(missing_ok=True)


def processed_schema(run: RunDir) -> Schema:
    """Return the columns of the processed training part.

    Raises
    ------
    RunDirError
        If the run directory has no complete processed data.
    """
    try:
        return Manifest.load(run.data("train")).schema
    except ArtifactError as error:
        raise RunDirError(
            f"run_dir {run.path} has no processed data ({error}); run etl first, with the same "
            "run_dir"
        ) from error


def make_loader(config: RunConfig, folder: Path, schema: Schema, *, shuffle: bool) -> Loader:
    """Return the batches of a processed part: features and target, nothing else."""
    from merlinkit.loader import Loader
    from merlinkit.models.inputs import model_inputs, target_column

    names = [*model_inputs(schema).names, target_column(schema).name]
    trainer = config.trainer
    return Loader(
        folder,
        schema,
        batch_size=trainer.batch_size if shuffle else trainer.eval_batch_size,
        columns=names,
        shuffle=shuffle,
        seed=config.seed,
        buffer_rows=config.loader.buffer_rows,
        prefetch=config.loader.prefetch,
    )


def is_binary(schema: Schema) -> bool:
    """Tell whether the target is a class, not a number."""
    from merlinkit.models.inputs import target_column

    return Tags.REGRESSION not in target_column(schema).tags
