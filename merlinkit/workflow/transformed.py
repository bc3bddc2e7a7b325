"""What `Workflow.transform` returns: plans that run when the result is asked for."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import polars as pl

from merlinkit.atomic import atomic_folder
from merlinkit.data.failures import data_error, folder_errors
from merlinkit.data.manifest import MANIFEST, FileEntry, Manifest, file_sha256
from merlinkit.engine.base import Engine
from merlinkit.errors import RunDirError
from merlinkit.schema import JSONValue, Schema

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
        row_group_rows: int | None = None,
        overwrite: bool = False,
        details: dict[str, JSONValue] | None = None,
        progress: Callable[[str], None] | None = None,
    ) -> Manifest:
        """Write the result file by file, in the order of the data.

        Parameters
        ----------
        folder
            Folder to write; it appears when all is written, with ``schema.json`` and the manifest
            ``_SUCCESS`` in it.
        row_group_rows
            Rows of a row group; None leaves the choice to the engine.
        overwrite
            Whether a folder that is there may be replaced.
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
        entries: list[FileEntry] = []
        with folder_errors(target), atomic_folder(target) as temporary:
            for name, plan in self._parts():
                path = temporary / f"part-{len(entries):05d}.parquet"
                try:
                    rows = self._engine.sink(plan, path, row_group_rows=row_group_rows)
                except pl.exceptions.PolarsError as error:
                    raise data_error(f"{name} cannot be transformed", error) from error
                if rows == 0:
                    path.unlink()
                    continue
                entries.append(FileEntry(path.name, rows, path.stat().st_size, file_sha256(path)))
                if progress is not None:
                    progress(f"{name}: {rows:,} rows")
            if not entries:
                # One file without rows, so that the types can be read from the data.
                path = temporary / "part-00000.parquet"
                self.schema.empty_frame().write_parquet(path)
                entries.append(FileEntry(path.name, 0, path.stat().st_size, file_sha256(path)))
            self.schema.save(temporary / "schema.json")
            rows = sum(entry.rows for entry in entries)
            manifest = Manifest(rows, tuple(entries), self.schema, details or {})
            manifest.save(temporary)
        return manifest
