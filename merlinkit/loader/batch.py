"""What the loader hands to a model."""

from __future__ import annotations

from typing import TypeAlias

import torch

from merlinkit.loader.ragged import Ragged

__all__ = ["Batch"]

Batch: TypeAlias = dict[str, torch.Tensor | Ragged]
"""Column name to values: ``[batch_size]`` for a scalar column, `Ragged` for a list column."""
