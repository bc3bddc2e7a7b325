"""Writing any data set as parquet, once, so that later passes are fast and run on any engine."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from glob import escape
from pathlib import Path
from typing import Any

from merlinkit.atomic import TEMPORARY_PREFIX, write_json
from merlinkit.data.dataset import SCHEMA_FILE, Dataset
from merlinkit.data.failures import data_errors
from merlinkit.data.hive import check_partitions
from merlinkit.data.malformed import Malformed, MalformedRow
from merlinkit.data.manifest import MANIFEST, FileEntry, Manifest
from merlinkit.data.parquet import ParquetFile
from merlinkit.data.part_files import write_part
from merlinkit.data.sources import INCOMPLETE_MARKER
from merlinkit.engine.base import Engine, LocalEngine
from merlinkit.engine.cpu import CpuEngine
from merlinkit.engine.parquet_output import ParquetOutput
from merlinkit.engine.shared import Shared
from merlinkit.engine.task import Task
from merlinkit.errors import DataError, RunDirError

__all__ = ["convert"]

_RECORD_FORMAT = 2
_RECORD = "_convert.json"


def convert(
    dataset: Dataset,
    folder: str | os.PathLike[str],
    *,
    output: ParquetOutput | None = None,
    engine: Engine | None = None,
    progress: Callable[[str], None] | None = None,
) -> Dataset:
    r"""Write each file of a data set as parquet and return the data set of what was written.

    Parameters
    ----------
    dataset
        What to write.
    folder
        Where to; it is made if it is not there. It must hold nothing but what an earlier call
        for the same data set wrote.
    output
        How to write; None leaves the choice to the engine, but writes one file for each source.
    engine
        Where files are written. What only the CPU can read (`Dataset.needs_cpu`) is read by the CPU
        there, whatever the engine. None is a `CpuEngine`.
    progress
        Called with a line after each file.

    Returns
    -------
    Dataset
        The parquet files, with the schema of the data set. Its `malformed` and that of the data
        set hold the dropped rows.

    Raises
    ------
    DataError
        If a row is malformed or a value does not fit, naming file and line, or if no row is left.
    RunDirError
        If the folder holds other files or cannot be written to.

    Notes
    -----
    Memory is bounded: files are read as streams, one after the other. Each parquet file appears
    whole or not at all. Files that an earlier, interrupted call completed are not done again,
    unless their source, options or types have changed since. Until all are done, the folder holds
    ``_INCOMPLETE`` and cannot be read as a data set; then a `Manifest` takes its place.

    Source files without rows get no file.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     _ = (Path(folder) / "a.csv").write_text("user,price\n1,2.5\n2,3\n")
    ...     data = convert(Dataset(Path(folder) / "a.csv"), Path(folder) / "parquet")
    ...     data.num_rows(), [file.name for file in data.files]
    (2, ['a.parquet'])
    """
    target = Path(folder).absolute()
    runner = engine or CpuEngine()
    how = output or replace(runner.output, rows_per_file=None, partition_by=())
    check_partitions(how.partition_by, dataset.schema)
    work = _Conversion(dataset, target, how)
    work.begin()
    left = [(index, name) for index, name in enumerate(work.names) if not work.is_done(index, name)]
    sources = [work.source(index) for index, _ in left]
    shared = Shared(dataset)
    tasks = [
        Task(f"convert {name}", partial(_convert, shared, index, target, name, how))
        for index, name in left
    ]
    for (index, name), source, (files, dropped) in zip(
        left, sources, runner.run(tasks), strict=True
    ):
        dataset.malformed.update(dropped)
        work.done(index, name, files, source)
        if progress is not None:
            progress(f"{name}: {sum(file.rows for file in files):,} rows")
    return work.finish()


def _convert(
    shared: Shared[Dataset],
    index: int,
    folder: Path,
    name: str,
    output: ParquetOutput,
    engine: LocalEngine,
) -> tuple[list[FileEntry], Malformed]:
    """Write one file as parquet; return what was written and the rows that were dropped."""
    dataset = shared.value
    here = engine.name == "cpu" or not dataset.needs_cpu
    runner = engine if here else CpuEngine()
    with data_errors(f"{name} cannot be converted"):
        files = write_part(dataset.scan_file(index), folder, name, runner, output)
    return files, dataset.malformed


class _Conversion:
    """The folder that is written and the record of what is complete in it."""

    def __init__(self, dataset: Dataset, folder: Path, output: ParquetOutput) -> None:
        self.dataset = dataset
        self.folder = folder
        self.output = output
        self.names = [name for name, _ in dataset.scan_files()]
        # All that decides what a parquet file holds, besides its source.
        how = {
            "format": dataset.format,
            "csv": repr(dataset.csv),
            "fields": repr(sorted((dataset.fields or {}).items())),
            "schema": dataset.schema.to_polars().items(),
            "output": repr(output),
        }
        self.how = hashlib.sha256(repr(sorted(how.items(), key=str)).encode()).hexdigest()
        self.entries: dict[str, dict[str, Any]] = {}

    def begin(self) -> None:
        """Make the folder ready, and take over what an earlier call completed."""
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
            self._refuse_strangers()
            self.entries = self._read_record()
            (self.folder / INCOMPLETE_MARKER).touch()
            (self.folder / MANIFEST).unlink(missing_ok=True)
        except OSError as error:
            raise RunDirError(f"cannot write to {self.folder}: {error.strerror}") from None

    def _refuse_strangers(self) -> None:
        ours = {f"{name}.parquet" for name in self.names} | {
            INCOMPLETE_MARKER,
            _RECORD,
            MANIFEST,
            SCHEMA_FILE,
        }
        strangers = []
        for path in sorted(self.folder.iterdir()):
            if path.name.startswith(TEMPORARY_PREFIX):  # what a killed call left
                if path.is_dir():
                    shutil.rmtree(path)
                else:
                    path.unlink()
            elif path.name not in ours and not self._may_be_ours(path):
                strangers.append(path.name)
        if strangers:
            raise RunDirError(
                f"folder {self.folder} holds other files, such as {strangers[0]}; convert into an "
                "empty folder"
            )

    def _may_be_ours(self, path: Path) -> bool:
        """Tell whether an earlier call may have written a file or folder, by its name."""
        if self.output.partition_by:
            return path.is_dir() and "=" in path.name
        several = self.output.rows_per_file is not None
        return several and any(path.match(f"{escape(name)}-[0-9]*.parquet") for name in self.names)

    def _read_record(self) -> dict[str, dict[str, Any]]:
        try:
            record = json.loads((self.folder / _RECORD).read_text(encoding="utf-8"))
        except (FileNotFoundError, ValueError):
            return {}
        if not isinstance(record, dict):
            return {}
        same = record.get("format") == _RECORD_FORMAT and record.get("how") == self.how
        return dict(record["files"]) if same else {}

    def source(self, index: int) -> dict[str, Any] | None:
        """Return what tells whether a source is still the same; None if nothing can."""
        if not self.dataset.files:
            return None
        path = self.dataset.files[index]
        stat = path.stat()
        return {
            "path": str(path.absolute()),
            "bytes": stat.st_size,
            "modified": stat.st_mtime_ns,
        }

    def is_done(self, index: int, name: str) -> bool:
        """Return whether the parquet file of a source is complete and up to date."""
        entry = self.entries.get(name)
        source = self.source(index)
        if entry is None or source is None or entry["source"] != source:
            return False
        if not all(self._is_whole(file) for file in _files_of(entry)):
            return False
        if self.dataset.is_text:
            file = self.dataset.files[index]
            sample = [
                MalformedRow(file, row["line"], row["text"], row["reason"])
                for row in entry["malformed"]["sample"]
            ]
            self.dataset.malformed.record(file, entry["malformed"]["count"], sample)
        return True

    def _is_whole(self, file: FileEntry) -> bool:
        path = self.folder / file.name
        try:
            found = ParquetFile.read(path)
        except DataError:
            return False
        return (found.rows, path.stat().st_size) == (file.rows, file.bytes)

    def done(
        self, index: int, name: str, files: Sequence[FileEntry], source: dict[str, Any] | None
    ) -> None:
        """Record what came of a source, which is complete."""
        entry: dict[str, Any] = {"source": source, "files": [vars(each) for each in files]}
        if self.dataset.is_text:
            dropped = self.dataset.malformed
            file = self.dataset.files[index]
            entry["malformed"] = {
                "count": dropped.counts.get(file, 0),
                "sample": [
                    {"line": row.line, "text": row.text, "reason": row.reason}
                    for row in dropped.samples.get(file, ())
                ],
            }
        self.entries[name] = entry
        record = {"format": _RECORD_FORMAT, "how": self.how, "files": self.entries}
        write_json(self.folder / _RECORD, record)

    def finish(self) -> Dataset:
        """Mark the folder as complete and return its data set."""
        files = [file for name in self.names for file in _files_of(self.entries[name])]
        if not files:
            malformed = self.dataset.malformed
            why = f": {malformed}" if malformed else ""
            raise DataError(f"data set '{self.dataset.name}' has no rows{why}")
        write_json(self.folder / SCHEMA_FILE, self.dataset.schema.to_dict())
        rows = sum(file.rows for file in files)
        dropped = {str(file): count for file, count in self.dataset.malformed.by_file.items()}
        sample = [
            {"file": str(row.file), "line": row.line, "text": row.text, "reason": row.reason}
            for row in self.dataset.malformed.sample
        ]
        details = {"malformed": dropped, "malformed_sample": sample, "notes": self.dataset.notes}
        Manifest(rows, tuple(files), self.dataset.schema, details).save(self.folder)
        (self.folder / INCOMPLETE_MARKER).unlink()
        # Files come in the order of their sources, folders of partitions in that of their names.
        written: Any = (
            self.folder if self.output.partition_by else [self.folder / file.name for file in files]
        )
        converted = Dataset(written, schema=self.dataset.schema, name=self.dataset.name)
        converted.malformed.update(self.dataset.malformed)
        return converted


def _files_of(entry: dict[str, Any]) -> list[FileEntry]:
    """Return the files that the record of a source names."""
    return [FileEntry(**file) for file in entry["files"]]
