"""Arrow types that Polars cannot read, or reads wrong, and what they are read as instead.

As of Polars 1.44: a parquet file with a column of a time zone that is no name of the time zone
database (``+05:30``) makes it panic, whichever columns are read, and so do list views; time of day
in seconds comes out of parquet a thousand times too large; decimals of 256 bits and run-end encoded
columns cannot be imported.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from typing import Any

import polars as pl
import pyarrow as pa
import pyarrow.compute as pc

from merlinkit.errors import SchemaError

__all__ = [
    "arrow_target",
    "breaks_polars",
    "convert_array",
    "in_seconds",
    "polars_reads",
    "time_zone_of",
]


def polars_reads(dtype: pa.DataType) -> bool:
    """Return whether Polars reads values of an Arrow type as what they are.

    Examples
    --------
    >>> polars_reads(pa.int8()), polars_reads(pa.timestamp("us", "+05:30"))
    (True, False)
    """
    return not any(_is_foreign(part) for part in _parts(dtype))


def breaks_polars(dtype: pa.DataType, metadata: dict[bytes, bytes] | None = None) -> bool:
    """Return whether a column of this type keeps Polars from reading the others of a file.

    Parameters
    ----------
    dtype
        The type.
    metadata
        What the file says of the column, where a type that pyarrow does not know is named.
    """
    if b"ARROW:extension:name" in (metadata or {}):
        return True
    return any(
        _is_view(part) or _is_extension(part) or _unknown_zone(part) for part in _parts(dtype)
    )


def in_seconds(dtype: pa.DataType) -> bool:
    """Return whether a type holds a time of day that is counted in seconds."""
    return any(part == pa.time32("s") for part in _parts(dtype))


def time_zone_of(dtype: pa.DataType) -> str | None:
    """Return the time zone that values of a type have but are not read with, None if none."""
    for part in _parts(dtype):
        if _unknown_zone(part):
            return str(part.tz)
    return None


def arrow_target(dtype: pa.DataType) -> pa.DataType:
    """Return the Arrow type that values are converted to before Polars gets them.

    Notes
    -----
    Time stamps of a zone that is an offset, or that Polars does not know, get UTC: they are the
    same instants. Decimals of 256 bits become Float64, dictionaries and run-end encoded columns
    their values, extension types what they are stored as.

    Raises
    ------
    SchemaError
        If there is no such type. The message goes on after the name of the column.

    Examples
    --------
    >>> arrow_target(pa.timestamp("ms", "+05:30"))
    TimestampType(timestamp[ms, tz=UTC])
    >>> arrow_target(pa.month_day_nano_interval())
    Traceback (most recent call last):
        ...
    merlinkit.errors.SchemaError: holds month_day_nano_interval, which cannot be read
    """
    if _is_extension(dtype):
        if getattr(dtype, "extension_name", None) == "arrow.bool8":
            return pa.bool_()
        return arrow_target(dtype.storage_type)
    if pa.types.is_dictionary(dtype) or pa.types.is_run_end_encoded(dtype):
        return arrow_target(dtype.value_type)
    if _unknown_zone(dtype):
        return pa.timestamp(dtype.unit, "UTC")
    if pa.types.is_decimal256(dtype) or (pa.types.is_decimal(dtype) and dtype.scale < 0):
        return pa.float64()
    if dtype == pa.time32("s"):
        return pa.time32("ms")
    if polars_reads(dtype):
        return dtype
    is_list = pa.types.is_list(dtype) or pa.types.is_large_list(dtype)
    if (is_list or pa.types.is_fixed_size_list(dtype)) and not _holds_runs(dtype):
        inner = arrow_target(dtype.value_type)
        if is_list:
            return pa.list_(inner) if pa.types.is_list(dtype) else pa.large_list(inner)
        return pa.list_(inner, dtype.list_size)
    if pa.types.is_struct(dtype) or pa.types.is_map(dtype):
        raise SchemaError(f"holds nested objects ({dtype})")
    raise SchemaError(f"holds {dtype}, which cannot be read")


def convert_array(array: Any, target: pa.DataType) -> Any:
    """Return an Arrow array or chunked array as its `arrow_target`.

    Raises
    ------
    pyarrow.ArrowException
        If a value does not fit.
    """
    if isinstance(array, pa.ChunkedArray):
        return pa.chunked_array([convert_array(chunk, target) for chunk in array.chunks], target)
    if array.type == target:
        return array
    if pa.types.is_run_end_encoded(array.type):
        return convert_array(pc.run_end_decode(array), target)
    if pa.types.is_dictionary(array.type):
        return convert_array(array.dictionary_decode(), target)
    return array.cast(target)


def _parts(dtype: pa.DataType) -> Iterator[pa.DataType]:
    """Yield a type and all those within it."""
    yield dtype
    if _is_extension(dtype):
        yield from _parts(dtype.storage_type)
    elif pa.types.is_dictionary(dtype):
        yield from _parts(dtype.value_type)
    else:
        for index in range(dtype.num_fields):
            yield from _parts(dtype.field(index).type)


def _is_foreign(dtype: pa.DataType) -> bool:
    return (
        _is_view(dtype)
        or _is_extension(dtype)
        or _unknown_zone(dtype)
        or pa.types.is_decimal256(dtype)
        or (pa.types.is_decimal(dtype) and dtype.scale < 0)
        or pa.types.is_run_end_encoded(dtype)
        or pa.types.is_union(dtype)
        or pa.types.is_interval(dtype)
        or dtype == pa.time32("s")
        or (pa.types.is_dictionary(dtype) and pa.types.is_dictionary(dtype.value_type))
    )


def _holds_runs(dtype: pa.DataType) -> bool:
    return any(pa.types.is_run_end_encoded(part) for part in _parts(dtype))


def _is_extension(dtype: pa.DataType) -> bool:
    return isinstance(dtype, pa.BaseExtensionType)


def _is_view(dtype: pa.DataType) -> bool:
    # pyarrow 26 makes broken arrays of list views that it reads or casts.
    return bool(pa.types.is_list_view(dtype) or pa.types.is_large_list_view(dtype))


def _unknown_zone(dtype: pa.DataType) -> bool:
    return pa.types.is_timestamp(dtype) and dtype.tz is not None and not _knows(dtype.tz)


@lru_cache(maxsize=256)
def _knows(zone: str) -> bool:
    """Return whether Polars has a time zone of this name."""
    try:
        pl.Series([], dtype=pl.Datetime("us", zone))
    except pl.exceptions.PolarsError:
        return False
    return True
