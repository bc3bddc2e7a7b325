"""The dialect of Polars' CPU engine."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import numpy.typing as npt
import polars as pl
import pyarrow as pa
import xxhash

from merlinkit.dtypes import dtype_name
from merlinkit.engine.dialect import HASH_SEED, Dialect, Indexed, Lookup, Numbered, Pair
from merlinkit.errors import DataError

__all__ = ["PolarsDialect"]

_P1, _P2, _P3, _P4, _P5 = (
    np.uint64(prime)
    for prime in (
        0x9E3779B185EBCA87,
        0xC2B2AE3D27D4EB4F,
        0x165667B19E3779F9,
        0x85EBCA77C2B2AE63,
        0x27D4EB2F165667C5,
    )
)


class PolarsDialect(Dialect):
    """Lists through their Arrow buffers, lookups as replacements, hashes through XXH64."""

    name = "polars"
    checks_casts = True

    def elementwise(
        self,
        frame: pl.LazyFrame,
        column: str,
        step: Callable[[pl.LazyFrame, str], pl.LazyFrame],
        into: pl.DataType,
    ) -> pl.LazyFrame:
        """Run the step on the flat values of each batch and put the offsets back."""

        def on_batch(lists: pl.Series) -> pl.Series:
            array = lists.to_arrow()
            offsets = array.offsets
            # A batch may be a slice of a larger buffer: take only the values it refers to.
            first, last = offsets[0].as_py(), offsets[-1].as_py()
            values = pl.Series(column, pl.from_arrow(array.values.slice(first, last - first)))
            values = values.cast(lists.dtype.inner)  # type: ignore[attr-defined]
            changed = step(values.to_frame(column).lazy(), column).collect()[column].cast(into)
            rebuilt = pa.LargeListArray.from_arrays(
                pa.compute.subtract(offsets, first), changed.to_arrow(), mask=array.is_null()
            )
            return pl.Series(lists.name, pl.from_arrow(rebuilt), dtype=pl.List(into))

        def guarded(lists: pl.Series) -> pl.Series:
            if len(lists) == 0:
                return pl.Series(lists.name, [], dtype=pl.List(into))
            return on_batch(lists)

        return frame.with_columns(
            pl.col(column).map_batches(guarded, return_dtype=pl.List(into), is_elementwise=True)
        )

    def elements(self, frame: pl.LazyFrame, column: str) -> pl.LazyFrame:
        """Explode, leaving out null and empty lists."""
        return frame.select(column).explode(column, empty_as_null=False, keep_nulls=False)

    def lengths(self, frame: pl.LazyFrame, column: str) -> pl.LazyFrame:
        """Count with Polars' own list function."""
        return frame.select(pl.col(column).list.len().cast(pl.Int64))

    def list_slice(
        self, frame: pl.LazyFrame, column: str, start: int, end: int | None
    ) -> pl.LazyFrame:
        """Slice with Polars' own list function, whose offset and length are never negative."""
        lists = pl.col(column)
        # Polars refuses a null offset or length, even for a null list.
        size = lists.list.len().cast(pl.Int64).fill_null(0)

        def place(index: int) -> pl.Expr:
            return (size + index).clip(lower_bound=0) if index < 0 else pl.lit(index, pl.Int64)

        stop = size if end is None else pl.min_horizontal(place(end), size)
        length = (stop - place(start)).clip(lower_bound=0)
        dtype = frame.collect_schema()[column]

        def on_batch(batch: pl.Series) -> pl.Series:
            # Of a batch without rows, Polars forgets the type of the elements.
            if len(batch) == 0:
                return pl.Series(batch.name, [], dtype=dtype)
            return (
                batch.alias(column).to_frame().select(lists.list.slice(place(start), length))
            ).to_series()

        return frame.with_columns(
            lists.map_batches(on_batch, return_dtype=dtype, is_elementwise=True)
        )

    def list_pad(
        self, frame: pl.LazyFrame, column: str, length: int, value: int | float | str | bool
    ) -> pl.LazyFrame:
        """Append a constant list and cut it off."""
        lists = pl.col(column)
        dtype = frame.collect_schema()[column]
        padding = pl.lit(pl.Series([[value] * length], dtype=dtype)).first()
        longest = pl.max_horizontal(lists.list.len(), pl.lit(length, dtype=pl.UInt32))
        return frame.with_columns(
            pl.when(lists.is_not_null())
            .then(pl.concat_list(lists, padding).list.head(longest))
            .alias(column)
        )

    def lookups(
        self, frame: pl.LazyFrame, wanted: Sequence[tuple[str, Lookup, str]]
    ) -> pl.LazyFrame:
        """Replace values by the table's; keeps row order and streams."""
        return frame.with_columns(
            _looked_up(column, table).alias(into) for column, table, into in wanted
        )

    def join(self, frame: pl.LazyFrame, table: pl.LazyFrame, on: Sequence[str]) -> pl.LazyFrame:
        """Join with the order of rows kept."""
        return frame.join(table, on=list(on), how="left", maintain_order="left")

    def narrowed(self, value: pl.Expr, column: str, dtype: pl.DataType) -> pl.Expr:
        """Cast batch by batch: Polars makes infinity of what does not fit."""

        def on_batch(values: pl.Series) -> pl.Series:
            cast = values.cast(dtype)
            lost = values.filter(cast.is_infinite() & values.is_finite())
            if not lost.is_empty():
                raise DataError(
                    f"column '{column}': {lost[0]} does not fit {dtype_name(dtype)}; put Clip "
                    "before the cast, or keep Float64"
                )
            return cast

        return value.map_batches(on_batch, return_dtype=dtype, is_elementwise=True)

    def hash64(self, expr: pl.Expr, dtype: pl.DataType) -> pl.Expr:
        """Hash numbers with vectorised arithmetic and each distinct string once a batch."""
        physical = _physical(expr, dtype)
        if dtype.is_float():
            hashed = _hash_floats
        elif isinstance(dtype, pl.String):
            hashed = _hash_strings
        else:
            hashed = _hash_integers
        return physical.map_batches(hashed, return_dtype=pl.UInt64, is_elementwise=True)

    def split(self, frame: pl.LazyFrame, column: str, separator: str, into: str) -> pl.LazyFrame:
        """Split with Polars' own string function."""
        text = pl.col(column)
        empty = pl.lit([], dtype=pl.List(pl.String))
        return frame.with_columns(
            pl.when(text == "").then(empty).otherwise(text.str.split(separator)).alias(into)
        )


