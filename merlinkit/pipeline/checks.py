"""Checks of processed data, so that training does not fail half way, or learn nonsense."""

from __future__ import annotations

from pathlib import Path

import polars as pl

from merlinkit.engine.base import Engine
from merlinkit.errors import DataError
from merlinkit.models.inputs import model_inputs, target_column
from merlinkit.schema import Column, Schema, Tags

__all__ = ["check_processed", "check_target"]


def check_target(schema: Schema, folder: Path, engine: Engine) -> None:
    """Raise `DataError` unless the target of the training part can be learned."""
    target = target_column(schema)
    values = _rows(folder).select(pl.col(target.name).cast(pl.Float64).alias("y"))
    counts = engine.collect(
        [
            values.select(
                pl.len().alias("rows"),
                pl.col("y").null_count().alias("nulls"),
                (pl.col("y") == 0).sum().alias("zeros"),
                (pl.col("y") == 1).sum().alias("ones"),
                pl.col("y").n_unique().alias("distinct"),
            )
        ]
    )[0].row(0, named=True)
    known = counts["rows"] - counts["nulls"]
    name = f"label '{target.name}'"
    if Tags.REGRESSION in target.tags:
        return
    if counts["zeros"] + counts["ones"] != known:
        raise DataError(
            f"{name} holds values other than 0 and 1 in the training part; make it binary with "
            'Expression, for example "rating >= 4", or tag it regression'
        )
    for count, only, missing in ((counts["zeros"], 1, 0), (counts["ones"], 0, 1)):
        if count == 0:
            raise DataError(
                f"{name} has one class only: all {known:,} training rows are {only}, none is "
                f"{missing}; a model cannot learn from that. Check the expression of the label "
                "and the split"
            )


def check_processed(schema: Schema, folder: Path, part: str, engine: Engine) -> None:
    """Raise `DataError` if a column that the model reads has nulls, NaN or infinities."""
    inputs = model_inputs(schema)
    columns = [*inputs.categorical, *inputs.continuous, target_column(schema)]
    checks = [_missing(column).sum().alias(column.name) for column in columns if not column.is_list]
    found = engine.collect([_rows(folder).select(checks)])[0].row(0, named=True)
    lists = [column.name for column in columns if column.is_list]
    for name in lists:
        elements = _rows(folder).select(
            pl.col(name).list.drop_nulls().list.len() < pl.col(name).list.len()
        )
        found[name] = engine.collect([elements.select(pl.col(name).sum())])[0].item()
    problems = [f"column '{name}': {count:,} rows" for name, count in found.items() if count]
    if problems:
        raise DataError(
            f"the processed {part} part has missing, NaN or infinite values, which a model cannot "
            f"read: {'; '.join(problems)}. Add FillMissing, Dropna or Filter to these columns, "
            "null_bucket=true to Bucketize, or encode them with Categorify, which has an id for "
            "null"
        )


def _missing(column: Column) -> pl.Expr:
    value = pl.col(column.name)
    if column.dtype.is_float():
        return (value.is_null() | ~value.is_finite().fill_null(False)).cast(pl.Int64)
    return value.is_null().cast(pl.Int64)


def _rows(folder: Path) -> pl.LazyFrame:
    return pl.scan_parquet(sorted(folder.glob("part-*.parquet")))
