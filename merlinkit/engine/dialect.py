"""The few steps that engines spell differently, behind one interface.

Operators describe what they do as Polars plans that every engine can run. Three things have no
common spelling: acting on the elements of lists, looking values up in a table, and hashing. An
operator asks the dialect for them, so that it never knows which engine runs it.

* cuDF plans have no functions on lists at all. There, list columns are held as a flat column of
  values with row offsets; an element-wise operator runs on the values, the offsets stay.
* A lookup is fastest as a replacement on Polars' CPU engine, which keeps memory bounded and row
  order, and as a join on cuDF, which would upload a replacement mapping at every evaluation.
* Polars' own ``hash`` changes between its releases and differs on cuDF. The hash here is XXH64
  (https://xxhash.com) of the UTF-8 bytes of a string or the eight little-endian bytes of a 64-bit
  integer, with the seed that cudf-polars passes to libcudf for ``hash(0)``: what libcudf computes,
  so that ids agree wherever they are made.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import polars as pl

__all__ = ["HASH_SEED", "Dialect", "Indexed", "Lookup", "Numbered", "Pair"]

HASH_SEED = 15220518902653198062
"""Seed of the stable hash. cudf-polars turns ``hash(0)`` into XXH64 with this seed; a test holds
it to that. It must never change: bucket ids of saved workflows depend on it."""


class Lookup:
    """A table of keys and values that a plan looks values up in.

    Parameters
    ----------
    frame
        The table; one row a key.
    key, value
        Names of its columns. Keys are distinct and not null.
    """

    def __init__(self, frame: pl.LazyFrame, key: str, value: str) -> None:
        self.key = key
        self.value = value
        self.frame = frame.select(key, value)
        self._in_memory: Pair | Numbered | Indexed | None = None
        self.expressions: dict[str, pl.Expr] = {}
        """What a dialect keeps of this table, by the column that is looked up: making an expression
        that holds a large table takes as long as hashing it."""

    def in_memory(self) -> Pair | Numbered | Indexed:
        """Return the table as this process holds it, read once.

        A table of ids by string is held as categories. Polars builds the hash table of categories
        once, that of a replacement again for each batch of rows, which took 1.6 times as long and
        twice the memory on 26 columns of 2 million rows.
        """
        if self._in_memory is None:
            collected = self.frame.collect(engine="streaming")
            keys, values = collected[self.key], collected[self.value]
            self._in_memory = (
                _numbered(keys, values) or _indexed(keys, values) or Pair(keys, values)
            )
        return self._in_memory


@dataclass(frozen=True)
class Pair:
    """Keys and their values, side by side."""

    keys: pl.Series
    values: pl.Series


@dataclass(frozen=True)
class Numbered:
    """Strings whose values count up from the first: a string's value is ``first`` plus its code."""

    categories: pl.Enum
    first: int
    dtype: pl.DataType


@dataclass(frozen=True)
class Indexed:
    """Values whose keys count up from the first: that of a key is at its distance from it."""

    first: int
    values: pl.Series


def _count_up(numbers: pl.Series) -> bool:
    if not numbers.dtype.is_integer() or numbers.is_empty():
        return False
    ends = int(numbers[-1]) - int(numbers[0]) == len(numbers) - 1
    return ends and bool((numbers.diff().drop_nulls() == 1).all())


def _indexed(keys: pl.Series, values: pl.Series) -> Indexed | None:
    return Indexed(int(keys[0]), values.rechunk()) if _count_up(keys) else None


def _numbered(keys: pl.Series, values: pl.Series) -> Numbered | None:
    if keys.dtype != pl.String or not _count_up(values):
        return None
    return Numbered(pl.Enum(keys), int(values[0]), values.dtype)


class Dialect(ABC):
    """How one engine spells element-wise steps, lookups and hashes."""

    name: str

    checks_casts: bool
    """Whether a cast to a type that does not hold the value is an error."""

    @abstractmethod
    def elementwise(
        self,
        frame: pl.LazyFrame,
        column: str,
        step: Callable[[pl.LazyFrame, str], pl.LazyFrame],
        into: pl.DataType,
    ) -> pl.LazyFrame:
        """Apply a step on scalars to the elements of a list column.

        Parameters
        ----------
        frame
            Holds the list column among others.
        column
            Name of the list column; it is replaced by the result.
        step
            Given a frame whose column of that name holds scalars, returns one in which that
            column is changed. It must keep the number and order of rows.
        into
            Element data type of the result.

        Notes
        -----
        Null lists stay null, empty lists stay empty, null elements reach the step as nulls.
        """

    @abstractmethod
    def elements(self, frame: pl.LazyFrame, column: str) -> pl.LazyFrame:
        """Return one row for each element of a list column, that column alone.

        Null and empty lists give no row, a null element gives a null.
        """

    @abstractmethod
    def lengths(self, frame: pl.LazyFrame, column: str) -> pl.LazyFrame:
        """Return the length of each list of a column, as Int64, that column alone.

        A null list gives a null.
        """

    @abstractmethod
    def list_slice(
        self, frame: pl.LazyFrame, column: str, start: int, end: int | None
    ) -> pl.LazyFrame:
        """Keep the elements of each list from ``start`` to before ``end``, as Python counts them.

        Null lists stay null.
        """

    @abstractmethod
    def list_pad(
        self, frame: pl.LazyFrame, column: str, length: int, value: int | float | str | bool
    ) -> pl.LazyFrame:
        """Append a value to each list that is shorter than a length, until it is not.

        Null lists stay null.
        """

    def lookup(self, frame: pl.LazyFrame, column: str, table: Lookup, into: str) -> pl.LazyFrame:
        """Add a column with the table's value for each row, null where the table has none."""
        return self.lookups(frame, [(column, table, into)])

    @abstractmethod
    def lookups(
        self, frame: pl.LazyFrame, wanted: Sequence[tuple[str, Lookup, str]]
    ) -> pl.LazyFrame:
        """Add several columns at once, each looked up by a column: (column, table, new column)."""

    @abstractmethod
    def join(self, frame: pl.LazyFrame, table: pl.LazyFrame, on: Sequence[str]) -> pl.LazyFrame:
        """Add the other columns of a table to the rows whose columns ``on`` equal its own.

        Parameters
        ----------
        frame
            Holds the columns ``on``, and none of the table's other columns.
        table
            One row for each key. A null in a key matches nothing.
        on
            Columns of the key.
        """

    @abstractmethod
    def narrowed(self, value: pl.Expr, column: str, dtype: pl.DataType) -> pl.Expr:
        """Cast floats to a smaller type.

        Infinite values and NaN stay. A finite value that the type does not hold is an error that
        names ``column``, or null where an engine cannot check (`checks_casts`).
        """

    @abstractmethod
    def hash64(self, expr: pl.Expr, dtype: pl.DataType) -> pl.Expr:
        """Return XXH64 (seed `HASH_SEED`) of a column as UInt64; null stays null.

        Parameters
        ----------
        expr
            The column.
        dtype
            Its data type: integers and booleans are hashed as Int64 (UInt64 by its bits),
            floats by the bits of Float64 with one zero and one NaN, temporal types by their
            physical integer, anything else as its string form.
        """

    @abstractmethod
    def split(self, frame: pl.LazyFrame, column: str, separator: str, into: str) -> pl.LazyFrame:
        """Add a list column of the pieces of a string column; null stays null, "" is empty."""
