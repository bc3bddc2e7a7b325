"""The data set that a configuration names: files, a public data set, or a generated log."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from merlinkit.data.dataset import Dataset
from merlinkit.data.providers import movielens_100k
from merlinkit.data.synthetic import preset_of, write
from merlinkit.errors import RunDirError
from merlinkit.pipeline.config import DatasetConfig
from merlinkit.schema import Schema

__all__ = ["SOURCE_FILE", "Peek", "open_dataset", "peek", "require_same_source", "source_state"]

SOURCE_FILE = "source.json"
"""What the files of the data were like when a run directory was begun."""


def open_dataset(config: DatasetConfig, work: Path) -> Dataset:
    """Return the data set, fetched or generated if need be.

    Parameters
    ----------
    config
        The ``dataset`` section.
    work
        Folder for generated logs.
    """
    if config.kind == "movielens_100k":
        return Dataset(movielens_100k(), name=config.name)
    if config.kind == "synthetic":
        assert config.synthetic is not None
        folder = work / "raw"
        write(config.synthetic, folder)
        return Dataset(folder, name=config.name)
    return Dataset(
        config.path,
        format=config.format,
        csv=config.csv,
        dtypes=config.dtypes,
        columns=config.columns,
        fields=config.fields,
        missing_columns="null" if config.missing_columns == "null" else "error",
        hive_partitioning=config.hive_partitioning,
        name=config.name,
    )


@dataclass(frozen=True)
class Peek:
    """What can be known of a data set without reading its rows.

    Parameters
    ----------
    schema
        The columns.
    rows
        Number of rows; None where it takes a pass over the data.
    partitions
        Number of files, large ones counted by their parts.
    """

    schema: Schema
    rows: int | None
    partitions: int


def peek(config: DatasetConfig) -> Peek:
    """Look at the data set that a configuration names; write nothing."""
    if config.kind == "synthetic":
        spec = config.synthetic
        assert spec is not None
        return Peek(preset_of(spec).schema(spec), spec.rows, spec.num_files)
    dataset = open_dataset(config, Path())
    return Peek(dataset.schema, dataset.num_rows(), len(list(dataset.scan_partitions())))


def require_same_source(folder: Path, found: Any, *, overwrite: bool) -> None:
    """Raise if the files of the data are not those that a run directory was begun with.

    Parameters
    ----------
    folder
        The run directory.
    found
        What `source_state` returned just now.
    overwrite
        Whether what was made of the other files may be replaced.

    Raises
    ------
    RunDirError
        Naming the files that changed, came or went.
    """
    try:
        known = json.loads((folder / SOURCE_FILE).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return
    if overwrite or known == found or not (isinstance(known, list) and isinstance(found, list)):
        return
    before = {name: state for name, *state in known}
    now = {name: state for name, *state in found}
    changes = [f"{name} is gone" for name in before if name not in now]
    changes += [f"{name} is new" for name in now if name not in before]
    changes += [
        f"{name} changed" for name, state in now.items() if before.get(name, state) != state
    ]
    more = "" if len(changes) <= 5 else f", and {len(changes) - 5} more"
    raise RunDirError(
        f"run_dir {folder} was made from other data: {', '.join(changes[:5])}{more}; choose "
        "another run_dir, or set overwrite=true to make it again"
    )


def source_state(config: DatasetConfig, dataset: Dataset | None) -> Any:
    """Return JSON values that change when the data changes: sizes and times of its files.

    For data that is generated, ``dataset`` is None: its parameters decide what it will be.
    """
    if dataset is None:
        assert config.synthetic is not None
        return config.synthetic.to_dict()
    return [[str(path), *_state(path)] for path in dataset.files]


def _state(path: Path) -> tuple[int | None, int | None]:
    try:
        stat = path.stat()
    except OSError:
        return None, None
    return stat.st_size, stat.st_mtime_ns
