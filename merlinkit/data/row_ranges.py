"""Where to cut a large parquet file into partitions."""

from __future__ import annotations

import pyarrow.parquet as pq

from merlinkit.data.parquet import ParquetFile

__all__ = ["PARTITION_ROWS", "row_ranges"]

PARTITION_ROWS = 4_000_000
"""Rows of a partition, about. A file of up to twice as many is one."""


def row_ranges(file: ParquetFile) -> list[tuple[int, int]]:
    """Return first rows and ends of the partitions of a file, cut where row groups end.

    A file that is small, or has one row group, is one partition: to read some rows of a row group
    is to decode all of it.
    """
    if file.rows <= 2 * PARTITION_ROWS:
        return [(0, file.rows)]
    ranges = []
    start = stop = 0
    metadata = pq.read_metadata(file.path)
    for index in range(metadata.num_row_groups):
        stop += metadata.row_group(index).num_rows
        if stop - start >= PARTITION_ROWS:
            ranges.append((start, stop))
            start = stop
    if stop > start:
        ranges.append((start, stop))
    return ranges
