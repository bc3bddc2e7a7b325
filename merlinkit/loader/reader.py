"""Reads pieces of row groups from disk, each row group once and front to back."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from merlinkit.errors import DataError
from merlinkit.loader.order import Piece
from merlinkit.loader.parts import Parts, RowGroup

__all__ = ["PieceReader"]

_CHUNK_ROWS = 16_384
_OPEN_FILES = 16
# Bytes of a column chunk that are read at once. Without it the whole chunk is held, and a
# shuffle has a row group for each of its open streams.
_READ_AHEAD = 128 * 1024


class PieceReader:
    """Gives the rows of pieces as Arrow record batches of the wanted columns.

    Parameters
    ----------
    parts
        The files.
    names
        The columns to read; no byte of another column is decoded.

    Notes
    -----
    A piece that begins where an earlier piece of its row group ended continues that read.
    Parquet has no direct way to a row inside a row group, so any other piece decodes and drops
    the rows of its row group before it; this happens only when a run is resumed.
    """

    def __init__(self, parts: Parts, names: Sequence[str]) -> None:
        self._parts = parts
        self._names = list(names)
        self._files: OrderedDict[int, pq.ParquetFile] = OrderedDict()
        self._streams: dict[int, _Stream] = {}

    def read(self, piece: Piece) -> Iterator[pa.RecordBatch]:
        """Yield the rows of a piece in order, at most some ten thousand at a time.

        Raises
        ------
        DataError
            If the file is damaged, gone or shorter than it was, naming file and row group.
        """
        group = self._parts.row_groups[piece.group]
        path = self._parts.files[group.file]
        stream = self._streams.pop(piece.group, None)
        try:
            if stream is None or stream.position != piece.start:
                stream = _Stream(self._open(group, path))
                for _ in stream.take(piece.start):
                    pass
            yield from stream.take(piece.stop - piece.start)
        except (OSError, pa.ArrowException) as error:
            raise DataError(
                f"{path}, row group {group.index}: cannot read columns "
                f"{', '.join(self._names)}; write the file again: {error}"
            ) from error
        if stream.position != piece.stop:
            raise DataError(
                f"{path}, row group {group.index}: ends after row {stream.position}, its footer "
                f"said {group.rows}; the file was changed or is damaged, write it again"
            )
        if piece.stop < group.rows:
            self._streams[piece.group] = stream

    def close(self) -> None:
        """Let go of all files."""
        self._streams.clear()
        self._files.clear()

    def _open(self, group: RowGroup, path: Path) -> Iterator[pa.RecordBatch]:
        file = self._files.pop(group.file, None)
        if file is None:
            file = pq.ParquetFile(path, pre_buffer=False, buffer_size=_READ_AHEAD)
        if group.index >= file.metadata.num_row_groups:
            raise DataError(f"{path} lost row groups since the loader was made; make a new one")
        self._files[group.file] = file
        if len(self._files) > _OPEN_FILES:
            # Not closed here: a half-read row group may need it still, and its stream holds it.
            self._files.popitem(last=False)
        batches: Any = file.iter_batches(
            min(_CHUNK_ROWS, group.rows), row_groups=[group.index], columns=self._names
        )
        return iter(batches)


class _Stream:
    """A row group that is read bit by bit."""

    def __init__(self, batches: Iterator[pa.RecordBatch]) -> None:
        self.position = 0
        self._batches = batches
        self._rest: pa.RecordBatch | None = None

    def take(self, rows: int) -> Iterator[pa.RecordBatch]:
        """Yield the next so many rows, or as many as are left."""
        end = self.position + rows
        while self.position < end:
            batch = self._rest if self._rest is not None else next(self._batches, None)
            if batch is None:
                return
            head = batch.slice(0, end - self.position)
            self._rest = batch.slice(len(head)) if len(head) < len(batch) else None
            self.position += len(head)
            yield head
