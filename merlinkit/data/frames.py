"""Data frames of other libraries as Polars frames: polars, pandas, pyarrow, cuDF and others."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import polars as pl

from merlinkit.data.dtype_rules import plain_dtype, read_as
from merlinkit.errors import DataError, SchemaError, did_you_mean

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["FrameReader", "frame_from"]


def frame_from(source: object) -> pl.LazyFrame | pl.DataFrame | None:
    """Return a frame as a Polars frame, or None if it is no frame.

    Parameters
    ----------
    source
        A polars DataFrame or LazyFrame, a pandas DataFrame, a pyarrow Table, RecordBatch or
        reader, or anything with ``__arrow_c_stream__``. Device frames that offer ``to_arrow``
        alone, as cuDF's do, are copied to the host.

    Raises
    ------
    DataError
        If the frame cannot be converted, or has two columns of the same name.

    Notes
    -----
    NaN in pandas is null. Named levels of a pandas index become columns, others are left out.
    Names of columns that are no text become text. A stream is read once, here.

    Examples
    --------
    >>> import pyarrow as pa
    >>> frame_from(pa.table({"a": [1, None]})).columns
    ['a']
    >>> frame_from("no frame") is None
    True
    """
    if isinstance(source, pl.DataFrame | pl.LazyFrame):
        return source
    if isinstance(source, pl.Series):
        return source.to_frame(source.name or "column_0")
    kind = f"{type(source).__module__}.{type(source).__qualname__}"
    try:
        if kind.startswith("pandas.") and kind.endswith(".DataFrame"):
            return _from_pandas(source)
        if hasattr(source, "__arrow_c_stream__"):
            return pl.DataFrame(source)
        if hasattr(source, "to_arrow"):
            return _from_arrow(source.to_arrow())
    except DataError:
        raise
    # Converters of other libraries raise errors of many kinds, ImportError among them.
    except Exception as error:
        first = str(error).partition("\n")[0]
        raise DataError(
            f"a {kind} cannot be read as a frame: {first}. Convert its columns to plain types first"
        ) from error
    return None


class FrameReader:
    """Reads a frame as plain types.

    Parameters
    ----------
    frame
        The frame.
    dtypes
        Data types to read columns as.
    columns
        The columns to read, in order; None reads all.

    Attributes
    ----------
    plan : polars.LazyFrame
        The rows.
    schema : polars.Schema
        Their columns.
    num_rows, size_bytes : int or None
        Number and size in memory of the rows; None for a lazy frame.

    Raises
    ------
    DataError
        If a lazy frame cannot be resolved, or columns have types that cannot be used.
    SchemaError
        If a column that is named is not there or cannot have the data type it is given.
    """

    def __init__(
        self,
        frame: pl.LazyFrame | pl.DataFrame,
        dtypes: Mapping[str, pl.DataType],
        columns: Sequence[str] | None,
    ) -> None:
        self.num_rows: int | None = None
        self.size_bytes: int | None = None
        if isinstance(frame, pl.DataFrame):
            self.num_rows = frame.height
            self.size_bytes = int(frame.estimated_size())
        plan = frame.lazy()
        try:
            raw = plan.collect_schema()
        except (pl.exceptions.PolarsError, OSError) as error:
            first = str(error).partition("\n")[0]
            raise DataError(f"the lazy frame cannot be resolved: {first}") from error
        wanted = list(raw if columns is None else columns)
        for name in [*wanted, *dtypes]:
            if name not in raw:
                hint = did_you_mean(name, raw) or f" There are: {', '.join(list(raw)[:20])}."
                raise SchemaError(f"the frame has no column '{name}'.{hint}")
        plain: dict[str, pl.DataType] = {}
        problems: list[str] = []
        for name in wanted:
            try:
                plain[name] = dtypes[name] if name in dtypes else plain_dtype(raw[name])
            except SchemaError as error:
                problems.append(f"column '{name}' {error}")
        if problems:
            raise DataError(
                f"{'; '.join(problems)}. Flatten it (`unnest`), or leave it out with columns=[...]"
            )
        unchanged = list(plain.items()) == list(raw.items())
        shaped = [read_as(name, raw[name], kind) for name, kind in plain.items()]
        self.plan = plan if unchanged else plan.select(shaped)
        self.schema = pl.Schema(plain)


def _from_arrow(table: Any) -> pl.DataFrame:
    converted = pl.from_arrow(table)
    return converted.to_frame() if isinstance(converted, pl.Series) else converted


def _from_pandas(frame: pd.DataFrame) -> pl.DataFrame:
    named = [level for level in frame.index.names if level is not None]
    if named:
        unnamed = [place for place, level in enumerate(frame.index.names) if level is None]
        frame = (frame.droplevel(unnamed) if unnamed else frame).reset_index()
    names = [str(name) for name in frame.columns]
    repeated = sorted({name for name in names if names.count(name) > 1})
    if repeated:
        raise DataError(f"the frame has more than one column named '{repeated[0]}'")
    return pl.from_pandas(frame.set_axis(names, axis="columns"), include_index=False)
