"""What the trainer needs of a loader, and how a batch gets to a device."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Protocol, runtime_checkable

import torch

from merlinkit.errors import SchemaError
from merlinkit.loader import Batch, Ragged

__all__ = ["BatchLoader", "ChecksBatches", "rows_of", "scalar_column", "to_device"]


class BatchLoader(Protocol):
    """Gives the batches of an epoch; `merlinkit.loader.Loader` is one."""

    @property
    def num_rows(self) -> int:
        """Rows of the data."""
        ...

    def __len__(self) -> int:
        """Return the number of batches of a whole epoch."""
        ...

    def __iter__(self) -> Iterator[Batch]:
        """Yield the batches of the next epoch, or what is left of it after a loaded state."""
        ...

    def set_epoch(self, epoch: int) -> None:
        """Make the next pass that of an epoch, counted from 0."""
        ...

    def state_dict(self) -> dict[str, Any]:
        """Return as JSON values which batch comes next.

        During a pass that is the one after the last one received, after a pass the first one of
        the next epoch.
        """
        ...

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Make the next pass start with the batch that a state describes."""
        ...


@runtime_checkable
class ChecksBatches(Protocol):
    """A model that can say on the CPU what is wrong with a batch."""

    def check(self, batch: Batch) -> None:
        """Refuse a batch that the model cannot work with."""
        ...


def rows_of(batch: Batch) -> int:
    """Return the number of rows of a batch.

    Raises
    ------
    SchemaError
        If it has no columns.
    """
    for value in batch.values():
        return value.num_rows if isinstance(value, Ragged) else value.shape[0]
    raise SchemaError("a batch has no columns")


def scalar_column(batch: Batch, name: str) -> torch.Tensor:
    """Return a column of one number a row, shape ``[batch_size]``.

    Raises
    ------
    SchemaError
        If the batch lacks it or it holds lists.
    """
    value = batch.get(name)
    if value is None:
        raise SchemaError(f"the batch has no column '{name}'; let the loader read it")
    if isinstance(value, Ragged):
        raise SchemaError(f"column '{name}' must hold one number a row, but holds lists")
    return value


def to_device(batch: Batch, device: torch.device) -> Batch:
    """Return the batch on a device.

    Copies to a GPU start from page-locked memory and are not waited for, so that they overlap
    with what the GPU is doing.
    """
    if device.type == "cpu":
        return batch
    return {name: _moved(value, device) for name, value in batch.items()}


def _moved(value: torch.Tensor | Ragged, device: torch.device) -> torch.Tensor | Ragged:
    tensor = value.values if isinstance(value, Ragged) else value
    if tensor.device.type == "cpu":
        value = value.pin_memory()
    return value.to(device, non_blocking=True)
