"""Where the numbers of a training go: the run's event log and TensorBoard."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from types import TracebackType

from merlinkit.events import EventLog
from merlinkit.training.tensorboard import TensorBoardLog

__all__ = ["TrainingLog"]


class TrainingLog:
    """Writes what happens in a training.

    Parameters
    ----------
    events
        The run's event log; it stays open.
    tensorboard
        Folder of TensorBoard files; None writes none.
    first_step
        Steps done before; TensorBoard hides what an interrupted run had written after them.
    """

    def __init__(
        self, events: EventLog | None, tensorboard: Path | None, *, first_step: int = 0
    ) -> None:
        self._events = events
        self._board = (
            None if tensorboard is None else TensorBoardLog(tensorboard, first_step=first_step)
        )

    def train(self, step: int, epoch: int, *, loss: float, lr: float, rate: float) -> None:
        """Write the mean loss since the last such event, step size and rows per second."""
        if self._events is not None:
            self._events.write(
                "train",
                {"step": step, "epoch": epoch, "loss": loss, "lr": lr, "samples_per_second": rate},
            )
        self._scalars(step, {"train/loss": loss, "train/lr": lr, "train/samples_per_second": rate})

    def valid(self, step: int, epoch: int, metrics: Mapping[str, float | None]) -> None:
        """Write the metrics of the validation data."""
        if self._events is not None:
            self._events.write("valid", {"step": step, "epoch": epoch, "metrics": dict(metrics)})
        self._scalars(
            step,
            {f"valid/{name}": value for name, value in metrics.items() if value is not None},
        )

    def checkpoint(self, step: int, epoch: int, *, name: str, best: bool) -> None:
        """Write that a checkpoint is complete."""
        if self._events is not None:
            self._events.write(
                "checkpoint", {"step": step, "epoch": epoch, "name": name, "best": best}
            )

    def resume(self, step: int, epoch: int) -> None:
        """Write that the training goes on from a checkpoint; later steps are done anew."""
        if self._events is not None:
            self._events.write("resume", {"step": step, "epoch": epoch})

    def early_stop(self, step: int, epoch: int, *, monitor: str, best: float | None) -> None:
        """Write that patience has run out."""
        if self._events is not None:
            self._events.write(
                "early_stop", {"step": step, "epoch": epoch, "monitor": monitor, "best": best}
            )

    def _scalars(self, step: int, values: Mapping[str, float]) -> None:
        if self._board is not None:
            self._board.scalars(step, values)

    def __enter__(self) -> TrainingLog:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._board is not None:
            self._board.close()
