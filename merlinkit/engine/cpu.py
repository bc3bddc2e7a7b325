"""The CPU engine: Polars' streaming engine in this process. Needs no CUDA package."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import TypeVar

import polars as pl

from merlinkit.atomic import atomic_file
from merlinkit.engine.dialect import Dialect
from merlinkit.engine.parquet_output import ParquetOutput
from merlinkit.engine.partitioned import sink_by_key, sink_partitioned
from merlinkit.engine.polars_dialect import PolarsDialect
from merlinkit.engine.task import Task

__all__ = ["CpuEngine"]

Result = TypeVar("Result")


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
    workers = 1
    where = None

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
        """Write the result of a plan as one parquet file; see `LocalEngine.sink`."""
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
        """Write the result of a plan as several parquet files; see `LocalEngine.sink_files`."""
        return sink_partitioned(plan, folder, name, output)

    def sink_by(self, plan: pl.LazyFrame, key: str, folder: Path) -> None:
        """Write the rows of each value into a file of their own; see `LocalEngine.sink_by`."""
        sink_by_key(plan, key, folder)

    def require_visible(self, paths: Sequence[Path]) -> None:
        """Do nothing: tasks are done where files are named."""

    def run(self, tasks: Iterable[Task[Result]]) -> Iterator[Result]:
        """Do one task after the other, in this process."""
        for task in tasks:
            yield task.work(self)

    def close(self) -> None:
        """Hold nothing, so let go of nothing."""
