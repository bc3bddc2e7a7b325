"""Split by a stable hash of each row."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

import polars as pl

from merlinkit.data.splits.base import PART_COLUMN, Split, require_fractions, require_free
from merlinkit.data.splits.row_hash import hashable_columns, with_row_hash
from merlinkit.dtypes import dtype_name
from merlinkit.engine.base import LocalEngine
from merlinkit.engine.dialect import Dialect
from merlinkit.errors import ParameterError, SchemaError
from merlinkit.schema import Schema

__all__ = ["RandomSplit"]

_BITS = 53
"""Bits of the hash that are compared with the fractions, as many as a float holds exactly."""


class RandomSplit(Split):
    """Each row goes to a part by a hash of its values.

    Parameters
    ----------
    valid, test
        Fractions of the rows, or of the distinct keys. They hold within sampling error.
    seed
        Another seed gives another, unrelated split.
    keys
        The columns that decide: rows with the same values in them go to the same part, as in
        ``keys=["user_id"]``. None takes all scalar columns.

    Raises
    ------
    ParameterError
        If a parameter is out of range.

    Notes
    -----
    The part of a row depends on its values alone: not on files, order, other rows, engine or
    release. So rows with equal values are never in two parts. Null is a value of its own. The
    integer 1 hashes alike in every integer type, but 1 and 1.0 do not, nor do time stamps of
    different units.

    Examples
    --------
    >>> from merlinkit.engine.cpu import CpuEngine
    >>> frame = pl.LazyFrame({"user": list(range(1000))})
    >>> split = RandomSplit(valid=0.2, test=0.1)
    >>> parts = split.assign(frame, Schema.from_polars(frame.collect_schema()), CpuEngine().dialect)
    >>> sorted(parts.collect()["__part__"].unique())
    ['test', 'train', 'valid']
    """

    kind: ClassVar[str] = "random"
    row_local: ClassVar[bool] = True

    def __init__(
        self,
        valid: float = 0.1,
        test: float = 0.1,
        seed: int = 42,
        keys: Sequence[str] | None = None,
    ) -> None:
        require_fractions(valid, test)
        if isinstance(seed, bool) or not isinstance(seed, int) or not 0 <= seed < 2**63:
            raise ParameterError(f"seed {seed!r}: expected a whole number from 0 to 2**63 - 1")
        if keys is not None:
            if isinstance(keys, str) or not all(isinstance(key, str) for key in keys):
                raise ParameterError(f"keys {keys!r}: expected a list of column names")
            if not keys:
                raise ParameterError("keys is empty: name at least one column, or leave it out")
        self.valid = valid
        self.test = test
        self.seed = seed
        self.keys = None if keys is None else sorted(set(keys))

    def columns(self, schema: Schema) -> list[str]:
        """Return the key columns."""
        if self.keys is None:
            names = hashable_columns(schema)
            if not names:
                raise SchemaError("a random split needs a scalar column, but there is none")
            return names
        for name in self.keys:
            column = schema[name]
            if name not in hashable_columns(schema):
                raise SchemaError(
                    f"key column '{name}' is {dtype_name(column.polars_dtype)}; a random split "
                    "needs scalar columns"
                )
        return list(self.keys)

    def fit(self, frame: pl.LazyFrame, engine: LocalEngine) -> RandomSplit:
        """Return the split itself: it takes nothing from the data."""
        return self

    def assign(self, frame: pl.LazyFrame, schema: Schema, dialect: Dialect) -> pl.LazyFrame:
        """Return the rows with their part."""
        require_free(schema)
        keys = [schema[name] for name in self.columns(schema)]
        test = round(self.test * 2**_BITS)
        valid = test + round(self.valid * 2**_BITS)
        place = pl.col(PART_COLUMN) // pl.lit(2 ** (64 - _BITS), dtype=pl.UInt64)
        part = (
            pl.when(place < pl.lit(test, dtype=pl.UInt64))
            .then(pl.lit("test"))
            .when(place < pl.lit(valid, dtype=pl.UInt64))
            .then(pl.lit("valid"))
            .otherwise(pl.lit("train"))
        )
        hashed = with_row_hash(frame, keys, dialect, self.seed, into=PART_COLUMN)
        return hashed.with_columns(part.alias(PART_COLUMN))

    def to_dict(self) -> dict[str, Any]:
        """Return kind and parameters."""
        return {
            "kind": self.kind,
            "valid": self.valid,
            "test": self.test,
            "seed": self.seed,
            "keys": self.keys,
        }
