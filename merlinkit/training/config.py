"""The settings of a training, checked at construction without PyTorch."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, Literal, get_args

from merlinkit.errors import ConfigError, did_you_mean

__all__ = ["MONITORS", "Device", "OptimizerName", "ScheduleName", "TrainerConfig"]

OptimizerName = Literal["adam", "adamw", "adagrad", "sgd"]
ScheduleName = Literal["constant", "linear", "cosine"]
Device = Literal["cpu", "cuda", "auto"]

MONITORS: Mapping[str, Literal["max", "min"]] = MappingProxyType(
    {
        "auc": "max",
        "logloss": "min",
        "normalized_entropy": "min",
        "ece": "min",
        "rmse": "min",
        "mae": "min",
        "r2": "max",
    }
)
"""Metrics that can be watched, and whether more or less of them is better."""


@dataclass(frozen=True, kw_only=True)
class TrainerConfig:
    """What a `merlinkit.training.Trainer` is told.

    Parameters
    ----------
    epochs
        Passes over the training data.
    batch_size, eval_batch_size
        Rows of a batch while training and otherwise. They are read by whoever builds the
        loaders; the trainer takes batches as they come.
    learning_rate
        Step size of the dense weights.
    embedding_learning_rate
        Step size of the embedding tables; None takes ``learning_rate``.
    optimizer
        ``"adam"``, ``"adamw"``, ``"adagrad"`` or ``"sgd"``. Embedding tables take its sparse
        form, which touches only the rows of the batch.
    weight_decay
        Shrinks the dense weights at each step; decoupled for ``"adamw"``, added to the gradient
        for the others. Embedding tables are not decayed, as that would touch every row.
    schedule
        How the step size falls from its full value over the steps after the warm-up:
        ``"constant"``, ``"linear"`` to zero, or ``"cosine"`` to zero.
    warmup_steps
        Steps over which the step size rises linearly from near zero.
    gradient_clip
        Longest gradient of all dense weights together; longer ones are shortened. None leaves
        them.
    validate_every
        Besides the end of each epoch, measure after so many steps; ``"epoch"`` for no more than
        the end of each epoch.
    monitor
        The metric that decides which weights are best; None takes ``auc`` for binary labels and
        ``rmse`` for numbers.
    early_stopping_patience
        Stop after so many measurements in a row that brought no better ``monitor``. None never
        stops early.
    early_stopping_min_delta
        How much better counts as better.
    checkpoint_every_epochs
        Write a checkpoint at the end of every so many epochs. The best weights and those after
        the last epoch are always kept.
    log_every_steps
        Write the loss after so many steps, and at the end of each epoch.
    seed
        Decides all that is random in training.
    device
        ``"cpu"``, ``"cuda"``, or ``"auto"`` for a GPU where there is one.
    threads
        Threads of PyTorch on the CPU; None leaves the choice to PyTorch. Small models are often
        fastest with one.
    tensorboard
        Write TensorBoard files into ``tensorboard/`` of the run directory.
    progress
        Show a progress bar on a terminal, or a line an epoch elsewhere.

    Raises
    ------
    ConfigError
        Naming every setting that is not allowed.

    Examples
    --------
    >>> TrainerConfig(epochs=3).learning_rate
    0.001
    >>> TrainerConfig(epochs=0, optimizer="adamm")
    Traceback (most recent call last):
        ...
    merlinkit.errors.ConfigError: 2 problems in the configuration:
      - trainer.epochs must be a whole number of at least 1, got 0
      - trainer.optimizer must be one of adam, adamw, adagrad, sgd, got 'adamm'. Did you mean \
