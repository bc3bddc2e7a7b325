"""What a training and a prediction give back."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

__all__ = ["Measurement", "Predictions", "TrainResult"]


@dataclass(frozen=True, slots=True)
class Measurement:
    """Where a training stood.

    Parameters
    ----------
    step
        Steps done.
    epoch
        The epoch, counted from 1.
    train_loss
        Mean loss over the steps of the epoch so far.
    metrics
        Metrics of the validation data; empty without such data. None stands for a metric that
        has no value, such as the AUC of rows of one class.
    """

    step: int
    epoch: int
    train_loss: float
    metrics: Mapping[str, float | None]

    def to_dict(self) -> dict[str, Any]:
        """Return the measurement as JSON values."""
        return {
            "step": self.step,
            "epoch": self.epoch,
            "train_loss": self.train_loss,
            "metrics": dict(self.metrics),
        }


@dataclass(frozen=True, slots=True)
class TrainResult:
    """What `merlinkit.training.Trainer.fit` did.

    Parameters
    ----------
    steps, epochs
        Steps and whole epochs done, those before an interruption included.
    history
        All measurements, in order: one at the end of each epoch, and those in between.
    monitor
        The metric that decided which weights are best; None without validation data.
    best
        The measurement of the best weights, which the model now has. Without validation data it
        is the last one.
    stopped_early
        Whether patience ran out before the last epoch.
    checkpoint, best_checkpoint
        Folders of the last and the best checkpoint.
    seconds, samples_per_second
        Time spent in steps by this call, without validation and checkpoints, and rows learned
        by it per second. 0 when there was nothing left to do.
    """

    steps: int
    epochs: int
    history: tuple[Measurement, ...]
    monitor: str | None
    best: Measurement
    stopped_early: bool
    checkpoint: Path
    best_checkpoint: Path
    seconds: float
    samples_per_second: float


@dataclass(frozen=True, slots=True)
class Predictions:
    """What a model says about rows, in the order in which they came.

    Parameters
    ----------
    outputs
        What the model returned: logits, or numbers for a regression; float32 ``[rows]``.
    scores
        Chances of a 1, or the numbers again for a regression; float32 ``[rows]``.
    labels
        The label of each row, float64 ``[rows]``; None where the batches had none.
    """

    outputs: npt.NDArray[np.float32]
    scores: npt.NDArray[np.float32]
    labels: npt.NDArray[np.float64] | None
