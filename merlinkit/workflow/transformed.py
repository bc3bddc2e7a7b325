"""What `Workflow.transform` returns: plans that run when the result is asked for."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path

import polars as pl

from merlinkit.atomic import atomic_folder, resumable_folder
from merlinkit.data.failures import data_error, folder_errors
from merlinkit.data.hive import check_partitions
from merlinkit.data.manifest import MANIFEST, FileEntry, Manifest, file_sha256
from merlinkit.data.part_files import write_part
from merlinkit.engine.base import Engine
from merlinkit.engine.parquet_output import Codec, ParquetOutput
from merlinkit.errors import RunDirError
from merlinkit.schema import JSONValue, Schema
from merlinkit.workflow.part_records import PartRecords

__all__ = ["Transformed"]


class Transformed:
    """A transformed data set, not computed yet.

    Parameters
    ----------
    schema
        Columns of the result.
    plan
        Plan of the whole result.
    parts
        Plans of the result for each file of the data, by name.
    engine
        Where the plans run.
    """

    def __init__(
        self,
        schema: Schema,
        plan: pl.LazyFrame,
        parts: Callable[[], Iterator[tuple[str, pl.LazyFrame]]],
        engine: Engine,
    ) -> None:
        self.schema = schema
        self._plan = plan
        self._parts = parts
        self._engine = engine

    def lazy(self) -> pl.LazyFrame:
        """Return the plan."""
        return self._plan

    def collect(self) -> pl.DataFrame:
        """Return the result in memory."""
        try:
            return self._engine.collect([self._plan])[0]
        except pl.exceptions.PolarsError as error:
            raise data_error("the data cannot be transformed", error) from error

    def to_parquet(
        self,
        folder: str | Path,
        *,
        codec: Codec | None = None,
        row_group_rows: int | None = None,
        rows_per_file: int | None = None,
        partition_by: str | Sequence[str] = (),
        overwrite: bool = False,
        resume: str | None = None,
        details: dict[str, JSONValue] | None = None,
        progress: Callable[[str], None] | None = None,
    ) -> Manifest:
        """Write the result file by file, in the order of the data.

        Parameters
        ----------
        folder
            Folder to write; it appears when all is written, with ``schema.json`` and the manifest
            ``_SUCCESS`` in it.
        codec, row_group_rows, rows_per_file
            How to write, see `ParquetOutput`; None leaves the choice to the engine, which by
            default writes zstd, row groups of 65,536 rows, and one file for each of the data.
        partition_by
            Columns that folders are made of, as Hive does; integers, strings, booleans or dates.
        overwrite
            Whether a folder that is there may be replaced.
        resume
            Names what the result is made of: data, options and workflow. Files that a killed call
            of the same name completed are then kept and not made again; they wait in
            ``.partial-NAME`` beside the folder. None starts afresh.
        details
            JSON values to keep in the manifest.
        progress
            Called with a line after each file.

        Returns
        -------
        Manifest
            Rows, files, checksums and schema.

        Raises
        ------
        RunDirError
            If the folder is there and may not be replaced, or cannot be written.
        ParameterError
            If a value of `ParquetOutput` is not possible.
        SchemaError
            If there is no column to partition by, it has another data type, or no other is left.
        DataError
            If a file of the data cannot be read or converted.
        """
        output = self._output(codec, row_group_rows, rows_per_file, partition_by)
        target = Path(folder).resolve()
        if target.is_dir() and not overwrite and any(target.iterdir()):
            raise RunDirError(f"{target} is there already; choose another folder, or overwrite it")
        if target.is_dir() and any(target.iterdir()) and not (target / MANIFEST).is_file():
            raise RunDirError(
                f"{target} holds files that are not processed data; choose a new or empty folder"
            )
        entries: list[FileEntry] = []
        place = atomic_folder(target) if resume is None else resumable_folder(target, resume)
        with folder_errors(target), place as temporary:
            done = PartRecords(temporary)
            for index, (name, plan) in enumerate(self._parts()):
                written = done.read(index)
                if written is None:
                    try:
                        name_of_part = f"part-{index:05d}"
                        written = write_part(plan, temporary, name_of_part, self._engine, output)
                    except pl.exceptions.PolarsError as error:
                        raise data_error(f"{name} cannot be transformed", error) from error
                    done.write(index, written)
                entries += written
                if progress is not None and written:
                    progress(f"{name}: {sum(entry.rows for entry in written):,} rows")
            if not entries:
                # One file without rows, so that the types can be read from the data.
                path = temporary / "part-00000.parquet"
                self.schema.empty_frame().write_parquet(path)
                entries.append(FileEntry(path.name, 0, path.stat().st_size, file_sha256(path)))
            done.clear()
            self.schema.save(temporary / "schema.json")
            rows = sum(entry.rows for entry in entries)
            manifest = Manifest(rows, tuple(entries), self.schema, details or {})
            manifest.save(temporary)
        return manifest

    def _output(
        self,
        codec: Codec | None,
        row_group_rows: int | None,
        rows_per_file: int | None,
        partition_by: str | Sequence[str],
    ) -> ParquetOutput:
        output = self._engine.output
        if codec is not None:
            output = replace(output, codec=codec)
        if row_group_rows is not None:
            output = replace(output, row_group_rows=row_group_rows)
        if rows_per_file is not None:
            output = replace(output, rows_per_file=rows_per_file)
        output = replace(output, partition_by=partition_by)
        check_partitions(output.partition_by, self.schema)
        return output
