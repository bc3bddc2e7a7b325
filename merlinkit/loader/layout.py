"""Where each column of a schema lives in memory, and which columns cannot become tensors."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
import polars as pl
import pyarrow as pa

from merlinkit.dtypes import dtype_name
from merlinkit.errors import DataError
from merlinkit.schema import Column, Schema

__all__ = ["Block", "Layout", "ListColumn"]

# PyTorch has next to no functions for unsigned integers above 8 bits, so these take the next
# wider signed type. UInt64 has none.
_STORAGE: dict[type[pl.DataType], type[np.generic]] = {
    pl.Boolean: np.bool_,
    pl.Int8: np.int8,
    pl.Int16: np.int16,
    pl.Int32: np.int32,
    pl.Int64: np.int64,
    pl.UInt8: np.uint8,
    pl.UInt16: np.int32,
    pl.UInt32: np.int64,
    pl.Float32: np.float32,
    pl.Float64: np.float64,
}
_ENCODE = "turn it into ids with Categorify"
_HOW_TO_ENCODE: dict[type[pl.DataType], str] = {
    pl.String: _ENCODE,
    pl.Binary: _ENCODE,
    pl.Categorical: _ENCODE,
    pl.Enum: _ENCODE,
    pl.Date: "turn it into numbers with DateTime",
    pl.Datetime: "turn it into numbers with DateTime",
    pl.Time: "turn it into numbers with DateTime",
    pl.Duration: "turn it into a number with Expression",
    pl.Decimal: "cast it to Float64 or Int64 with Expression",
    pl.UInt64: "cast it to Int64 with Expression",
    pl.List: "a list of lists has no tensor form; flatten it before it is written",
    pl.Null: "it holds nothing but nulls; give it values with FillMissing",
}


@dataclass(frozen=True)
class Block:
    """Scalar columns of one data type, side by side in one matrix ``[rows, len(names)]``."""

    dtype: np.dtype[np.generic]
    names: tuple[str, ...]


@dataclass(frozen=True)
class ListColumn:
    """A list column and the data type of its elements."""

    name: str
    dtype: np.dtype[np.generic]


class Layout:
    """The memory form of the columns of a schema.

    Parameters
    ----------
    schema
        The columns that are wanted, in the order in which a batch lists them.

    Raises
    ------
    DataError
        If columns have data types without a tensor form, naming each and how to encode it.
    """

    def __init__(self, schema: Schema) -> None:
        problems: list[str] = []
        by_dtype: dict[np.dtype[np.generic], list[str]] = {}
        lists: list[ListColumn] = []
        self._dtypes: dict[str, np.dtype[np.generic]] = {}
        for column in schema:
            storage = _STORAGE.get(type(column.dtype))
            if storage is None:
                problems.append(_no_tensor(column))
                continue
            dtype: np.dtype[np.generic] = np.dtype(storage)
            self._dtypes[column.name] = dtype
            if column.is_list:
                lists.append(ListColumn(column.name, dtype))
            else:
                by_dtype.setdefault(dtype, []).append(column.name)
        if problems:
            raise DataError(_join("columns that cannot become tensors:", problems))
        self.schema = schema
        self.blocks = tuple(Block(dtype, tuple(names)) for dtype, names in by_dtype.items())
        self.lists = tuple(lists)

    @property
    def names(self) -> list[str]:
        """Column names in the order of a batch."""
        return self.schema.names

    def problems_with(self, found: pa.Schema) -> list[str]:
        """Return one sentence for each column that a file lacks or holds in another form.

        A narrower integer or float in the file than in the schema is fine, it is widened.
        """
        problems = []
        for column in self.schema:
            indices = found.get_all_field_indices(column.name)
            if len(indices) != 1:
                many = f"{len(indices)} columns" if indices else "no column"
                problems.append(f"{many} '{column.name}'")
                continue
            arrow = found.field(indices[0]).type
            is_list = _is_list(arrow)
            element = arrow.value_type if is_list else arrow
            if is_list != column.is_list or not _fits(element, self._dtypes[column.name]):
                expected = dtype_name(column.polars_dtype)
                problems.append(f"column '{column.name}' is {arrow}, the schema says {expected}")
        return problems


def _no_tensor(column: Column) -> str:
    how = _HOW_TO_ENCODE.get(type(column.dtype), "change it to a number before it is written")
    return f"column '{column.name}' is {dtype_name(column.polars_dtype)}: {how}"


def _is_list(arrow: pa.DataType) -> bool:
    return bool(
        pa.types.is_list(arrow)
        or pa.types.is_large_list(arrow)
        or pa.types.is_fixed_size_list(arrow)
    )


def _fits(arrow: pa.DataType, into: np.dtype[np.generic]) -> bool:
    if pa.types.is_boolean(arrow) or into == np.bool_:
        return bool(pa.types.is_boolean(arrow)) and into == np.bool_
    if pa.types.is_integer(arrow):
        return into.kind in "iu" and np.can_cast(arrow.to_pandas_dtype(), into, "safe")
    if pa.types.is_floating(arrow):
        return into.kind == "f" and np.can_cast(arrow.to_pandas_dtype(), into, "safe")
    return False


def _join(title: str, problems: Iterable[str]) -> str:
    listed = list(problems)
    if len(listed) == 1:
        return listed[0]
    return title + "".join(f"\n  - {problem}" for problem in listed)
