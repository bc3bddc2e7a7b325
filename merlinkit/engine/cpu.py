"""The CPU engine: Polars' streaming engine in this process. Needs no CUDA package."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import polars as pl

from merlinkit.atomic import atomic_file
from merlinkit.engine.dialect import Dialect
from merlinkit.engine.parquet_output import ParquetOutput
from merlinkit.engine.partitioned import sink_partitioned
from merlinkit.engine.polars_dialect import PolarsDialect

__all__ = ["CpuEngine"]


class CpuEngine:
    """Runs plans with Polars' streaming engine, so that memory is bounded by plans, not data.

    Parameters
    ----------
    output
        How files are written, where the caller of `sink` does not say.

    Examples
    --------
    >>> import polars as pl
    >>> CpuEngine().collect([pl.LazyFrame({"a": [1, 2]}).select(pl.col("a").sum())])[0].item()
    3
    """

    name = "cpu"

    def __init__(self, output: ParquetOutput | None = None) -> None:
        self.output = output or ParquetOutput()
        self.dialect: Dialect = PolarsDialect()

    def collect(self, plans: Sequence[pl.LazyFrame]) -> list[pl.DataFrame]:
        """Run plans one after the other.

        Each query reads only its own columns. Running them together with ``pl.collect_all`` was
        measured slower for the statistics of many columns and holds all their state at once.
        """
        return [plan.collect(engine="streaming") for plan in plans]

    def sink(self, plan: pl.LazyFrame, path: Path, output: ParquetOutput | None = None) -> int:
        """Write the result of a plan as one parquet file; see `Engine.sink`."""
        chosen = output or self.output
        with atomic_file(path) as temporary:
            plan.sink_parquet(
                temporary,
                compression="uncompressed" if chosen.codec == "none" else chosen.codec,
                compression_level=chosen.level if chosen.codec == "zstd" else None,
                row_group_size=chosen.row_group_rows,
                maintain_order=True,
                engine="streaming",
            )
            rows = pl.scan_parquet(temporary, glob=False).select(pl.len()).collect().item()
        return int(rows)

    def sink_files(
        self, plan: pl.LazyFrame, folder: Path, name: str, output: ParquetOutput
    ) -> list[Path]:
        """Write the result of a plan as several parquet files; see `Engine.sink_files`."""
        return sink_partitioned(plan, folder, name, output)
