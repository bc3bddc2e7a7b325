"""How the step size changes while training."""

from __future__ import annotations

import math

from merlinkit.training.config import ScheduleName

__all__ = ["step_scale"]


def step_scale(step: int, *, schedule: ScheduleName, warmup_steps: int, total_steps: int) -> float:
    """Return the share of the full step size that a step takes.

    A pure function of the step, so that a training that goes on after an interruption takes the
    same steps as one that was not interrupted.

    Parameters
    ----------
    step
        Number of steps done before this one.
    schedule
        How the size falls after the warm-up.
    warmup_steps
        Steps over which it rises: the k-th of n takes k / n.
    total_steps
        Steps of the whole training, warm-up included.

    Returns
    -------
    float
        Between 0 and 1. After the warm-up, with ``t`` the share of the other steps done before
        this one: 1 for ``"constant"``, ``1 - t`` for ``"linear"``, ``(1 + cos(pi t)) / 2`` for
        ``"cosine"`` (Loshchilov and Hutter, 2017, one cycle).

    Examples
    --------
    >>> [step_scale(s, schedule="linear", warmup_steps=2, total_steps=6) for s in range(6)]
    [0.5, 1.0, 1.0, 0.75, 0.5, 0.25]
    """
    if step < warmup_steps:
        return (step + 1) / warmup_steps
    if schedule == "constant":
        return 1.0
    done = min(1.0, (step - warmup_steps) / max(1, total_steps - warmup_steps))
    if schedule == "linear":
        return 1.0 - done
    return (1.0 + math.cos(math.pi * done)) / 2
