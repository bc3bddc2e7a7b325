"""How much memory a run will need, as far as it can be known beforehand."""

from __future__ import annotations

import polars as pl

from merlinkit.pipeline.config import RunConfig
from merlinkit.schema import Column, Schema
from merlinkit.workflow.compile import resolve
from merlinkit.workflow.program import BUCKET_ROWS

__all__ = ["memory_estimate"]

_STRING_BYTES = 24
_LIST_LENGTH = 4
# A hash table of values and counts holds them about so many times over while it grows.
_TABLE_FACTOR = 3
_COUNT_BYTES = 8


def memory_estimate(
    config: RunConfig, data: Schema, rows: int | None
) -> list[tuple[str, int | None, str]]:
    """Return what needs memory, how many bytes, and how that was reckoned.

    None stands for what depends on an unknown number of rows.
    """
    graph = resolve(config.features, data, {})
    read = data.select([name for name in data.names if name in graph.data_columns()])
    width = sum(_bytes(column) for column in read)
    group = config.engine.row_group_rows
    if rows is not None:
        group = min(group, rows)
    threads = pl.thread_pool_size()
    where = ""
    if config.engine.name == "dask":
        threads, where = config.engine.cluster.threads_each(), "in each worker, "
    out: list[tuple[str, int | None, str]] = [
        (
            "transform",
            2 * width * group * (threads + 2),
            f"{where}{group:,} rows x {width} bytes, for {threads} threads and what waits to be "
            "written",
        )
    ]
    if graph.route().boundaries:
        held = BUCKET_ROWS if rows is None else min(rows, BUCKET_ROWS)
        how = f"{where}one bucket of {held:,} rows x {width} bytes, twice"
        out.append(("rows together", 2 * width * held, how))
    widest = max((_bytes(column) for column in read), default=0)
    counted = [
        name
        for node in graph.order
        if node.operator.needs_fit(graph.inputs(node)) and node.operator.name == "Categorify"
        for name in graph.inputs(node).names
    ]
    if counted:
        size = None if rows is None else rows * (widest + _COUNT_BYTES) * _TABLE_FACTOR
        out.append(
            (
                "fit, at most",
                size,
                f"{where}the largest of {len(counted)} vocabularies, if each row had a value of "
                "its own",
            )
        )
    processed = sum(_bytes(column) for column in graph.output_schema)
    held = config.loader.buffer_rows if rows is None else min(config.loader.buffer_rows, rows)
    out.append(("training", 2 * processed * held, f"{held:,} rows x {processed} bytes, twice"))
    return out


def _bytes(column: Column) -> int:
    dtype = column.dtype
    if isinstance(dtype, pl.String | pl.Binary):
        size = _STRING_BYTES
    elif isinstance(dtype, pl.Boolean | pl.Int8 | pl.UInt8):
        size = 1
    elif isinstance(dtype, pl.Int16 | pl.UInt16):
        size = 2
    elif isinstance(dtype, pl.Int32 | pl.UInt32 | pl.Float32 | pl.Date):
        size = 4
    else:
        size = 8
    return size * _LIST_LENGTH + 8 if column.is_list else size
