"""HashBucket: values to ids by a stable hash, without a vocabulary."""

from __future__ import annotations

from collections.abc import Mapping

import polars as pl

from merlinkit.engine.dialect import Dialect
from merlinkit.errors import ParameterError, SchemaError
from merlinkit.ops.base import ElementwiseOperator, State, require_known
from merlinkit.ops.parameters import per_column, require_int
from merlinkit.schema import Column, Domain, Schema, Tags

__all__ = ["MAX_BUCKETS", "HashBucket"]

MAX_BUCKETS = 2**31 - 1
"""Bucket ids are Int32."""

_RESERVED = ("padding_id", "num_buckets")
"""Properties by which embeddings find the ids that stand for no value."""


class HashBucket(ElementwiseOperator):
    """Replace values by the stable hash modulo a number: ids 0 … num_buckets - 1.

    Parameters
    ----------
    num_buckets
        Number of ids. One number, or one a column.
    null_id
        The id of null and NaN; None leaves them null.

    Raises
    ------
    ParameterError
        If a number is out of range, or `null_id` is not one of the ids.
    SchemaError
        If a column holds structs, binary or nested lists, or has no number of buckets.

    See Also
    --------
    Categorify : ids by a vocabulary, that can be turned back.
    HashedCross : one id for several columns.

    Notes
    -----
    The hash is XXH64 with a fixed seed, the same on every engine, machine and version; integers
    of any width hash alike. Different values may share an id ("the hashing trick", Weinberger et
    al., "Feature hashing for large scale multitask learning", 2009). There is no id for padding.

    Examples
    --------
    >>> import polars as pl
    >>> import merlinkit as mk
    >>> frame = pl.DataFrame({"url": ["a", "b", None, "a"]})
    >>> ids = mk.Workflow(["url"] >> HashBucket(1000)).fit_transform(frame).collect()["url"]
    >>> ids[0] == ids[3], ids[2] is None, ids.dtype
    (True, True, Int32)
    """

    widens_integers = True

    def __init__(self, num_buckets: int | Mapping[str, int], null_id: int | None = None) -> None:
        self.num_buckets = per_column("HashBucket", "num_buckets", num_buckets)
        require_int("HashBucket", "num_buckets", self.num_buckets, minimum=1, maximum=MAX_BUCKETS)
        if isinstance(self.num_buckets, dict) and not self.num_buckets:
            raise ParameterError("HashBucket: num_buckets is empty; give a number for each column")
        if null_id is not None:
            require_int("HashBucket", "null_id", null_id, minimum=0)
            numbers = self.num_buckets
            fewest = min(numbers.values()) if isinstance(numbers, dict) else numbers
            if null_id >= fewest:
                raise ParameterError(
                    f"HashBucket: null_id is {null_id}, one of the ids 0 to {fewest - 1} expected"
                )
        self.null_id = null_id

    def output_schema(self, inputs: Schema, state: State | None) -> Schema:
        """Return the columns of ids."""
        if isinstance(self.num_buckets, dict):
            require_known(self, "num_buckets", self.num_buckets, inputs.names)
        return super().output_schema(inputs, state)

    def _buckets(self, column: Column) -> int:
        if not isinstance(self.num_buckets, dict):
            return self.num_buckets
        if column.name not in self.num_buckets:
            raise SchemaError(f"HashBucket: num_buckets has no number for column '{column.name}'")
        return self.num_buckets[column.name]

    def output_column(self, column: Column, state: State | None) -> Column:
        """Return the column of ids, whose domain is known without a fit."""
        require_hashable("HashBucket", column)
        return Column(
            column.name,
            pl.Int32(),
            is_list=column.is_list,
            value_count=column.value_count,
            domain=Domain(0, self._buckets(column) - 1),
            tags=column.tags | {Tags.CATEGORICAL},
            embedding_size=column.embedding_size,
            # Each id is a bucket here, whatever ids the column held before.
            properties={
                name: value for name, value in column.properties.items() if name not in _RESERVED
            },
        )

    def step(
        self, frame: pl.LazyFrame, name: str, column: Column, state: State, dialect: Dialect
    ) -> pl.LazyFrame:
        """Hash the values."""
        value, dtype = hashable(pl.col(name), column)
        ids = (dialect.hash64(value, dtype) % self._buckets(column)).cast(pl.Int32)
        if self.null_id is not None:
            ids = ids.fill_null(self.null_id)
        return frame.with_columns(ids.alias(name))


def require_hashable(operator: str, column: Column) -> None:
    """Raise `SchemaError` unless the values of a column can be hashed."""
    dtype = column.dtype
    if dtype.is_nested() or isinstance(dtype, pl.Binary | pl.Object):
        raise SchemaError(
            f"{operator}: column '{column.name}' is {column.polars_dtype}; numbers, strings, "
            "booleans, dates and times, and lists of these, can be hashed"
        )


def hashable(value: pl.Expr, column: Column) -> tuple[pl.Expr, pl.DataType]:
    """Return a value and its data type as they are hashed: NaN as null."""
    dtype = column.dtype
    if isinstance(dtype, pl.Null):
        return value.cast(pl.String), pl.String()
    if dtype.is_float():
        return value.fill_nan(None), dtype
    return value, dtype
