"""Train, valid and test as sources of rows."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from pathlib import Path

import polars as pl

from merlinkit.atomic import continue_folder
from merlinkit.data.coerce import RowSource
from merlinkit.data.convert import convert
from merlinkit.data.dataset import Dataset
from merlinkit.data.failures import data_errors
from merlinkit.data.splits import (
    PART_COLUMN,
    PARTS,
    GivenSplit,
    Split,
    TemporalSplit,
)
from merlinkit.engine.base import Engine, LocalEngine
from merlinkit.engine.task import Task
from merlinkit.schema import Schema

__all__ = ["PartView", "split_parts"]

_CHEAP = (TemporalSplit, GivenSplit)
"""Splits that compare one column: cheaper to do again in each pass than to write the rows."""


class PartView:
    """The rows of one part of a data set.

    Parameters
    ----------
    dataset
        All rows.
    part
        ``"train"``, ``"valid"`` or ``"test"``.
    schema
        Columns of the data, without that of the part.
    split, engine
        Assign parts in the plan; with None the rows have the column of parts already.
    """

    def __init__(
        self,
        dataset: RowSource,
        part: str,
        schema: Schema,
        split: Split | None,
        engine: Engine,
    ) -> None:
        self.name = f"{dataset.name} ({part})"
        self.schema = schema
        self._dataset = dataset
        self._part = part
        self._split = split
        self._engine = engine

    def _rows(self, frame: pl.LazyFrame) -> pl.LazyFrame:
        if self._split is not None:
            frame = self._split.assign(frame, self.schema, self._engine.dialect)
        return frame.filter(pl.col(PART_COLUMN) == self._part).select(self.schema.names)

    def scan(self) -> pl.LazyFrame:
        """Return one plan of the rows of the part."""
        return self._rows(self._dataset.scan())

    def scan_partitions(self) -> Iterator[tuple[str, pl.LazyFrame]]:
        """Yield a plan of the rows of the part in each partition."""
        for name, frame in self._dataset.scan_partitions():
            yield name, self._rows(frame)


def as_parquet(dataset: Dataset, work: Path, engine: Engine) -> Dataset:
    """Return the data set as parquet: itself, or written once, since text is slow to read again."""
    if dataset.format in ("parquet", "frame") and not dataset.needs_cpu:
        return dataset
    return convert(dataset, work / "ingest", engine=engine)


def split_parts(
    dataset: Dataset, split: Split, engine: Engine, work: Path, made_from: str
) -> tuple[Split, dict[str, PartView]]:
    """Return the fitted split and the parts.

    Splits that cost more than a comparison are computed once: rows are written with their part
    into the work folder. Files that a killed run of the same (`made_from`) completed are kept.
    """
    schema = dataset.schema
    split.columns(schema)
    with data_errors(f"{dataset.name} cannot be split"):
        fitted = split.fit(dataset.scan(), engine)
        if isinstance(fitted, _CHEAP):
            return fitted, {part: PartView(dataset, part, schema, fitted, engine) for part in PARTS}
        assigned = _write_assigned(dataset, fitted, engine, work / "assigned", made_from)
    return fitted, {part: PartView(assigned, part, schema, None, engine) for part in PARTS}


def _write_assigned(
    dataset: Dataset, split: Split, engine: Engine, folder: Path, made_from: str
) -> Dataset:
    continue_folder(folder, made_from)
    sources = (
        dataset.scan_partitions() if split.row_local else iter([(dataset.name, dataset.scan())])
    )
    tasks = []
    for index, (name, frame) in enumerate(sources):
        path = folder / f"part-{index:05d}.parquet"
        if not path.exists():  # files appear whole or not at all
            work = partial(_assign, split, name, frame, dataset.schema, path)
            tasks.append(Task(f"split {name}", work))
    for _ in engine.run(tasks):
        pass
    return Dataset(folder, name=dataset.name)


def _assign(
    split: Split,
    name: str,
    frame: pl.LazyFrame,
    schema: Schema,
    path: Path,
    engine: LocalEngine,
) -> None:
    with data_errors(f"{name} cannot be split"):
        engine.sink(split.assign(frame, schema, engine.dialect), path)
