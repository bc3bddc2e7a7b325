"""Synthetic logs as files, in constant memory, file by file."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Literal, get_args

import polars as pl
from polars.io.plugins import register_io_source

from merlinkit.atomic import atomic_file
from merlinkit.data.synthetic.presets import LogSpec, preset_of
from merlinkit.errors import DataError, ParameterError, did_you_mean

__all__ = ["FileFormat", "write"]

FileFormat = Literal["parquet", "csv", "tsv", "jsonl"]

DESCRIPTION = "_synthetic.json"
# Goes up when the same spec gives other rows, so that files of two versions are never mixed.
GENERATOR_VERSION = 1
_ROW_GROUP_ROWS = 131_072


def write(
    spec: LogSpec,
    folder: str | Path,
    format: FileFormat = "parquet",
    files: int | None = None,
    *,
    only: Iterable[int] | None = None,
) -> list[Path]:
    """Write the log as ``part-00000.parquet`` and so on, each file appearing whole.

    The rows and their order depend neither on the number of files nor on the format, and the
    bytes of a file are the same each time. A call that was killed is continued by the next one:
    finished files are kept. Several processes may write the same folder at once; with `only`
    they share the work.

    Parameters
    ----------
    spec
        What to write.
    folder
        Where to; made if needed. It has to be empty or hold a log of the same spec.
    format
        ``parquet`` (with ``schema.json`` beside), ``csv`` (with header; ``tags`` as one string,
        elements parted by ``|``, nulls as nothing between two of them, an empty list as ``""``,
        a null list as no value), ``tsv`` (the same with tabs and without header) or ``jsonl``.
    files
        Number of files; None takes that of the spec.
    only
        Numbers of the files to write in this call, 0 being the first; None writes all.

    Returns
    -------
    list of Path
        All files of the log, in row order, or those of `only`.

    Raises
    ------
    ParameterError
        If format, `files` or `only` is not possible.
    DataError
        If the folder cannot be written, or holds something else.

    Notes
    -----
    Memory does not grow with the log: a row group of 131,072 rows and a few blocks of
    `generate` are held; a whole process takes about 180 MiB.

    Examples
    --------
    >>> import tempfile
    >>> from merlinkit.data.synthetic import SyntheticSpec
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     paths = write(SyntheticSpec(rows=1_000), folder, files=2)
    >>> [path.name for path in paths]
    ['part-00000.parquet', 'part-00001.parquet']
    """
    if format not in get_args(FileFormat):
        known = ", ".join(get_args(FileFormat))
        raise ParameterError(
            f"unknown format '{format}'.{did_you_mean(format, get_args(FileFormat))} "
            f"Known: {known}."
        )
    count = spec.num_files if files is None else files
    if isinstance(count, bool) or not isinstance(count, int) or not 1 <= count <= spec.rows:
        raise ParameterError(f"files={count!r} is not within 1 and rows={spec.rows}")
    wanted = range(count) if only is None else sorted(set(only))
    if outside := [number for number in wanted if not 0 <= number < count]:
        raise ParameterError(f"only={outside[0]} is not within 0 and {count - 1}")
    target = Path(folder)
    paths: list[Path] = []
    try:
        target.mkdir(parents=True, exist_ok=True)
        _claim(spec, target, format, count)
        for number in wanted:
            path = target / f"part-{number:05d}.{format}"
            paths.append(path)
            if path.exists():
                continue
            start, stop = number * spec.rows // count, (number + 1) * spec.rows // count
            with atomic_file(path) as temporary:
                _write_file(spec, temporary, format, start, stop)
    except OSError as error:
        raise DataError(f"cannot write the log to {target}: {error.strerror or error}") from error
    except pl.exceptions.ComputeError as error:
        # So Polars reports a full disk while it writes parquet.
        if "IO error" not in str(error):
            raise
        raise DataError(f"cannot write the log to {target}: {error}") from error
    return paths


def _claim(spec: LogSpec, folder: Path, format: FileFormat, files: int) -> None:
    """Write what the folder holds, or check that it holds just that."""
    ours = {
        "generator_version": GENERATOR_VERSION,
        "format": format,
        "preset": preset_of(spec).name,
        **spec.to_dict(),
        "files": files,
    }
    path = folder / DESCRIPTION
    # Looked at before the description: another process writes that first, so what it adds while
    # we look is never taken for somebody else's.
    foreign = sorted(entry.name for entry in folder.iterdir() if entry.name[0] not in "._")
    if not path.exists():
        if foreign:
            raise DataError(
                f"{folder} is not empty (it has {foreign[0]}) and holds no synthetic log that "
                "could be continued. Choose another folder."
            )
        with atomic_file(path) as temporary:
            temporary.write_text(json.dumps(ours, indent=2) + "\n", encoding="utf-8")
    theirs = _read_description(path)
    differences = [
        f"{key} {theirs.get(key)!r} there, {value!r} asked for"
        for key, value in ours.items()
        if theirs.get(key) != value
    ]
    if differences:
        raise DataError(
            f"{folder} holds another synthetic log ({'; '.join(differences)}). Choose another "
            "folder or delete this one."
        )
    described = folder / "schema.json"
    if format == "parquet" and not described.exists():
        with atomic_file(described) as temporary:
            schema = json.dumps(preset_of(spec).schema(spec).to_dict(), indent=2)
            temporary.write_text(schema + "\n", encoding="utf-8")


def _read_description(path: Path) -> dict[str, object]:
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
    except ValueError as error:
        raise DataError(f"{path} is not valid JSON: {error}. Delete the folder.") from error
    return found if isinstance(found, dict) else {}


def _write_file(spec: LogSpec, path: Path, format: FileFormat, start: int, stop: int) -> None:
    """Write rows start … stop-1 to one file, a chunk at a time."""
    if format == "parquet":
        plan = _plan(spec, start, stop)
        plan.sink_parquet(path, row_group_size=_ROW_GROUP_ROWS, maintain_order=True)
        return
    with path.open("wb") as file:
        for number, chunk in enumerate(preset_of(spec).generate(spec, start, stop)):
            if format == "jsonl":
                chunk.write_ndjson(file)
                continue
            lists = [name for name, dtype in chunk.schema.items() if isinstance(dtype, pl.List)]
            joined = [
                pl.col(name).list.eval(pl.element().fill_null("")).list.join("|") for name in lists
            ]
            chunk.with_columns(joined).write_csv(
                file,
                include_header=format == "csv" and number == 0,
                separator="," if format == "csv" else "\t",
            )


def _plan(spec: LogSpec, start: int, stop: int) -> pl.LazyFrame:
    """Return the rows as a plan that is pulled chunk by chunk."""

    def source(
        columns: list[str] | None, predicate: pl.Expr | None, rows: int | None, _: int | None
    ) -> Iterator[pl.DataFrame]:
        # A plan that only sinks pushes nothing down; refuse to answer what was not asked.
        if predicate is not None or rows is not None:
            raise AssertionError("the source of a sink got a filter or a limit")
        for chunk in preset_of(spec).generate(spec, start, stop):
            yield chunk if columns is None else chunk.select(columns)

    return register_io_source(source, schema=preset_of(spec).schema(spec).to_polars())
