"""From processed parts to a trained model."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import TYPE_CHECKING

from merlinkit.data.manifest import Manifest
from merlinkit.errors import ArtifactError, RunDirError
from merlinkit.pipeline.config import RunConfig
from merlinkit.pipeline.run_dir import RunDir, fingerprint
from merlinkit.pipeline.stage import Reporter
from merlinkit.schema import Schema, Tags

if TYPE_CHECKING:
    from merlinkit.loader import Loader

__all__ = ["TRAIN_STARTED", "make_loader", "processed_schema", "run_train"]

_LATER_STAGES = ("train", "evaluate")
TRAIN_STARTED = "train-started"
"""Marks in the record that checkpoints in the folder are of a certain configuration."""


def run_train(config: RunConfig, run: RunDir, reporter: Reporter, made_from: str) -> str:
    """Train the model of the configuration on the processed parts, unless that is done already.

    A training that was interrupted goes on from its last checkpoint.

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
    """
    # PyTorch takes seconds to import, and verbs that need no model do without.
    import torch

    from merlinkit.models.registry import build_model
    from merlinkit.training import Trainer

    trained_from = fingerprint(
        {
            "data": made_from,
            "config": {key: config.raw.get(key) for key in ("model", "trainer", "loader")},
            "seed": config.seed,
        }
    )
    checkpoints = run.path / "checkpoints"
    if run.stage_is_done("train", trained_from) and checkpoints.is_dir():
        reporter.progress("a model of the same configuration is trained already")
        return trained_from
    started = run.stage_details(TRAIN_STARTED) or {}
    resume = started.get("fingerprint") == trained_from
    run.forget_stages(_LATER_STAGES)
    if not resume:
        for folder in (checkpoints, run.path / "tensorboard"):
            shutil.rmtree(folder, ignore_errors=True)
        run.finish_stage(TRAIN_STARTED, trained_from, {})
    schema = processed_schema(run)
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
