"""Training a model, measuring it and using it."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import numpy as np
import torch
from torch import nn

from merlinkit.errors import ConfigError, DataError
from merlinkit.events import EventLog
from merlinkit.loader import Batch
from merlinkit.models.inputs import model_inputs, target_column
from merlinkit.schema import Schema
from merlinkit.training.batches import BatchLoader, scalar_column
from merlinkit.training.config import Device, TrainerConfig
from merlinkit.training.diagnosis import TrainingDiverged, describe_numbers
from merlinkit.training.inference import outputs_of
from merlinkit.training.loop import Loop
from merlinkit.training.objective import objective_for
from merlinkit.training.result import Predictions, TrainResult
from merlinkit.training.target_kind import check_monitor

__all__ = ["Trainer", "resolve_device"]


class Trainer:
    """Fits models to the target of a schema, and evaluates and applies them.

    Parameters
    ----------
    config
        The settings.
    schema
        Columns of the processed data. The one tagged ``target`` is learned: as 0 or 1 with cross
        entropy, or as a number with squared error when it is tagged ``regression`` too.
    target
        Which target, where the schema has several.

    Raises
    ------
    SchemaError
        If there is no target, or several and none is chosen, or it cannot be learned.
    ConfigError
        If the device is not there, or the monitored metric is not one of this target's.

    Notes
    -----
    On the CPU the same seed, data and number of threads give the same losses to the last bit,
    and so does a training that was interrupted and resumed.

    Examples
    --------
    >>> from merlinkit.schema import Column
    >>> schema = Schema([Column("click", "Int8", tags=["target"])])
    >>> trainer = Trainer(TrainerConfig(device="cpu"), schema)
    >>> trainer.monitor
    'auc'
    """

    def __init__(self, config: TrainerConfig, schema: Schema, *, target: str | None = None) -> None:
        self.config = config
        self.target = target_column(schema, target)
        self.objective = objective_for(self.target)
        self.device = resolve_device(config.device)
        self.monitor = check_monitor(config.monitor, self.target)
        self._continuous = [column.name for column in model_inputs(schema).continuous]

    def fit(
        self,
        model: nn.Module,
        train_loader: BatchLoader,
        valid_loader: BatchLoader | None,
        run_dir: str | Path,
        events: EventLog | None = None,
        *,
        resume: bool = False,
    ) -> TrainResult:
        """Train a model; it ends up with the best weights.

        Parameters
        ----------
        model
            Called with a batch, returns one output a row: a logit, or a number for a regression.
            It is moved to the device.
        train_loader
            Batches to learn from, shuffled.
        valid_loader
            Batches to measure on; None measures nothing, and the last weights are the best.
        run_dir
            Gets ``checkpoints/`` and, unless switched off, ``tensorboard/``.
        events
            Gets what happens; None writes no events.
        resume
            Go on from the last checkpoint of ``run_dir``, exactly as if there had been no
            interruption: same batches, same losses. Without a checkpoint the training starts at
            the beginning. The number of epochs may be raised to train longer.

        Raises
        ------
        RunDirError
            If ``run_dir`` has checkpoints and ``resume`` is false, or a checkpoint cannot be
            written.
        ArtifactError
            If the checkpoint to go on from is damaged or does not fit model, settings or data.
        TrainingDiverged
            If the loss becomes NaN or infinite. The last checkpoint is from before.
        DataError, SchemaError
            If a batch lacks a column, or holds an id or label that cannot be.
        KeyboardInterrupt
            Goes through; the last checkpoint stays as it is.
        """
        loop = Loop(
            config=self.config,
            objective=self.objective,
            target=self.target.name,
            monitor=self.monitor,
            device=self.device,
            continuous=self._continuous,
            model=model.to(self.device),
            train_loader=train_loader,
            valid_loader=valid_loader,
            evaluate=self.evaluate,
            run_dir=Path(run_dir),
        )
        return loop.run(events, resume=resume)

    def evaluate(self, model: nn.Module, loader: Iterable[Batch]) -> dict[str, float | None]:
        """Return the metrics of a model on labelled batches.

        Parameters
        ----------
        model
            As in `fit`.
        loader
            Any batches that hold the target.

        Returns
        -------
        dict
            See `merlinkit.metrics.BinaryMetrics.compute`, or that of `RegressionMetrics`. None
            stands for a metric without a value, such as the AUC of rows of one class.

        Raises
        ------
        DataError
            If there are no rows, or a label cannot be.
        TrainingDiverged
            If the model returns NaN or infinite values, naming columns that may be the cause.
        """
        metrics = self.objective.metrics()
        rows = 0
        for batch, outputs in outputs_of(model.to(self.device), loader, self.device):
            labels = scalar_column(batch, self.target.name)
            self.objective.check_labels(labels, self.target.name)
            self._check_outputs(batch, outputs)
            metrics.update(outputs, labels)
            rows += labels.shape[0]
        if not rows:
            raise DataError("there are no rows to evaluate on")
        return metrics.compute()

    def predict(self, model: nn.Module, loader: Iterable[Batch]) -> Predictions:
        """Return a model's outputs and scores for all rows, in the order in which they come.

        Parameters
        ----------
        model
            As in `fit`.
        loader
            Any batches; not shuffled, if the order is to be that of the data. The target may be
            missing.
        """
        outputs: list[torch.Tensor] = []
        labels: list[torch.Tensor] = []
        for batch, output in outputs_of(model.to(self.device), loader, self.device):
            self._check_outputs(batch, output)
            outputs.append(output)
            if self.target.name in batch:
                labels.append(scalar_column(batch, self.target.name))
        joined = torch.cat(outputs) if outputs else torch.empty(0)
        return Predictions(
            outputs=joined.float().cpu().numpy(),
            scores=self.objective.scores(joined.float()).cpu().numpy(),
            labels=torch.cat(labels).cpu().numpy().astype(np.float64) if labels else None,
        )

    def _check_outputs(self, batch: Batch, outputs: torch.Tensor) -> None:
        finite = torch.isfinite(outputs)
        if bool(finite.all()):
            return
        causes = describe_numbers(batch, self._continuous)
        raise TrainingDiverged(
            f"the model returns NaN or infinite values for {int((~finite).sum())} of "
            f"{outputs.numel()} rows of a batch: "
            + ("; ".join(causes) or "its weights are too large, train with a lower learning_rate")
        )


def resolve_device(name: Device) -> torch.device:
    """Return the device that a name stands for.

    Raises
    ------
    ConfigError
        If it is ``"cuda"`` and there is no GPU that PyTorch can use.
    """
    if name == "cpu":
        return torch.device("cpu")
    if torch.cuda.is_available():
        return torch.device("cuda", torch.cuda.current_device())
    if name == "auto":
        return torch.device("cpu")
    raise ConfigError(
        "trainer.device is 'cuda', but PyTorch finds no GPU: install a CUDA build of PyTorch and "
        "the NVIDIA driver, or set trainer.device to 'auto' or 'cpu'"
    )
