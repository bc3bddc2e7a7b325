"""Decoded rows, packed so that one gather for each data type makes a batch.

Rows are kept in NumPy arrays, not tensors. PyTorch runs a gather on a pool of threads that it
makes for each thread that calls it, and these would compete with those that train the model; one
thread gathers more than ten million rows a second.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import torch

from merlinkit.loader.batch import Batch
from merlinkit.loader.layout import Layout
from merlinkit.loader.ragged import Ragged

__all__ = ["ListRows", "Store"]

Array = npt.NDArray[Any]
Index = npt.NDArray[np.int64]


class ListRows(NamedTuple):
    """A list column, as in `Ragged`: row ``i`` holds ``values[offsets[i]:offsets[i + 1]]``."""

    values: Array
    offsets: Index

    @classmethod
    def from_lengths(cls, values: Array, lengths: Array) -> ListRows:
        """Return the values divided into rows of these lengths."""
        offsets = np.zeros(len(lengths) + 1, np.int64)
        np.cumsum(lengths, out=offsets[1:])
        return cls(values, offsets)

    def take(self, index: Index) -> ListRows:
        """Return the rows that an index names, as a copy."""
        starts = self.offsets[index]
        lengths = self.offsets[index + 1] - starts
        rows = ListRows.from_lengths(self.values, lengths)
        # Element k of the result belongs to row r and is element k - offsets[r] of it.
        picked = np.repeat(starts - rows.offsets[:-1], lengths)
        picked += np.arange(len(picked))
        return ListRows(self.values[picked], rows.offsets)

    def slice(self, start: int, stop: int) -> ListRows:
        """Return the rows from `start` up to `stop`, as a copy."""
        offsets = self.offsets[start : stop + 1]
        return ListRows(self.values[offsets[0] : offsets[-1]].copy(), offsets - offsets[0])

    @classmethod
    def concat(cls, pieces: Sequence[ListRows]) -> ListRows:
        """Return the rows of all pieces, in order."""
        lengths = np.concatenate([np.diff(piece.offsets) for piece in pieces])
        return cls.from_lengths(np.concatenate([piece.values for piece in pieces]), lengths)


class Store:
    """Rows in memory. A window of many rows is one, and so is a batch before it is unpacked.

    Parameters
    ----------
    layout
        Which column is where.
    matrices
        One array ``[rows, columns]`` for each block of the layout.
    lists
        As many rows for each list column of the layout.
    rows
        Number of rows.
    """

    def __init__(
        self, layout: Layout, matrices: list[Array], lists: list[ListRows], rows: int
    ) -> None:
        self.layout = layout
        self.matrices = matrices
        self.lists = lists
        self.rows = rows

    def take(self, index: Index) -> Store:
        """Return the rows that an index names, as a copy."""
        return Store(
            self.layout,
            [matrix.take(index, axis=0) for matrix in self.matrices],
            [column.take(index) for column in self.lists],
            len(index),
        )

    def slice(self, start: int, stop: int) -> Store:
        """Return the rows from `start` up to `stop`.

        They are a copy: a view would keep the whole window alive for as long as someone keeps
        a batch, and let a model that writes into its batch change the rows of the next epoch.
        """
        return Store(
            self.layout,
            [matrix[start:stop].copy() for matrix in self.matrices],
            [column.slice(start, stop) for column in self.lists],
            stop - start,
        )

    @classmethod
    def concat(cls, pieces: Sequence[Store]) -> Store:
        """Return the rows of all pieces, in order; the same object where there is one piece."""
        if len(pieces) == 1:
            return pieces[0]
        return cls(
            pieces[0].layout,
            [np.concatenate(arrays) for arrays in zip(*(p.matrices for p in pieces), strict=True)],
            [ListRows.concat(rows) for rows in zip(*(p.lists for p in pieces), strict=True)],
            sum(piece.rows for piece in pieces),
        )

    def to_batch(self) -> Batch:
        """Return the columns by name, without a copy; scalar columns are views of a matrix."""
        columns: Batch = {}
        for block, matrix in zip(self.layout.blocks, self.matrices, strict=True):
            columns.update(zip(block.names, torch.from_numpy(matrix).unbind(1), strict=True))
        for column, rows in zip(self.layout.lists, self.lists, strict=True):
            values, offsets = torch.from_numpy(rows.values), torch.from_numpy(rows.offsets)
            columns[column.name] = Ragged(values, offsets)
        return {name: columns[name] for name in self.layout.names}
