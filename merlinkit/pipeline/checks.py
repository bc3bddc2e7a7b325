"""Checks of processed data, so that training does not fail half way, or learn nonsense."""

from __future__ import annotations

from pathlib import Path

import polars as pl

from merlinkit.engine.base import LocalEngine
from merlinkit.errors import DataError
from merlinkit.models.inputs import model_inputs, target_column
from merlinkit.schema import Column, Schema, Tags

__all__ = ["check_processed", "check_target", "note_of_scale"]

_LARGE = 10_000.0


def check_target(schema: Schema, folder: Path, engine: LocalEngine) -> None:
    """Raise `DataError` unless the target of the training part can be learned."""
    target = target_column(schema)
    # A number may be any; that it is not missing is the matter of `check_processed`.
    if Tags.REGRESSION in target.tags:
        return
    values = _rows(folder).select(pl.col(target.name).cast(pl.Float64).alias("y"))
    counts = engine.collect(
        [
            values.select(
                pl.col("y").count().alias("known"),
                pl.col("y").is_nan().sum().alias("nans"),
                (pl.col("y") == 0).sum().alias("zeros"),
                (pl.col("y") == 1).sum().alias("ones"),
            )
        ]
    )[0].row(0, named=True)
    known = counts["known"]
    name = f"label '{target.name}'"
    if known == 0:
        raise DataError(
            f"{name} is null in all training rows, so there is nothing to learn; check the "
            "expression of the label and the split"
        )
    if counts["nans"]:
        raise DataError(
            f"{name} is NaN in {counts['nans']:,} training rows; fill or remove them with "
            "FillMissing, Dropna or Filter"
        )
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


def note_of_scale(schema: Schema, folder: Path, engine: LocalEngine) -> str | None:
    """Return a warning about a numeric target too large for squared error to learn, or None."""
    target = target_column(schema)
    if Tags.REGRESSION not in target.tags:
        return None
    size = pl.col(target.name).cast(pl.Float64).abs().mean()
    mean = engine.collect([_rows(folder).select(size)])[0].item()
    if mean is None or mean < _LARGE:
        return None
    return (
        f"target '{target.name}' has values of {mean:.3g} in the mean; weights start near 0 and "
        "the loss is a squared error, so it will be learned slowly or not at all. Put Normalize, "
        "or LogOp and Normalize, on it; metrics are then in those units"
    )


def check_processed(schema: Schema, folder: Path, part: str, engine: LocalEngine) -> None:
    """Raise `DataError` if a column that the model reads has nulls, NaN or infinities.

    In list columns the elements are looked at; a null list is an empty one to the loader.
    """
    inputs = model_inputs(schema)
    columns = [*inputs.categorical, *inputs.continuous, target_column(schema)]
    scalars = [column for column in columns if not column.is_list]
    lists = [column for column in columns if column.is_list]
    plans = [_rows(folder).select(_missing(column).sum().alias(column.name) for column in scalars)]
    for column in lists:
        elements = engine.dialect.elements(_rows(folder), column.name)
        plans.append(elements.select(_missing(column).sum().alias(column.name)))
    found: dict[str, int] = {}
    for frame in engine.collect(plans):
        found.update(frame.row(0, named=True))
    units = {column.name: "elements" if column.is_list else "rows" for column in columns}
    problems = [
        f"column '{name}': {count:,} {units[name]}" for name, count in found.items() if count
    ]
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
