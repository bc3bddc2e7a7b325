"""Categorify: values to contiguous ids."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import polars as pl

from merlinkit.dtypes import dtype_name
from merlinkit.engine.dialect import Dialect, Lookup
from merlinkit.errors import ParameterError, SchemaError
from merlinkit.ops.base import (
    ElementwiseOperator,
    Finalized,
    State,
    Statistics,
    apply_to_values,
    require_known,
    scratch,
    values_of,
    without_nan,
)
from merlinkit.ops.parameters import is_finite_number, per_column, require_choice, require_int
from merlinkit.schema import Column, Domain, Schema, Tags

__all__ = ["NULL_ID", "OOV_ID", "PADDING_ID", "Categorify"]

PADDING_ID = 0
NULL_ID = 1
OOV_ID = 2
"""First of the ids for values that are not in the vocabulary."""

PerColumn = int | Mapping[str, int]


class Categorify(ElementwiseOperator):
    """Replace values by ids: 0 padding, 1 null, 2 … out of vocabulary, then the vocabulary.

    The vocabulary is in descending order of frequency, ties by value (strings by their UTF-8
    bytes), so the ids are the same on every engine, however the data is cut into files.

    Parameters
    ----------
    freq_threshold
        Values that occur less often are left out of the vocabulary. One number, or one a column.
    max_size
        Most ids a column may have, the reserved ones counted; the most frequent values are kept.
        0 sets no limit. Excludes `freq_threshold`.
    num_buckets
        Ids for values outside of the vocabulary. With more than one, a value's bucket is its
        stable hash modulo the number, at fit and at transform alike.
    vocabs
        Vocabularies that are given instead of learned, by column, in the order of their ids.
    dtype
        ``"int64"`` or ``"int32"``.

    Raises
    ------
    ParameterError
        If a parameter is out of range, or both `freq_threshold` and `max_size` are set for a
        column.

    See Also
    --------
    Bucketize : ids from numeric boundaries.

    Notes
    -----
    NaN is null. An empty string is a value. In list columns the elements are encoded; null lists
    stay null and empty lists stay empty. `inverse_transform` gives null for padding, null and
    unknown ids. The state holds one table a column with every id, its value and its count in the
    data it was fitted on, so that the counts add up to the number of values seen.

    The convention is NVTabular's; unlike there, ties are broken by value, rare values reach the
    same bucket at fit and at transform, and the domain's maximum is the highest id that can occur.

    Examples
    --------
    >>> import polars as pl
    >>> import merlinkit as mk
    >>> frame = pl.DataFrame({"city": ["b", "a", None, "b", "c"]})
    >>> workflow = mk.Workflow(["city"] >> Categorify(freq_threshold=1))
    >>> workflow.fit_transform(frame).collect()["city"].to_list()
    [3, 4, 1, 3, 5]
    >>> workflow.transform(pl.DataFrame({"city": ["z"]})).collect()["city"].to_list()
    [2]
    """

    def __init__(
        self,
        freq_threshold: PerColumn = 0,
        max_size: PerColumn = 0,
        num_buckets: PerColumn = 1,
        vocabs: Mapping[str, Sequence[int | float | str | bool]] | None = None,
        dtype: str = "int64",
    ) -> None:
        self.freq_threshold = per_column("Categorify", "freq_threshold", freq_threshold)
        self.max_size = per_column("Categorify", "max_size", max_size)
        self.num_buckets = per_column("Categorify", "num_buckets", num_buckets)
        self.dtype = require_choice("Categorify", "dtype", dtype, ("int64", "int32"))
        require_int("Categorify", "freq_threshold", self.freq_threshold, minimum=0)
        require_int("Categorify", "max_size", self.max_size, minimum=0)
        require_int("Categorify", "num_buckets", self.num_buckets, minimum=1, maximum=10_000_000)
        self.vocabs = _checked_vocabs(vocabs)
        for limits in (self.freq_threshold, self.max_size):
            for column, limit in limits.items() if isinstance(limits, dict) else ():
                if limit and column in (self.vocabs or {}):
                    raise ParameterError(
                        f"Categorify: column '{column}' has both vocabs and a limit; a given "
                        "vocabulary is kept as it is"
                    )
        named: set[str] = set(self.vocabs or ())
        for parameter in (self.freq_threshold, self.max_size, self.num_buckets):
            named |= set(parameter) if isinstance(parameter, dict) else set()
        for column in ["", *sorted(named)]:
            self._check_limits(column)

    def _check_limits(self, column: str) -> None:
        threshold = _of(self.freq_threshold, column, 0)
        limit, buckets = _of(self.max_size, column, 0), _of(self.num_buckets, column, 1)
        where = f" for column '{column}'" if column else ""
        if threshold > 1 and limit:
            raise ParameterError(
                f"Categorify: freq_threshold={threshold} and max_size={limit} exclude each "
                f"other{where}; set one of them to 0"
            )
        if limit and limit < OOV_ID + buckets + 1:
            raise ParameterError(
                f"Categorify: max_size={limit}{where} leaves no room for a vocabulary: padding, "
                f"null and {buckets} out-of-vocabulary ids are counted, so at least "
                f"{OOV_ID + buckets + 1} is needed"
            )

    # -- schema -------------------------------------------------------------------------------

    def output_schema(self, inputs: Schema, state: State | None) -> Schema:
        """Return the columns of ids; parameters must not name other columns."""
        for parameter in ("freq_threshold", "max_size", "num_buckets", "vocabs"):
            value = getattr(self, parameter)
            if isinstance(value, dict):
                require_known(self, parameter, value, inputs)
        return super().output_schema(inputs, state)

    def output_column(self, column: Column, state: State | None) -> Column:
        """Return the column of ids; its domain is known once fitted."""
        if column.dtype.is_nested() or isinstance(column.dtype, pl.Binary | pl.Object):
            raise SchemaError(
                f"Categorify: column '{column.name}' is {column.polars_dtype}; numbers, strings, "
                "booleans, dates and times, and lists of these, can be encoded"
            )
        domain = None
        if state is not None:
            table = state.tables[column.name]
            domain = Domain(0, table.rows - 1)
            fitted = _key_dtype(table.frame)
            if _canonical_dtype(column.dtype) != fitted:
                raise SchemaError(
                    f"Categorify: column '{column.name}' is {dtype_name(column.dtype)}, but the "
                    f"vocabulary was made from {dtype_name(fitted)}; cast the column, or read it "
                    "with that data type (dtypes=...)"
                )
        encoded = Column(
            column.name,
            self.dtype,
            is_list=column.is_list,
            value_count=column.value_count,
            domain=domain,
            tags=column.tags | {Tags.CATEGORICAL},
            embedding_size=column.embedding_size,
            properties=column.properties,
        )
        return encoded.with_properties(
            {"padding_id": PADDING_ID, "num_buckets": _of(self.num_buckets, column.name, 1)}
        )

    # -- fit ----------------------------------------------------------------------------------

    widens_integers = True

    def needs_fit(self, inputs: Schema) -> bool:
        """Return true: a given vocabulary becomes a table as well."""
        del inputs
        return True

    def statistics(self, frame: pl.LazyFrame, inputs: Schema, dialect: Dialect) -> Statistics:
        """Count each value of each column; null is a value here."""
        return {
            column.name: values_of(frame, column, dialect)
            .select(_canonical(pl.col(column.name), column.dtype).alias("value"))
            .group_by("value")
            .agg(pl.len().cast(pl.Int64).alias("count"))
            for column in inputs
            if not self._is_given(column)
        }

    def _is_given(self, column: Column) -> bool:
        return self.vocabs is not None and column.name in self.vocabs

    def _given(self, column: Column) -> pl.LazyFrame:
        assert self.vocabs is not None
        dtype = _canonical_dtype(column.dtype)
        try:
            listed = pl.Series("value", self.vocabs[column.name])
            # Through the column's own type: 0.1 as Float32 is not 0.1 as Float64.
            values = listed.cast(column.dtype).cast(dtype)
            lossless = dtype.is_float() or (values.cast(listed.dtype) == listed).all()
        except (pl.exceptions.PolarsError, TypeError) as error:
            raise ParameterError(
                f"Categorify: vocabs for column '{column.name}' do not fit its data type "
                f"{dtype_name(column.dtype)}: {str(error).splitlines()[0]}"
            ) from error
        nan = dtype.is_float() and values.is_nan().any()
        if not lossless or nan or values.n_unique() != len(values):
            raise ParameterError(
                f"Categorify: vocabs for column '{column.name}' hold values that are NaN, or that "
                f"its data type {dtype_name(column.dtype)} cannot tell apart"
            )
        return pl.LazyFrame(
            {"value": values, "count": pl.Series([None] * len(values), dtype=pl.Int64)}
        )

    def merge(self, left: Statistics, right: Statistics) -> Statistics:
        """Add up the counts."""
        return {
            name: pl.concat([left[name], right[name]]).group_by("value").agg(pl.col("count").sum())
            for name in left
        }

    def finalize(self, statistics: Statistics, inputs: Schema, dialect: Dialect) -> Finalized:
        """Give the values numbers, and add the reserved ids with their counts."""
        tables = {}
        for column in inputs:
            counts = self._given(column) if self._is_given(column) else statistics[column.name]
            tables[column.name] = self._table(counts, column, dialect)
        return Finalized(tables=tables)

    def _table(self, counts: pl.LazyFrame, column: Column, dialect: Dialect) -> pl.LazyFrame:
        name = column.name
        buckets = _of(self.num_buckets, name, 1)
        limit = _of(self.max_size, name, 0)
        first = OOV_ID + buckets
        known = counts.filter(pl.col("value").is_not_null())
        if not self._is_given(column):
            known = known.sort(["count", "value"], descending=[True, False])
        known = known.with_row_index("rank")
        kept = pl.lit(True)
        # A given vocabulary is kept as it is; there are no counts that could leave a value out.
        if (threshold := _of(self.freq_threshold, name, 0)) > 1 and not self._is_given(column):
            kept = kept & (pl.col("count") >= threshold)
        if limit and not self._is_given(column):
            kept = kept & (pl.col("rank") < limit - first)
        dtype = _canonical_dtype(column.dtype)
        vocabulary = known.filter(kept).select(
            (pl.col("rank").cast(pl.Int64) + first).alias("id"), "value", "count"
        )
        rare = known.filter(~kept).select(
            _bucket(pl.col("value"), dtype, buckets, dialect).alias("id"), "count"
        )
        nulls = counts.filter(pl.col("value").is_null()).select(
            pl.lit(NULL_ID, dtype=pl.Int64).alias("id"), "count"
        )
        reserved = pl.LazyFrame(
            {"id": range(first), "count": [0] * first}, schema={"id": pl.Int64, "count": pl.Int64}
        )
        counted = (
            pl.concat([reserved, nulls, rare])
            .group_by("id")
            .agg(pl.col("count").sum())
            .sort("id")
            .select("id", pl.lit(None, dtype=dtype).alias("value"), "count")
        )
        return pl.concat([counted, vocabulary])

    # -- apply --------------------------------------------------------------------------------

    def step(
        self, frame: pl.LazyFrame, name: str, column: Column, state: State, dialect: Dialect
    ) -> pl.LazyFrame:
        """Look the values up; the rest is null or out of vocabulary."""
        buckets = _of(self.num_buckets, column.name, 1)
        key, found = scratch("key"), scratch("id")
        dtype = _canonical_dtype(column.dtype)
        frame = frame.with_columns(_canonical(pl.col(name), column.dtype).alias(key))
        table = state.tables[column.name]
        frame = dialect.lookup(frame, key, table.lookup("value", "id"), found)
        unknown = _bucket(pl.col(key), dtype, buckets, dialect)
        encoded = (
            pl.when(pl.col(key).is_null())
            .then(pl.lit(NULL_ID, dtype=pl.Int64))
            .when(pl.col(found).is_null())
            .then(unknown)
            .otherwise(pl.col(found))
        )
        return frame.with_columns(encoded.cast(_integer(self.dtype)).alias(name)).drop(key, found)

    @property
    def invertible(self) -> bool:
        """Ids name their values."""
        return True

    def inverse(
        self, frame: pl.LazyFrame, inputs: Schema, state: State, dialect: Dialect
    ) -> pl.LazyFrame:
        """Look the values of ids up; null for padding, null, unknown and ids out of range."""
        for column in inputs:
            by_id = state.tables[column.name].lookup("id", "value")

            def back(
                part: pl.LazyFrame, name: str, by_id: Lookup = by_id, column: Column = column
            ) -> pl.LazyFrame:
                key, found = scratch("key"), scratch("value")
                part = part.with_columns(pl.col(name).cast(pl.Int64).alias(key))
                part = dialect.lookup(part, key, by_id, found)
                return part.with_columns(pl.col(found).cast(column.dtype).alias(name)).drop(
                    key, found
                )

            frame = apply_to_values(frame, column, back, column.dtype, dialect)
        return frame


def _of(parameter: int | dict[str, int], column: str, default: int) -> int:
    return parameter.get(column, default) if isinstance(parameter, dict) else parameter


def _integer(name: str) -> pl.DataType:
    return pl.Int32() if name == "int32" else pl.Int64()


def _checked_vocabs(
    vocabs: Mapping[str, Sequence[int | float | str | bool]] | None,
) -> dict[str, list[int | float | str | bool]] | None:
    if vocabs is None:
        return None
    if not isinstance(vocabs, Mapping):
        raise ParameterError(
            f"Categorify: vocabs is {type(vocabs).__name__}, a mapping of column to values expected"
        )
    checked = {}
    for column, values in vocabs.items():
        # A set has no order, and the ids are the order.
        listed = list(values) if isinstance(values, list | tuple) else []
        plain = all(isinstance(value, str | bool) or is_finite_number(value) for value in listed)
        if not listed or not plain:
            raise ParameterError(
                f"Categorify: vocabs for column '{column}' must be a list of values without null: "
                "numbers, strings or booleans"
            )
        if len(set(listed)) != len(listed):
            twice = next(value for value in listed if listed.count(value) > 1)
            raise ParameterError(
                f"Categorify: vocabs for column '{column}' hold {twice!r} more than once"
            )
        checked[str(column)] = listed
    return checked


def _canonical_dtype(dtype: pl.DataType) -> pl.DataType:
    """Return the data type that a vocabulary of such values has, whatever width a file used."""
    if isinstance(dtype, pl.UInt64):
        return dtype
    if dtype.is_integer():
        return pl.Int64()
    if dtype.is_float():
        return pl.Float64()
    if isinstance(dtype, pl.Null):
        return pl.String()
    return dtype


def _canonical(value: pl.Expr, dtype: pl.DataType) -> pl.Expr:
    cast = value.cast(_canonical_dtype(dtype))
    # Adding zero makes one zero of the two that floats have.
    return without_nan(cast, dtype) + 0.0 if dtype.is_float() else cast


def _key_dtype(table: pl.LazyFrame) -> pl.DataType:
    return table.collect_schema()["value"]


def _bucket(value: pl.Expr, dtype: pl.DataType, buckets: int, dialect: Dialect) -> pl.Expr:
    """Return the out-of-vocabulary id of a value."""
    if buckets == 1:
        return pl.lit(OOV_ID, dtype=pl.Int64)
    return (dialect.hash64(value, dtype) % buckets).cast(pl.Int64) + OOV_ID
