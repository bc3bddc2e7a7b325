"""Turns the rows of a window from Arrow memory into packed arrays."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from merlinkit.loader.layout import Block, Layout, ListColumn
from merlinkit.loader.nulls import nulls_error
from merlinkit.loader.order import Window
from merlinkit.loader.parts import Parts
from merlinkit.loader.reader import PieceReader
from merlinkit.loader.store import Array, ListRows, Store

__all__ = ["Cancelled", "Decoder"]

# Columns are interleaved in strips of so many rows, which stay in the processor's cache while
# column after column is written into them; whole columns at once took six times as long.
_STRIP_ROWS = 1024


class Cancelled(Exception):
    """A decoder was told to stop in the middle of a window. No user sees it."""


class Decoder:
    """Decodes windows, one at a time.

    Parameters
    ----------
    parts
        The files.
    layout
        The columns, and where each goes.
    """

    def __init__(self, parts: Parts, layout: Layout) -> None:
        self._parts = parts
        self._layout = layout
        self._reader = PieceReader(parts, layout.names)
        self._cancelled = threading.Event()

    def cancel(self) -> None:
        """Make a `decode` that is under way in another thread stop soon."""
        self._cancelled.set()

    def close(self) -> None:
        """Let go of all files."""
        self._reader.close()

    def decode(self, window: Window) -> Store:
        """Read and pack the rows of a window, in the order of its pieces.

        Raises
        ------
        DataError
            If a file cannot be read or columns hold nulls, naming file, column and count.
        Cancelled
            After `cancel`.
        """
        layout = self._layout
        matrices = [
            np.empty((window.rows, len(block.names)), block.dtype) for block in layout.blocks
        ]
        lists = [_ListBuilder(column) for column in layout.lists]
        row = 0
        for piece in window.pieces:
            path = self._parts.files[self._parts.row_groups[piece.group].file]
            for batch in self._reader.read(piece):
                if self._cancelled.is_set():
                    raise Cancelled
                for block, matrix in zip(layout.blocks, matrices, strict=True):
                    arrays = [self._checked(batch, name, path) for name in block.names]
                    _interleave(arrays, block, matrix[row : row + len(batch)])
                for builder in lists:
                    builder.add(batch.column(builder.column.name), path, layout)
                row += len(batch)
        return Store(layout, matrices, [builder.finish() for builder in lists], window.rows)

    def _checked(self, batch: pa.RecordBatch, name: str, path: Path) -> pa.Array:
        array = batch.column(name)
        if array.null_count:
            raise nulls_error(path, self._layout)
        return array


def _interleave(arrays: Sequence[pa.Array], block: Block, out: Array) -> None:
    columns = [_view(array) for array in arrays]
    for start in range(0, len(out), _STRIP_ROWS):
        strip = out[start : start + _STRIP_ROWS]
        for number, column in enumerate(columns):
            strip[:, number] = column[start : start + _STRIP_ROWS]


def _view(array: pa.Array) -> Array:
    """Return Arrow values without a copy, but for booleans, which Arrow keeps as bits."""
    is_bits = pa.types.is_boolean(array.type)
    values: Array = array.to_numpy(zero_copy_only=not is_bits)
    return values


class _ListBuilder:
    """Gathers the lengths and values of a list column and joins them at the end."""

    def __init__(self, column: ListColumn) -> None:
        self.column = column
        self._lengths: list[Array] = []
        self._values: list[Array] = []

    def add(self, array: pa.Array, path: Path, layout: Layout) -> None:
        # Both treat a null list as empty, even where Arrow keeps values behind the null.
        values = array.flatten()
        if values.null_count:
            raise nulls_error(path, layout)
        self._values.append(_view(values))
        self._lengths.append(_view(pc.fill_null(pc.list_value_length(array), 0)))

    def finish(self) -> ListRows:
        values = np.empty(sum(len(piece) for piece in self._values), self.column.dtype)
        start = 0
        for piece in self._values:
            values[start : start + len(piece)] = piece
            start += len(piece)
        # Lets go of the Arrow memory before the next list column is joined.
        self._values.clear()
        return ListRows.from_lengths(values, np.concatenate(self._lengths))