def _looked_up(column: str, table: Lookup) -> pl.Expr:
    """Return the table's value for each key in a column; the same expression each time."""
    if column not in table.expressions:
        table.expressions[column] = _expression(pl.col(column), table.in_memory())
    return table.expressions[column]


def _expression(value: pl.Expr, held: Pair | Numbered | Indexed) -> pl.Expr:
    if isinstance(held, Numbered):
        # Null for a string that is none of the categories.
        code = value.cast(held.categories, strict=False).to_physical()
        return (code.cast(pl.Int64) + held.first).cast(held.dtype)
    if isinstance(held, Indexed):
        return _at(value, held)
    if held.keys.is_empty():
        return pl.lit(None, dtype=held.values.dtype)
    return value.replace_strict(
        held.keys, held.values, default=None, return_dtype=held.values.dtype
    )


def _at(key: pl.Expr, held: Indexed) -> pl.Expr:
    """Return the values at the distance of keys from the first; null for what is outside."""

    def on_batch(keys: pl.Series) -> pl.Series:
        place = keys.cast(pl.Int64, strict=False) - held.first
        inside = place.is_between(0, len(held.values) - 1)
        index = pl.select(pl.when(inside).then(place)).to_series()
        return held.values.gather(index).alias(keys.name)

    return key.map_batches(on_batch, return_dtype=held.values.dtype, is_elementwise=True)


def _physical(expr: pl.Expr, dtype: pl.DataType) -> pl.Expr:
    """Return a column as the Int64, UInt64, Float64 or String that its hash is taken of."""
    if dtype.is_float():
        return expr.cast(pl.Float64)
    if isinstance(dtype, pl.UInt64 | pl.String):
        return expr
    if dtype.is_integer() or isinstance(dtype, pl.Boolean):
        return expr.cast(pl.Int64)
    if dtype.is_temporal():
        return expr.to_physical().cast(pl.Int64)
    return expr.cast(pl.String)


def _rotate_left(x: npt.NDArray[np.uint64], bits: int) -> npt.NDArray[np.uint64]:
    return (x << np.uint64(bits)) | (x >> np.uint64(64 - bits))


def _xxh64_of_words(words: npt.NDArray[np.uint64]) -> npt.NDArray[np.uint64]:
    """Return XXH64 of eight-byte inputs: the short-input branch of the specification."""
    with np.errstate(over="ignore"):
        lane = _rotate_left(words * _P2, 31) * _P1
        h = (np.uint64(HASH_SEED) + _P5 + np.uint64(8)) ^ lane
        h = _rotate_left(h, 27) * _P1 + _P4
        h = (h ^ (h >> np.uint64(33))) * _P2
        h = (h ^ (h >> np.uint64(29))) * _P3
        return h ^ (h >> np.uint64(32))


def _masked_like(values: pl.Series, hashes: npt.NDArray[np.uint64]) -> pl.Series:
    series = pl.Series(values.name, hashes, dtype=pl.UInt64)
    if values.null_count() == 0:
        return series
    return series.to_frame().select(pl.when(values.is_not_null()).then(pl.all())).to_series()


def _hash_integers(values: pl.Series) -> pl.Series:
    words = (
        values.fill_null(0).to_numpy().astype(np.int64 if values.dtype == pl.Int64 else np.uint64)
    )
    return _masked_like(values, _xxh64_of_words(words.view(np.uint64)))


def _hash_floats(values: pl.Series) -> pl.Series:
    numbers = values.fill_null(0.0).to_numpy().astype(np.float64)
    # One zero and one NaN, so that equal values have equal hashes.
    numbers = np.where(np.isnan(numbers), np.nan, numbers + 0.0)
    return _masked_like(values, _xxh64_of_words(numbers.view(np.uint64)))


def _hash_strings(values: pl.Series) -> pl.Series:
    distinct = values.drop_nulls().unique()
    hashes = pl.Series(
        [xxhash.xxh64_intdigest(text.encode(), HASH_SEED) for text in distinct], dtype=pl.UInt64
    )
    if distinct.is_empty():
        return pl.Series(values.name, [None] * len(values), dtype=pl.UInt64)
    return values.replace_strict(distinct, hashes, default=None, return_dtype=pl.UInt64)
