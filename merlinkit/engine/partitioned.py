"""One plan, several files: by number of rows, or in folders by the values of columns."""

from __future__ import annotations

from pathlib import Path
from typing import Any
from urllib.parse import quote

import polars as pl

from merlinkit.engine.parquet_output import ParquetOutput

__all__ = ["HIVE_NULL", "sink_by_key", "sink_partitioned"]

HIVE_NULL = "__HIVE_DEFAULT_PARTITION__"
"""What Hive writes for null in the name of a folder."""


def sink_partitioned(
    plan: pl.LazyFrame, folder: Path, name: str, output: ParquetOutput
) -> list[Path]:
    """Write the result of a plan with Polars as several files; see `Engine.sink_files`."""

    def place(found: Any) -> str:
        number = f"-{found.index_in_partition:03d}" if output.rows_per_file else ""
        folders = [
            f"{_folder_name(column)}={_folder_value(value)}"
            for column, value in found.partition_keys.row(0, named=True).items()
        ]
        return "/".join([*folders, f"{name}{number}.parquet"])

    plan.sink_parquet(
        pl.PartitionBy(
            folder,
            file_path_provider=place,
            key=list(output.partition_by) or None,
            include_key=False if output.partition_by else None,
            max_rows_per_file=output.rows_per_file,
            approximate_bytes_per_file=None,
        ),
        compression="uncompressed" if output.codec == "none" else output.codec,
        compression_level=output.level if output.codec == "zstd" else None,
        row_group_size=output.row_group_rows,
        maintain_order=True,
        mkdir=True,
        engine="streaming",
    )
    written = sorted(folder.rglob("*.parquet"))
    empty = [path for path in written if _rows(path) == 0]
    for path in empty:
        path.unlink()
    return [path for path in written if path not in empty]


def sink_by_key(plan: pl.LazyFrame, key: str, folder: Path) -> None:
    """Write the rows of each value of an integer column with Polars; see `LocalEngine.sink_by`."""

    def place(found: Any) -> str:
        return f"{found.partition_keys.item()}.parquet"

    plan.sink_parquet(
        pl.PartitionBy(
            folder,
            file_path_provider=place,
            key=[key],
            include_key=False,
            max_rows_per_file=None,
            approximate_bytes_per_file=None,
        ),
        # Read again once, soon, and on the same machine or over a fast network.
        compression="lz4",
        maintain_order=True,
        mkdir=True,
        engine="streaming",
    )


def _folder_name(column: str) -> str:
    name = quote(column, safe="")
    # Folders with such names are not looked into for data.
    return f"%{ord(name[0]):02X}{name[1:]}" if name[0] in "._" else name


def _folder_value(value: Any) -> str:
    if value is None:
        return HIVE_NULL
    text = str(value).lower() if isinstance(value, bool) else str(value)
    return quote(text, safe="")


def _rows(path: Path) -> int:
    return int(pl.scan_parquet(path, glob=False).select(pl.len()).collect().item())
