"""A model's outputs for the batches of a loader."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager

import torch
from torch import nn

from merlinkit.loader import Batch
from merlinkit.training.batches import ChecksBatches, to_device

__all__ = ["outputs_of"]


def outputs_of(
    model: nn.Module, batches: Iterable[Batch], device: torch.device
) -> Iterator[tuple[Batch, torch.Tensor]]:
    """Yield each batch as it came and the model's outputs for it on the device, ``[batch_size]``.

    The model is in evaluation mode meanwhile and gets back the mode it had.
    """
    with _evaluating(model):
        for batch in batches:
            if device.type != "cpu" and isinstance(model, ChecksBatches):
                model.check(batch)
            with torch.inference_mode():
                outputs = model(to_device(batch, device))
            yield batch, outputs


@contextmanager
def _evaluating(model: nn.Module) -> Iterator[None]:
    was_training = model.training
    model.eval()
    try:
        yield
    finally:
        model.train(was_training)
