"""Which measurement is the best so far, and when to stop waiting for a better one."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

__all__ = ["EarlyStopping"]


@dataclass(slots=True)
class EarlyStopping:
    """Follows one metric.

    Parameters
    ----------
    direction
        Whether more or less of the metric is better.
    patience
        Measurements in a row without a better value after which to stop; None never stops.
    min_delta
        How much better counts as better.
    best
        The best value so far; None before the first.
    stale
        Measurements since the best.

    Examples
    --------
    >>> stopping = EarlyStopping("max", patience=2)
    >>> [stopping.update(value) for value in (0.6, 0.7, 0.7, 0.65)], stopping.should_stop
    ([True, True, False, False], True)
    """

    direction: Literal["max", "min"]
    patience: int | None = None
    min_delta: float = 0.0
    best: float | None = None
    stale: int = 0

    def update(self, value: float | None) -> bool:
        """Take a measurement and return whether it is better than all before.

        A missing or NaN value is never better.
        """
        if value is not None and not math.isnan(value) and self._is_better(value):
            self.best = value
            self.stale = 0
            return True
        self.stale += 1
        return False

    def _is_better(self, value: float) -> bool:
        if self.best is None:
            return True
        gain = value - self.best if self.direction == "max" else self.best - value
        return gain > self.min_delta

    @property
    def should_stop(self) -> bool:
        """Whether patience has run out."""
        return self.patience is not None and self.stale >= self.patience
