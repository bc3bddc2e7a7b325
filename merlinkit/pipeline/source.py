"""The data set that a configuration names: files, a public data set, or a generated log."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from merlinkit.data.dataset import Dataset
from merlinkit.data.providers import movielens_100k
from merlinkit.data.synthetic import preset_of, write
from merlinkit.pipeline.config import DatasetConfig
from merlinkit.schema import Schema

__all__ = ["open_dataset", "peek_schema", "source_state"]


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


def peek_schema(config: DatasetConfig) -> tuple[Schema, int | None]:
    """Return the columns and, where it is cheap to know, the number of rows; write nothing."""
    if config.kind == "synthetic":
        assert config.synthetic is not None
        schema = preset_of(config.synthetic).schema(config.synthetic)
        return schema, config.synthetic.rows
    dataset = open_dataset(config, Path())
    return dataset.schema, dataset.num_rows()


def source_state(config: DatasetConfig, dataset: Dataset | None) -> Any:
    """Return JSON values that change when the data changes: sizes and times of its files.

    For data that is generated, ``dataset`` is None: its parameters decide what it will be.
    """
    if dataset is None:
        assert config.synthetic is not None
        return config.synthetic.to_dict()
    stats = [(str(path), path.stat()) for path in dataset.files]
    return [[name, stat.st_size, stat.st_mtime_ns] for name, stat in stats]
