"""The CPU engine: Polars' streaming engine in this process. Needs no CUDA package."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import polars as pl

from merlinkit.atomic import atomic_file
from merlinkit.engine.dialect import Dialect
from merlinkit.engine.polars_dialect import PolarsDialect

__all__ = ["DEFAULT_ROW_GROUP_ROWS", "CpuEngine"]

DEFAULT_ROW_GROUP_ROWS = 65_536
"""Small enough that a loader can shuffle across many row groups in little memory."""


class CpuEngine:
    """Runs plans with Polars' streaming engine, so that memory is bounded by plans, not data.

    Parameters
    ----------
    row_group_rows
        Rows of a row group in files that `sink` writes, where the caller does not say.

    Examples
    --------
    >>> import polars as pl
    >>> CpuEngine().collect([pl.LazyFrame({"a": [1, 2]}).select(pl.col("a").sum())])[0].item()
    3
    """

    name = "cpu"

    def __init__(self, *, row_group_rows: int = DEFAULT_ROW_GROUP_ROWS) -> None:
        self.row_group_rows = row_group_rows
        self.dialect: Dialect = PolarsDialect()

    def collect(self, plans: Sequence[pl.LazyFrame]) -> list[pl.DataFrame]:
        """Run plans one after the other.

        Each query reads only its own columns. Running them together with ``pl.collect_all`` was
        measured slower for the statistics of many columns and holds all their state at once.
        """
        return [plan.collect(engine="streaming") for plan in plans]

    def sink(self, plan: pl.LazyFrame, path: Path, *, row_group_rows: int | None = None) -> int:
        """Write the result of a plan as one zstd parquet file; see `Engine.sink`."""
        with atomic_file(path) as temporary:
            plan.sink_parquet(
                temporary,
                compression="zstd",
                compression_level=1,
                row_group_size=row_group_rows or self.row_group_rows,
                maintain_order=True,
                engine="streaming",
            )
            rows = pl.scan_parquet(temporary, glob=False).select(pl.len()).collect().item()
        return int(rows)
