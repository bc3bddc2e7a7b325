"""What `Workflow.transform` returns: plans that run when the result is asked for."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import cast

import polars as pl

from merlinkit.atomic import atomic_folder, resumable_folder
from merlinkit.data.coerce import RowSource
from merlinkit.data.failures import POLARS_ERRORS, data_error, folder_errors
from merlinkit.data.hive import check_partitions
from merlinkit.data.manifest import MANIFEST, FileEntry, Manifest, file_sha256
from merlinkit.data.part_files import write_part
from merlinkit.engine.base import Engine, LocalEngine
from merlinkit.engine.parquet_output import Codec, ParquetOutput
from merlinkit.engine.select import dialect_of, opened
from merlinkit.engine.shared import Shared
from merlinkit.engine.task import Task
from merlinkit.errors import RunDirError
from merlinkit.schema import JSONValue, Schema
from merlinkit.workflow.backward import Backward
from merlinkit.workflow.part_records import PartRecords
from merlinkit.workflow.pieces import Piece, small_pieces
from merlinkit.workflow.program import Program, bring_together

__all__ = ["Transformed"]


_TOGETHER = "_together"


class Transformed:
    """A transformed data set, not computed yet.

    Parameters
    ----------
    schema
        Columns of the result.
    rows
        The data.
    program
        What is done with it.
    engine
        Where it is done: an engine, or the name of one that is made and closed for each use.
    """

    def __init__(
        self,
        schema: Schema,
        rows: RowSource,
        program: Program | Backward,
        engine: str | Engine,
    ) -> None:
        self.schema = schema
        self._rows = rows
        self._program = program
        self._engine = engine

    def lazy(self) -> pl.LazyFrame:
        """Return the plan."""
        return self._program.plan(self._rows.scan(), dialect_of(self._engine))

    def collect(self) -> pl.DataFrame:
        """Return the result in memory."""
        try:
            with opened(self._engine) as engine:
                return engine.collect([self.lazy()])[0]
        except POLARS_ERRORS as error:
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
        target = Path(folder).resolve()
        if target.is_dir() and not overwrite and any(target.iterdir()):
            raise RunDirError(f"{target} is there already; choose another folder, or overwrite it")
        if target.is_dir() and any(target.iterdir()) and not (target / MANIFEST).is_file():
            raise RunDirError(
                f"{target} holds files that are not processed data; choose a new or empty folder"
            )
        place = atomic_folder(target) if resume is None else resumable_folder(target, resume)
        with opened(self._engine) as engine, folder_errors(target), place as temporary:
            output = self._output(engine, codec, row_group_rows, rows_per_file, partition_by)
            engine.require_visible([temporary])
            entries = self._write(temporary, engine, output, progress)
            self.schema.save(temporary / "schema.json")
            rows = sum(entry.rows for entry in entries)
            manifest = Manifest(rows, tuple(entries), self.schema, details or {})
            manifest.save(temporary)
        return manifest

    def _write(
        self,
        folder: Path,
        engine: Engine,
        output: ParquetOutput,
        progress: Callable[[str], None] | None,
    ) -> list[FileEntry]:
        """Write what is not there yet, and return all files in the order of the rows."""
        program = Shared(self._program)
        pieces, are_buckets = self._pieces(program, folder, engine)
        records = PartRecords(folder)
        done = [records.read(index) for index in range(len(pieces))]
        tasks = engine.run(
            Task(
                f"transform {piece.name}",
                partial(_write_piece, program, piece, are_buckets, index, records, output),
            )
            for index, piece in enumerate(pieces)
            if done[index] is None
        )
        entries: list[FileEntry] = []
        for piece, written in zip(pieces, done, strict=True):
            if written is None:
                written = next(tasks)
            entries += written
            if progress is not None and written:
                progress(f"{piece.name}: {sum(entry.rows for entry in written):,} rows")
        if not entries:
            # One file without rows, so that the types can be read from the data.
            path = folder / "part-00000.parquet"
            self.schema.empty_frame().write_parquet(path)
            entries.append(FileEntry(path.name, 0, path.stat().st_size, file_sha256(path)))
        records.clear()
        shutil.rmtree(folder / _TOGETHER, ignore_errors=True)
        return entries

    def _pieces(
        self, program: Shared[Program | Backward], folder: Path, engine: Engine
    ) -> tuple[list[Piece], bool]:
        """Return what is transformed on its own: partitions, or buckets for the last step."""
        parts = small_pieces(self._rows)
        if isinstance(program.value, Backward) or program.value.steps == 1:
            return parts, False
        buckets = bring_together(
            cast("Shared[Program]", program), parts, folder / _TOGETHER, engine, self._rows.name
        )
        if buckets is not None:
            return buckets, True
        # Rows that belong together may come from any file.
        return [Piece(self._rows.name, self._rows.scan())], False

    def _output(
        self,
        engine: Engine,
        codec: Codec | None,
        row_group_rows: int | None,
        rows_per_file: int | None,
        partition_by: str | Sequence[str],
    ) -> ParquetOutput:
        output = engine.output
        if codec is not None:
            output = replace(output, codec=codec)
        if row_group_rows is not None:
            output = replace(output, row_group_rows=row_group_rows)
        if rows_per_file is not None:
            output = replace(output, rows_per_file=rows_per_file)
        output = replace(output, partition_by=partition_by)
        check_partitions(output.partition_by, self.schema)
        return output


def _write_piece(
    program: Shared[Program | Backward],
    piece: Piece,
    is_bucket: bool,
    index: int,
    records: PartRecords,
    output: ParquetOutput,
    engine: LocalEngine,
) -> list[FileEntry]:
    """Transform a piece, write it, and note that it is done."""
    steps = program.value
    try:
        if is_bucket and isinstance(steps, Program):
            plan = steps.last(piece.frame, engine.dialect)
        else:
            plan = steps.plan(piece.frame, engine.dialect)
        written = write_part(plan, records.folder, f"part-{index:05d}", engine, output)
    except POLARS_ERRORS as error:
        raise data_error(f"{piece.name} cannot be transformed", error) from error
    records.write(index, written)
    return written
