"""Rows of different lengths as one tensor of values and one of offsets."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import NamedTuple

import torch

__all__ = ["Ragged"]


class Ragged(NamedTuple):
    """A list column: row ``i`` holds ``values[offsets[i]:offsets[i + 1]]``.

    Parameters
    ----------
    values
        The elements of all rows, one row after the other. Shape ``[total]``.
    offsets
        Where each row begins, and the end of the last one; starts at 0, never falls and ends at
        ``total``. int64, shape ``[rows + 1]``.

    Notes
    -----
    A named tuple has a length of its own (2); `num_rows` is the number of rows.

    Examples
    --------
    >>> import torch
    >>> lists = Ragged.from_lists([[1, 2], [], [3]])
    >>> lists.values, lists.offsets
    (tensor([1, 2, 3]), tensor([0, 2, 2, 3]))
    >>> lists.select(torch.tensor([2, 0])).to_lists()
    [[3], [1, 2]]
    """

    values: torch.Tensor
    offsets: torch.Tensor

    @property
    def num_rows(self) -> int:
        """Number of rows."""
        return self.offsets.numel() - 1

    def lengths(self) -> torch.Tensor:
        """Return the number of elements of each row, int64 of shape ``[rows]``."""
        return self.offsets[1:] - self.offsets[:-1]

    def to(self, device: torch.device | str, *, non_blocking: bool = False) -> Ragged:
        """Return the same rows on a device; without a copy where they are there already."""
        return Ragged(
            self.values.to(device, non_blocking=non_blocking),
            self.offsets.to(device, non_blocking=non_blocking),
        )

    def pin_memory(self) -> Ragged:
        """Return a copy in page-locked memory, from which copies to a GPU can overlap work."""
        return Ragged(self.values.pin_memory(), self.offsets.pin_memory())

    def select(self, index: torch.Tensor) -> Ragged:
        """Return the rows that an index names, as a copy.

        Parameters
        ----------
        index
            Row numbers, int64 of shape ``[n]``; a number may occur more than once.

        Returns
        -------
        Ragged
            ``n`` rows in the order of the index.
        """
        starts = self.offsets.index_select(0, index)
        lengths = self.offsets.index_select(0, index + 1) - starts
        offsets = _offsets(lengths)
        # Element k of the result belongs to row r and is element k - offsets[r] of it.
        shift = torch.repeat_interleave(starts - offsets[:-1], lengths)
        picked = torch.arange(shift.numel(), device=shift.device).add_(shift)
        return Ragged(self.values.index_select(0, picked), offsets)

    @classmethod
    def from_lists(
        cls, rows: Sequence[Sequence[float]], dtype: torch.dtype = torch.int64
    ) -> Ragged:
        """Return rows given as Python lists, for tests and examples."""
        values = torch.tensor([element for row in rows for element in row], dtype=dtype)
        return cls(values, _offsets(torch.tensor([len(row) for row in rows], dtype=torch.int64)))

    def to_lists(self) -> list[list[float]]:
        """Return the rows as Python lists, for tests and examples."""
        ends = self.offsets.tolist()
        values = self.values.tolist()
        return [values[start:stop] for start, stop in pairwise(ends)]


def _offsets(lengths: torch.Tensor) -> torch.Tensor:
    offsets = lengths.new_zeros(lengths.numel() + 1)
    torch.cumsum(lengths, 0, out=offsets[1:])
    return offsets
