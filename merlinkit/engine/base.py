"""What an engine is: the place where plans run."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Protocol

import polars as pl

from merlinkit.engine.dialect import Dialect
from merlinkit.engine.parquet_output import ParquetOutput

__all__ = ["Engine"]


class Engine(Protocol):
    """Runs Polars plans. Nothing else in merlinkit decides where a plan runs."""

    name: str
    """Name of the engine, as in ``engine=cpu``."""

    dialect: Dialect
    """How this engine spells the steps that have no spelling common to all engines."""

    output: ParquetOutput
    """How it writes files, where the caller does not say."""

    def collect(self, plans: Sequence[pl.LazyFrame]) -> list[pl.DataFrame]:
        """Run plans whose results are small and bring the results to the client."""
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
