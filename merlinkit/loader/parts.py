"""Which files and row groups there are, from the footers alone."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from merlinkit.errors import DataError
from merlinkit.loader.layout import Layout

__all__ = ["Parts", "RowGroup", "read_parts"]

PART_PATTERN = "part-*.parquet"
_PROBLEMS_SHOWN = 10


@dataclass(frozen=True, slots=True)
class RowGroup:
    """A row group that has rows: number of its file, its number in the file, its rows."""

    file: int
    index: int
    rows: int


@dataclass(frozen=True)
class Parts:
    """The files of a data set, sorted by name, and their row groups in that order.

    `fingerprint` is the SHA-256 of the file names and the rows of every row group. It stays the
    same when the folder moves and changes when rows are added, removed or cut differently.
    """

    files: tuple[Path, ...]
    row_groups: tuple[RowGroup, ...]
    rows: int
    fingerprint: str


def read_parts(path: Path, layout: Layout) -> Parts:
    """Read the footers of a folder of ``part-*.parquet``, or of one parquet file.

    Raises
    ------
    DataError
        If there is no such path or no part file, if files are not parquet or damaged, if they
        lack columns or hold them in another data type, or if there is not one row in all.
    """
    files = _find(path)
    row_groups: list[RowGroup] = []
    digest = hashlib.sha256()
    problems: list[str] = []
    accepted: pa.Schema | None = None
    for number, file in enumerate(files):
        try:
            with pq.ParquetFile(file) as parquet:
                found, footer = parquet.schema_arrow, parquet.metadata
                rows = [footer.row_group(index).num_rows for index in range(footer.num_row_groups)]
        except (OSError, pa.ArrowException) as error:
            problems.append(f"{file} is not a readable parquet file, write it again: {error}")
            continue
        # Part files are nearly always alike; comparing schemas is cheaper than checking columns.
        if accepted is None or not found.equals(accepted):
            differences = layout.problems_with(found)
            problems += [f"{file}: {difference}" for difference in differences]
            accepted = accepted if differences else found
        row_groups += [RowGroup(number, index, n) for index, n in enumerate(rows) if n]
        digest.update(f"{file.name}:{rows}\n".encode())
    if problems:
        raise DataError(_summary(problems))
    total = sum(group.rows for group in row_groups)
    if total == 0:
        count = f"all {len(files)} files are" if len(files) > 1 else "the only file is"
        raise DataError(f"no rows in {path}: {count} empty; check the split and the filters")
    return Parts(files, tuple(row_groups), total, digest.hexdigest())


def _find(path: Path) -> tuple[Path, ...]:
    if path.is_file():
        return (path,)
    if not path.is_dir():
        raise DataError(f"no file or folder {path}; give a folder of {PART_PATTERN} or one file")
    files = tuple(sorted(path.glob(PART_PATTERN)))
    if not files:
        names = sorted(entry.name for entry in path.iterdir())[:5]
        there = f"there are {', '.join(names)}" if names else "it is empty"
        raise DataError(f"no {PART_PATTERN} in {path}: {there}; process the data first")
    return files


def _summary(problems: list[str]) -> str:
    if len(problems) == 1:
        return problems[0]
    lines = [f"\n  - {problem}" for problem in problems[:_PROBLEMS_SHOWN]]
    if len(problems) > _PROBLEMS_SHOWN:
        lines.append(f"\n  and {len(problems) - _PROBLEMS_SHOWN} more")
    return f"{len(problems)} problems in the data:" + "".join(lines)
