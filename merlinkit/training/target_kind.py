"""What kind of number a target is, and which metrics can be watched for it. Needs no PyTorch."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Literal

from merlinkit.errors import ConfigError, SchemaError, did_you_mean
from merlinkit.schema import Column, Tags

__all__ = ["METRICS", "TargetKind", "check_monitor", "target_kind"]

TargetKind = Literal["binary", "regression"]

METRICS: Mapping[TargetKind, tuple[str, ...]] = MappingProxyType(
    {
        "binary": ("auc", "logloss", "normalized_entropy", "ece"),
        "regression": ("rmse", "mae", "r2"),
    }
)
"""Metrics of each kind of target; the first is watched unless the configuration says else."""


def target_kind(target: Column) -> TargetKind:
    """Return what a target is by its tags; binary unless they say else.

    Raises
    ------
    SchemaError
        If the target is tagged as one of several classes, which is not supported, or both as
        binary and as a number.
    """
    if Tags.MULTI_CLASS_CLASSIFICATION in target.tags:
        raise SchemaError(
            f"target '{target.name}' is tagged 'multi_class_classification'; the trainer learns "
            "'binary_classification' and 'regression' targets"
        )
    if {Tags.BINARY_CLASSIFICATION, Tags.REGRESSION} <= target.tags:
        raise SchemaError(
            f"target '{target.name}' is tagged both 'binary_classification' and 'regression'"
        )
    return "regression" if Tags.REGRESSION in target.tags else "binary"


def check_monitor(monitor: str | None, target: Column) -> str:
    """Return the metric that is watched for a target.

    Raises
    ------
    ConfigError
        If it is not one of this kind of target.
    """
    known = METRICS[target_kind(target)]
    if monitor is None:
        return known[0]
    if monitor not in known:
        raise ConfigError(
            f"trainer.monitor is '{monitor}', but the metrics of target '{target.name}' are "
            f"{', '.join(known)}.{did_you_mean(monitor, known)}"
        )
    return monitor
