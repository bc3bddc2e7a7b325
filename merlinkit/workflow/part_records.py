"""Which sources are done in a folder that is being written."""

from __future__ import annotations

import json
import shutil
from collections.abc import Sequence
from pathlib import Path

from merlinkit.atomic import write_json
from merlinkit.data.manifest import FileEntry

__all__ = ["PartRecords"]

_FOLDER = "_parts"


class PartRecords:
    """Remembers what came of each source, so that a kill costs no more than one of them.

    Parameters
    ----------
    folder
        The folder that is written; it exists.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._records = folder / _FOLDER
        self._records.mkdir(exist_ok=True)

    def read(self, index: int) -> list[FileEntry] | None:
        """Return the files of a source, None if it is not done or they are not whole."""
        try:
            record = json.loads(self._path(index).read_text(encoding="utf-8"))
            entries = [FileEntry(**entry) for entry in record]
            whole = all((self.folder / each.name).stat().st_size == each.bytes for each in entries)
        except (OSError, ValueError, TypeError):
            return None
        return entries if whole else None

    def write(self, index: int, entries: Sequence[FileEntry]) -> None:
        """Note that a source is done, and its files."""
        write_json(self._path(index), [vars(entry) for entry in entries])

    def clear(self) -> None:
        """Forget all: the folder is complete."""
        shutil.rmtree(self._records)

    def _path(self, index: int) -> Path:
        return self._records / f"{index:05d}.json"