'adam' or 'adamw'?
    """

    epochs: int = 1
    batch_size: int = 4096
    eval_batch_size: int = 16384
    learning_rate: float = 0.001
    embedding_learning_rate: float | None = None
    optimizer: OptimizerName = "adam"
    weight_decay: float = 0.0
    schedule: ScheduleName = "constant"
    warmup_steps: int = 0
    gradient_clip: float | None = None
    validate_every: int | Literal["epoch"] = "epoch"
    monitor: str | None = None
    early_stopping_patience: int | None = None
    early_stopping_min_delta: float = 0.0
    checkpoint_every_epochs: int = 1
    log_every_steps: int = 100
    seed: int = 42
    device: Device = "auto"
    threads: int | None = None
    tensorboard: bool = True
    progress: bool = True

    def __post_init__(self) -> None:
        problems = [
            problem
            for problem in (
                *(self._whole(name, 1) for name in _COUNTS),
                *(self._whole(name, 0) for name in ("warmup_steps", "seed")),
                self._number("learning_rate", above=0),
                self._number("embedding_learning_rate", above=0, optional=True),
                self._number("weight_decay", least=0),
                self._number("gradient_clip", above=0, optional=True),
                self._number("early_stopping_min_delta", least=0),
                self._choice("optimizer", get_args(OptimizerName)),
                self._choice("schedule", get_args(ScheduleName)),
                self._choice("device", get_args(Device)),
                None if self.threads is None else self._threads(),
                None if self.monitor is None else self._choice("monitor", tuple(MONITORS)),
                None
                if self.early_stopping_patience is None
                else self._whole("early_stopping_patience", 1),
                None if self.validate_every == "epoch" else self._validate_every(),
                self._flag("tensorboard"),
                self._flag("progress"),
            )
            if problem is not None
        ]
        if problems:
            raise ConfigError(problems)

    def _whole(self, name: str, least: int) -> str | None:
        value = getattr(self, name)
        if isinstance(value, int) and not isinstance(value, bool) and value >= least:
            return None
        return f"trainer.{name} must be a whole number of at least {least}, got {value!r}"

    def _number(
        self, name: str, *, least: float | None = None, above: float = -1, optional: bool = False
    ) -> str | None:
        value = getattr(self, name)
        if value is None and optional:
            return None
        is_number = isinstance(value, int | float) and not isinstance(value, bool)
        if is_number and math.isfinite(value):
            in_range = value > above if least is None else value >= least
            if in_range:
                return None
        bound = f"above {above:g}" if least is None else f"of at least {least:g}"
        either = " or null" if optional else ""
        return f"trainer.{name} must be a number {bound}{either}, got {value!r}"

    def _choice(self, name: str, allowed: tuple[str, ...]) -> str | None:
        value: Any = getattr(self, name)
        if value in allowed:
            return None
        hint = did_you_mean(value, allowed) if isinstance(value, str) else ""
        return f"trainer.{name} must be one of {', '.join(allowed)}, got {value!r}.{hint}"

    def _threads(self) -> str | None:
        if self._whole("threads", 1) is None and (self.threads or 0) <= _MOST_THREADS:
            return None
        return (
            f"trainer.threads must be null or a whole number from 1 to {_MOST_THREADS}, got "
            f"{self.threads!r}"
        )

    def _validate_every(self) -> str | None:
        if self._whole("validate_every", 1) is None:
            return None
        return (
            "trainer.validate_every must be 'epoch' or a whole number of steps of at least 1, "
            f"got {self.validate_every!r}"
        )

    def _flag(self, name: str) -> str | None:
        value = getattr(self, name)
        return None if isinstance(value, bool) else f"trainer.{name} must be true or false"

    @classmethod
    def from_mapping(cls, values: Mapping[str, Any]) -> TrainerConfig:
        """Return the settings of a configuration group.

        Raises
        ------
        ConfigError
            If a key is unknown or a value is not allowed; all of them are named.

        Examples
        --------
        >>> TrainerConfig.from_mapping({"epoch": 3})
        Traceback (most recent call last):
            ...
        merlinkit.errors.ConfigError: trainer.epoch is not a setting. Did you mean 'epochs'?
        """
        known = [item.name for item in dataclasses.fields(cls)]
        problems = [
            f"trainer.{key} is not a setting.{did_you_mean(str(key), known)}"
            for key in values
            if key not in known
        ]
        try:
            config = cls(**{key: value for key, value in values.items() if key in known})
        except ConfigError as error:
            problems.extend(error.problems)
        if problems:
            raise ConfigError(problems)
        return config

    def to_dict(self) -> dict[str, Any]:
        """Return the settings as JSON values."""
        return dataclasses.asdict(self)


_MOST_THREADS = 1024
_COUNTS = ("epochs", "batch_size", "eval_batch_size", "checkpoint_every_epochs", "log_every_steps")
