"""How a training looks to whoever waits for it."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from typing import Protocol, TextIO

__all__ = ["LineProgress", "NoProgress", "Progress", "RichProgress", "progress_for"]


class Progress(Protocol):
    """Shows where a training is."""

    def start(self, *, done: int, total: int) -> None:
        """Begin with some of all steps done."""
        ...

    def step(self, step: int) -> None:
        """Take note of a finished step."""
        ...

    def train(self, *, loss: float, rate: float) -> None:
        """Take note of a loss and the rows per second."""
        ...

    def epoch(self, epoch: int, loss: float, metrics: Mapping[str, float | None]) -> None:
        """Take note of a finished epoch: its mean loss and the validation metrics after it."""
        ...

    def close(self) -> None:
        """Leave the screen in order; closing twice is harmless."""
        ...


def progress_for(*, shown: bool, epochs: int, stream: TextIO | None = None) -> Progress:
    """Return a bar where the stream is a terminal, and a line an epoch elsewhere.

    Parameters
    ----------
    shown
        Show nothing at all if false.
    epochs
        Number of epochs.
    stream
        Where to show it; None takes the standard error stream.
    """
    out = sys.stderr if stream is None else stream
    if not shown:
        return NoProgress()
    return RichProgress(out, epochs) if out.isatty() else LineProgress(out, epochs)


class NoProgress:
    """Shows nothing."""

    def start(self, *, done: int, total: int) -> None:
        """Do nothing."""

    def step(self, step: int) -> None:
        """Do nothing."""

    def train(self, *, loss: float, rate: float) -> None:
        """Do nothing."""

    def epoch(self, epoch: int, loss: float, metrics: Mapping[str, float | None]) -> None:
        """Do nothing."""

    def close(self) -> None:
        """Do nothing."""


class LineProgress(NoProgress):
    """Writes one line at the end of each epoch, for logs and pipes."""

    def __init__(self, stream: TextIO, epochs: int) -> None:
        self._stream = stream
        self._epochs = epochs
        self._rate = 0.0

    def train(self, *, loss: float, rate: float) -> None:
        """Remember the rate for the epoch's line."""
        self._rate = rate

    def epoch(self, epoch: int, loss: float, metrics: Mapping[str, float | None]) -> None:
        """Write the line."""
        print(
            epoch_line(epoch, self._epochs, loss, metrics) + f", {self._rate:,.0f} samples/s",
            file=self._stream,
            flush=True,
        )


class RichProgress:
    """A bar with loss, samples per second and the time left; epochs scroll by above it."""

    def __init__(self, stream: TextIO, epochs: int) -> None:
        from rich.console import Console
        from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeRemainingColumn
        from rich.progress import Progress as Bars

        self._epochs = epochs
        self._bars = Bars(
            TextColumn("training"),
            BarColumn(),
            MofNCompleteColumn(),
            TextColumn("loss {task.fields[loss]}"),
            TextColumn("{task.fields[rate]} samples/s"),
            TimeRemainingColumn(),
            console=Console(file=stream, force_terminal=True),
        )
        self._task = self._bars.add_task("training", loss="-", rate="-", total=None)

    def start(self, *, done: int, total: int) -> None:
        """Show the bar."""
        self._bars.update(self._task, completed=done, total=total)
        self._bars.start()

    def step(self, step: int) -> None:
        """Move the bar."""
        self._bars.update(self._task, completed=step)

    def train(self, *, loss: float, rate: float) -> None:
        """Show loss and rate."""
        self._bars.update(self._task, loss=f"{loss:.5f}", rate=f"{rate:,.0f}")

    def epoch(self, epoch: int, loss: float, metrics: Mapping[str, float | None]) -> None:
        """Write the epoch's line above the bar."""
        line = epoch_line(epoch, self._epochs, loss, metrics)
        self._bars.console.print(line, markup=False, highlight=False)

    def close(self) -> None:
        """Take the bar away and show the cursor again."""
        self._bars.stop()


def epoch_line(epoch: int, epochs: int, loss: float, metrics: Mapping[str, float | None]) -> str:
    """Return the line about a finished epoch.

    Examples
    --------
    >>> epoch_line(1, 3, 0.51234, {"auc": 0.7512, "logloss": 0.498, "rows": 100.0, "r2": None})
    'epoch 1/3: loss 0.51234, valid auc 0.75120, logloss 0.49800'
    """
    parts = [
        f"{name} {metrics[name]:.5f}"
        for name in ("auc", "logloss", "rmse", "mae")
        if metrics.get(name) is not None
    ]
    shown = f", valid {', '.join(parts)}" if parts else ""
    return f"epoch {epoch}/{epochs}: loss {loss:.5f}{shown}"
