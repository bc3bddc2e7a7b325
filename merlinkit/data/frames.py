"""Data frames of other libraries as Polars frames: polars, pandas, pyarrow, cuDF and others."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import polars as pl

from merlinkit.errors import DataError

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["frame_from"]


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
