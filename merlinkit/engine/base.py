"""What an engine is: the place where plans run.

A `LocalEngine` runs plans in the process that it is in. An `Engine` also runs tasks on partitions,
in that process or on the workers of a cluster, each of which has a local engine.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Protocol, TypeVar

import polars as pl

from merlinkit.engine.dialect import Dialect
from merlinkit.engine.parquet_output import ParquetOutput
from merlinkit.engine.task import Task

__all__ = ["Engine", "LocalEngine"]

Result = TypeVar("Result")


class LocalEngine(Protocol):
    """Runs Polars plans in this process. Nothing else in merlinkit decides how a plan runs."""

    name: str
    """Name of the engine, as in ``engine=cpu``."""

    dialect: Dialect
    """How this engine spells the steps that have no spelling common to all engines."""

    output: ParquetOutput
    """How it writes files, where the caller does not say."""

    def collect(self, plans: Sequence[pl.LazyFrame]) -> list[pl.DataFrame]:
        """Run plans whose results are small and bring the results to the caller."""
        ...

    def sink(self, plan: pl.LazyFrame, path: Path, output: ParquetOutput | None = None) -> int:
        """Run a plan and write its result as one parquet file that appears whole or not at all.

        Parameters
        ----------
        plan
            What to run. Rows are written in the order of the plan.
        path
            The file; its folder exists.
        output
            Codec and row groups; None takes those of the engine. It stays one file, whatever is
            said of files and partitions.

        Returns
        -------
        int
            Number of rows written.
        """
        ...

    def sink_files(
        self, plan: pl.LazyFrame, folder: Path, name: str, output: ParquetOutput
    ) -> list[Path]:
        """Run a plan and write its result as files of a number of rows, or in partitions.

        Parameters
        ----------
        plan
            What to run. Within a file, rows are in the order of the plan.
        folder
            Where to; it exists, is empty, and holds nothing whole if this raises.
        name
            How names of files begin: ``part-00000`` gives ``part-00000-000.parquet``.
        output
            How to write.

        Returns
        -------
        list of Path
            The files, sorted; none if there are no rows.
        """
        ...

    def sink_by(self, plan: pl.LazyFrame, key: str, folder: Path) -> None:
        """Run a plan and write the rows of each value of an integer column into their own file.

        Parameters
        ----------
        plan
            What to run. Within a file, rows are in the order of the plan.
        key
            The column; it is not in the files.
        folder
            Where to; it exists and is empty. The rows of 7 are in ``7.parquet``.
        """
        ...


class Engine(LocalEngine, Protocol):
    """Runs plans and tasks, in this process or on workers."""

    @property
    def workers(self) -> int:
        """How many tasks run at once. With one, data is not cut into partitions without need."""
        ...

    @property
    def where(self) -> str | None:
        """Say where tasks are done, for people; None in this process."""
        ...

    def require_visible(self, paths: Sequence[Path]) -> None:
        """Raise `EngineError` unless files and folders are seen wherever tasks are done."""
        ...

    def run(self, tasks: Iterable[Task[Result]]) -> Iterator[Result]:
        """Do tasks that do not depend on each other; yield what they return, in their order.

        A task may be done twice if a worker is lost, so it must do the same again, and what it
        writes must appear whole or not at all.
        """
        ...

    def close(self) -> None:
        """Let go of what the engine holds: processes, connections, memory."""
        ...
