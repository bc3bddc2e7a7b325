"""Why a loss may have become NaN: what to look at first, in words."""

from __future__ import annotations

from collections.abc import Sequence

import torch

from merlinkit.errors import MerlinkitError
from merlinkit.loader import Batch, Ragged
from merlinkit.training.config import TrainerConfig

__all__ = ["TrainingDiverged", "describe_numbers", "likely_causes"]

_LARGE = 100.0
"""Normalised columns stay far below."""


class TrainingDiverged(MerlinkitError):
    """Loss, weights or outputs became NaN or infinite."""


def describe_numbers(batch: Batch, columns: Sequence[str]) -> list[str]:
    """Say which columns of numbers hold NaN, infinities or large values.

    Parameters
    ----------
    batch
        The batch that was being learned.
    columns
        Names of the continuous columns.
    """
    findings: list[str] = []
    for name in columns:
        value = batch.get(name)
        if value is None or isinstance(value, Ragged) or not value.numel():
            continue
        numbers = value.detach().double()
        if broken := int((~torch.isfinite(numbers)).sum()):
            findings.append(
                f"column '{name}' holds {broken} NaN or infinite values of {numbers.numel()}: "
                "fill them with FillMissing or remove the rows with Filter"
            )
        elif (largest := float(numbers.abs().max())) > _LARGE:
            findings.append(
                f"column '{name}' reaches {largest:g} in absolute value: bring it near 1 with "
                "Normalize or LogOp"
            )
    return findings


def likely_causes(batch: Batch, columns: Sequence[str], config: TrainerConfig) -> str:
    """Return the likely causes of a loss that is not finite, the most telling one first."""
    causes = describe_numbers(batch, columns)
    rates = f"learning_rate is {config.learning_rate:g}"
    if config.embedding_learning_rate is not None:
        rates += f" and embedding_learning_rate {config.embedding_learning_rate:g}"
    advice = "try a tenth of it"
    if config.gradient_clip is None:
        advice += ", or set gradient_clip"
    if config.warmup_steps == 0:
        advice += ", or warmup_steps"
    causes.append(f"{rates}: {advice}")
    return "; ".join(causes)
