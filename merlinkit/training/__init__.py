"""Training of models: steps, checkpoints, early stopping and what is seen of them.

The settings can be checked without PyTorch; the trainer imports it when it is first used.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from merlinkit.training.config import TrainerConfig

if TYPE_CHECKING:
    from merlinkit.training.batches import BatchLoader
    from merlinkit.training.diagnosis import TrainingDiverged
    from merlinkit.training.result import Measurement, Predictions, TrainResult
    from merlinkit.training.trainer import Trainer, resolve_device
    from merlinkit.training.weights import load_model

__all__ = [
    "BatchLoader",
    "Measurement",
    "Predictions",
    "TrainResult",
    "Trainer",
    "TrainerConfig",
    "TrainingDiverged",
    "load_model",
    "resolve_device",
]

_LAZY = {
    "BatchLoader": "merlinkit.training.batches",
    "Measurement": "merlinkit.training.result",
    "Predictions": "merlinkit.training.result",
    "TrainResult": "merlinkit.training.result",
    "Trainer": "merlinkit.training.trainer",
    "TrainingDiverged": "merlinkit.training.diagnosis",
    "load_model": "merlinkit.training.weights",
    "resolve_device": "merlinkit.training.trainer",
}


def __getattr__(name: str) -> Any:
    if name not in _LAZY:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(_LAZY[name]), name)
