"""Models built from a schema.

The registry can be asked without PyTorch; the model classes import it when they are first used.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from merlinkit.models.inputs import ModelInputs, model_inputs, target_column
from merlinkit.models.registry import (
    ModelParameter,
    build_model,
    check_model,
    model_names,
    model_parameters,
)

if TYPE_CHECKING:
    from merlinkit.models.embeddings import Embeddings
    from merlinkit.models.mlp import MLP
    from merlinkit.models.ranking.dlrm import DLRM
    from merlinkit.models.ranking.dlrm_parameters import DLRMParameters

__all__ = [
    "DLRM",
    "MLP",
    "DLRMParameters",
    "Embeddings",
    "ModelInputs",
    "ModelParameter",
    "build_model",
    "check_model",
    "model_inputs",
    "model_names",
    "model_parameters",
    "target_column",
]

_LAZY = {
    "DLRM": "merlinkit.models.ranking.dlrm",
    "DLRMParameters": "merlinkit.models.ranking.dlrm_parameters",
    "Embeddings": "merlinkit.models.embeddings",
    "MLP": "merlinkit.models.mlp",
}


def __getattr__(name: str) -> Any:
    if name not in _LAZY:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(_LAZY[name]), name)
