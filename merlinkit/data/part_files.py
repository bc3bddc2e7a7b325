"""What comes of one source: a parquet file, or several."""

from __future__ import annotations

import shutil
from pathlib import Path

import polars as pl

from merlinkit.atomic import TEMPORARY_PREFIX
from merlinkit.data.manifest import FileEntry, file_sha256
from merlinkit.engine.base import LocalEngine
from merlinkit.engine.parquet_output import ParquetOutput

__all__ = ["write_part"]


def write_part(
    plan: pl.LazyFrame, folder: Path, name: str, engine: LocalEngine, output: ParquetOutput
) -> list[FileEntry]:
    """Run the plan of a source and return the files it gave; none if it gives no rows.

    Parameters
    ----------
    plan
        What to run.
    folder
        Where to write; it exists. Files there that have names of the new ones are replaced.
    name
        Name of the file without its suffix, or how names begin if there are several.
    engine
        Runs the plan.
    output
        How to write.
    """
    if output.is_one_file:
        path = folder / f"{name}.parquet"
        rows = engine.sink(plan, path, output)
        if rows == 0:
            path.unlink()
            return []
        return [FileEntry(path.name, rows, path.stat().st_size, file_sha256(path))]
    # Apart from the others first, since these files do not appear whole or not at all.
    unfinished = folder / f"{TEMPORARY_PREFIX}{name}"
    shutil.rmtree(unfinished, ignore_errors=True)
    unfinished.mkdir()
    entries = []
    for path in engine.sink_files(plan, unfinished, name, output):
        inside = path.relative_to(unfinished)
        target = folder / inside
        target.parent.mkdir(parents=True, exist_ok=True)
        path.replace(target)
        rows = pl.scan_parquet(target, glob=False).select(pl.len()).collect().item()
        size = target.stat().st_size
        entries.append(FileEntry(inside.as_posix(), rows, size, file_sha256(target)))
    shutil.rmtree(unfinished)
    return entries
