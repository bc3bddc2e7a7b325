"""Rules that put each row in exactly one of the parts train, valid and test."""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from typing import Any

from merlinkit.data.splits.base import PART_COLUMN, PARTS, Split
from merlinkit.data.splits.given import GivenSplit
from merlinkit.data.splits.leave_last import LeaveLastSplit
from merlinkit.data.splits.random import RandomSplit
from merlinkit.data.splits.temporal import TemporalSplit
from merlinkit.errors import ParameterError, did_you_mean

__all__ = [
    "PARTS",
    "PART_COLUMN",
    "SPLITS",
    "GivenSplit",
    "LeaveLastSplit",
    "RandomSplit",
    "Split",
    "TemporalSplit",
    "split_from_dict",
]

SPLITS: dict[str, type[Split]] = {
    kind.kind: kind for kind in (RandomSplit, TemporalSplit, LeaveLastSplit, GivenSplit)
}
"""All splits, by the name of their kind."""


def split_from_dict(data: Mapping[str, Any]) -> Split:
    """Return the split that `Split.to_dict` described, or that a configuration describes.

    Raises
    ------
    ParameterError
        If the kind or a parameter is unknown or missing, or out of range.

    Examples
    --------
    >>> split_from_dict({"kind": "random", "valid": 0.2, "keys": ["user_id"]})
    RandomSplit(valid=0.2, test=0.1, seed=42, keys=['user_id'])
    """
    kind = data.get("kind")
    if kind not in SPLITS:
        raise ParameterError(
            f"unknown split {kind!r}.{did_you_mean(str(kind), SPLITS)} "
            f"There are: {', '.join(SPLITS)}."
        )
    parameters = {key: value for key, value in data.items() if key != "kind"}
    known = inspect.signature(SPLITS[kind]).parameters
    for name in parameters:
        if name not in known:
            raise ParameterError(
                f"split '{kind}' has no parameter '{name}'.{did_you_mean(name, known)} "
                f"There are: {', '.join(known)}."
            )
    for name, parameter in known.items():
        if parameter.default is inspect.Parameter.empty and name not in parameters:
            raise ParameterError(f"split '{kind}' needs the parameter '{name}'")
    return SPLITS[kind](**parameters)
