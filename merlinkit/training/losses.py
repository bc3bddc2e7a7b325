"""The losses of the steps since the last log line, fetched from the device as rarely as can be."""

from __future__ import annotations

import math
from collections.abc import Sequence

import torch

__all__ = ["LossWindow", "NonFiniteLoss"]


class NonFiniteLoss(Exception):
    """A loss is NaN or infinite.

    Parameters
    ----------
    steps_ago
        How many steps before the last one it was.
    value
        The loss.
    """

    def __init__(self, steps_ago: int, value: float) -> None:
        super().__init__(f"loss {value} {steps_ago} steps ago")
        self.steps_ago = steps_ago
        self.value = value


class LossWindow:
    """Holds the losses of some steps.

    Parameters
    ----------
    values
        Losses of steps before, when a training goes on.

    Notes
    -----
    To read a loss is to wait until the GPU has computed it. Losses are therefore held as they
    are and read together; on the CPU, where there is nothing to wait for, the trainer reads each
    one at once.

    Examples
    --------
    >>> window = LossWindow()
    >>> window.add(torch.tensor(0.5))
    >>> window.add(torch.tensor(0.25))
    >>> window.mean()
    0.375
    """

    def __init__(self, values: Sequence[float] = ()) -> None:
        self._values = list(values)
        self._unread: list[torch.Tensor] = []

    def add(self, loss: torch.Tensor) -> None:
        """Take the loss of a step, a scalar, without reading it."""
        self._unread.append(loss.detach())

    def __len__(self) -> int:
        return len(self._values) + len(self._unread)

    @property
    def values(self) -> list[float]:
        """All losses of the window, read or not."""
        self.read()
        return list(self._values)

    def read(self) -> None:
        """Fetch what was not read yet.

        Raises
        ------
        NonFiniteLoss
            For the first loss that is NaN or infinite.
        """
        if self._unread:
            fetched = torch.stack(self._unread).tolist()
            self._unread.clear()
            for position, value in enumerate(fetched):
                if not math.isfinite(value):
                    raise NonFiniteLoss(len(fetched) - 1 - position, value)
            self._values.extend(fetched)

    def mean(self) -> float:
        """Return the mean loss; the same however the steps were read."""
        self.read()
        return math.fsum(self._values) / len(self._values)

    def clear(self) -> None:
        """Begin a new window."""
        self.read()
        self._values.clear()
