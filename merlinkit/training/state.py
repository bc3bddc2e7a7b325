"""Where a training is, in a form that can be saved."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

from merlinkit.errors import ArtifactError
from merlinkit.training.result import Measurement

__all__ = ["TrainState"]


@dataclass(slots=True)
class TrainState:
    """The place and the memory of a training, apart from its tensors.

    Parameters
    ----------
    step
        Steps done.
    epoch
        The epoch under way, counted from 1.
    epoch_steps
        Steps of it that are done.
    epoch_loss
        Sum of the losses of these steps that were logged.
    window
        Losses of the steps that were not logged yet.
    best, stale
        The best value of the monitored metric and how many measurements ago it was.
    best_measurement
        Position in ``history`` of the measurement of the best weights.
    stopped
        Whether patience has run out.
    history
        All measurements.
    """

    step: int = 0
    epoch: int = 1
    epoch_steps: int = 0
    epoch_loss: float = 0.0
    window: list[float] = field(default_factory=list)
    best: float | None = None
    stale: int = 0
    best_measurement: int = -1
    stopped: bool = False
    history: list[Measurement] = field(default_factory=list)

    def to_dict(self) -> dict[str, Any]:
        """Return the state as JSON values."""
        return {**asdict(self), "history": [item.to_dict() for item in self.history]}

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> TrainState:
        """Return the state that `to_dict` described.

        Raises
        ------
        ArtifactError
            If a field is missing or unknown.
        """
        try:
            history = [Measurement(**item) for item in data["history"]]
            return cls(**{**data, "history": history})
        except (KeyError, TypeError) as error:
            raise ArtifactError(f"not the state of a training: {error}") from error
