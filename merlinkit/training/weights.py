"""Weights that a run left, put into a model."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import torch
from torch import nn

from merlinkit.errors import ArtifactError
from merlinkit.training.checkpoint import CheckpointStore, Which

__all__ = ["load_model", "load_weights"]

_NAMED_DIFFERENCES = 8


def load_weights(model: nn.Module, weights: Mapping[str, torch.Tensor], source: Path) -> None:
    """Put weights into a model of the same shape.

    Parameters
    ----------
    model
        Is changed only if everything fits.
    weights
        By name.
    source
        Where they come from, for the message.

    Raises
    ------
    ArtifactError
        If names, shapes or data types differ, naming them.
    """
    own = model.state_dict()
    problems = [f"'{name}' is missing" for name in own if name not in weights]
    problems += [f"'{name}' is unknown to the model" for name in weights if name not in own]
    for name, value in own.items():
        saved = weights.get(name)
        if saved is None:
            continue
        if saved.shape != value.shape:
            problems.append(
                f"'{name}' has shape {list(saved.shape)}, the model needs {list(value.shape)}"
            )
        elif saved.dtype != value.dtype:
            problems.append(f"'{name}' holds {saved.dtype}, the model needs {value.dtype}")
    if problems:
        more = len(problems) - _NAMED_DIFFERENCES
        shown = "; ".join(problems[:_NAMED_DIFFERENCES]) + (
            f"; and {more} more" if more > 0 else ""
        )
        raise ArtifactError(
            f"the checkpoint {source} does not fit the model: {shown}. Build the model with the "
            "schema and the parameters of the run that wrote it, or train anew"
        )
    model.load_state_dict(dict(weights))


def load_model(model: nn.Module, run_dir: str | Path, which: Which = "best") -> dict[str, Any]:
    """Put the weights that a run left into a model.

    Parameters
    ----------
    model
        Built from the schema and with the parameters of the run.
    run_dir
        The run directory.
    which
        The best or the last weights.

    Returns
    -------
    dict
        The state of the training they come from: ``step``, ``epoch``, ``best``, ``history``.

    Raises
    ------
    ArtifactError
        If there is no checkpoint, it is damaged, or it does not fit the model.
    """
    store = CheckpointStore(Path(run_dir) / "checkpoints")
    checkpoint = store.read(which, training=False)
    load_weights(model, checkpoint.model, store.path(which) or store.folder)
    return checkpoint.state
