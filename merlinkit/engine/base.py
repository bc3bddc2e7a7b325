"""What an engine is: the place where plans run."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Protocol

import polars as pl

from merlinkit.engine.dialect import Dialect

__all__ = ["Engine"]


class Engine(Protocol):
    """Runs Polars plans. Nothing else in merlinkit decides where a plan runs."""

    name: str
    """Name of the engine, as in ``engine=cpu``."""

    dialect: Dialect
    """How this engine spells the steps that have no spelling common to all engines."""

    def collect(self, plans: Sequence[pl.LazyFrame]) -> list[pl.DataFrame]:
        """Run plans whose results are small and bring the results to the client."""
        ...

    def sink(self, plan: pl.LazyFrame, path: Path, *, row_group_rows: int | None = None) -> int:
        """Run a plan and write its result as one parquet file that appears whole or not at all.

        Parameters
        ----------
        plan
            What to run. Rows are written in the order of the plan.
        path
            The file; its folder exists.
        row_group_rows
            Rows of a row group; None leaves the choice to the engine.

        Returns
        -------
        int
            Number of rows written.
        """
        ...
