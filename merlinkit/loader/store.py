"""Decoded rows, packed so that one gather for each data type makes a batch."""

from __future__ import annotations

from collections.abc import Sequence

import torch

from merlinkit.loader.batch import Batch
from merlinkit.loader.layout import Layout
from merlinkit.loader.ragged import Ragged

__all__ = ["Store"]


class Store:
    """Rows in memory. A window of many rows is one, and so is a batch before it is unpacked.

    Parameters
    ----------
    layout
        Which column is where.
    matrices
        One tensor ``[rows, columns]`` for each block of the layout.
    lists
        One `Ragged` of as many rows for each list column of the layout.
    rows
        Number of rows.
    """

    def __init__(
        self, layout: Layout, matrices: list[torch.Tensor], lists: list[Ragged], rows: int
    ) -> None:
        self.layout = layout
        self.matrices = matrices
        self.lists = lists
        self.rows = rows

    def take(self, index: torch.Tensor) -> Store:
        """Return the rows that an index (int64 ``[n]``) names, as a copy."""
        return Store(
            self.layout,
            [matrix.index_select(0, index) for matrix in self.matrices],
            [column.select(index) for column in self.lists],
            index.numel(),
        )

    def slice(self, start: int, stop: int) -> Store:
        """Return the rows from `start` up to `stop`.

        They are a copy: a view would keep the whole window alive for as long as someone keeps
        a batch, and let a model that writes into its batch change the rows of the next epoch.
        """
        return Store(
            self.layout,
            [matrix[start:stop].clone() for matrix in self.matrices],
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
            [torch.cat(matrices) for matrices in zip(*(p.matrices for p in pieces), strict=True)],
            [Ragged.concat(columns) for columns in zip(*(p.lists for p in pieces), strict=True)],
            sum(piece.rows for piece in pieces),
        )

    def to_batch(self) -> Batch:
        """Return the columns by name; scalar columns are views of the matrices."""
        columns: Batch = {}
        for block, matrix in zip(self.layout.blocks, self.matrices, strict=True):
            columns.update(zip(block.names, matrix.unbind(1), strict=True))
        for column, ragged in zip(self.layout.lists, self.lists, strict=True):
            columns[column.name] = ragged
        return {name: columns[name] for name in self.layout.names}
