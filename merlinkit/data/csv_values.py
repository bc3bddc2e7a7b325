"""Turning whole csv records into typed columns, and finding the value that does not fit."""

from __future__ import annotations

import io
from collections.abc import Mapping, Sequence

import numpy as np
import polars as pl

from merlinkit.data.csv_options import CsvOptions
from merlinkit.data.csv_records import CsvBlock
from merlinkit.dtypes import dtype_name
from merlinkit.errors import SchemaError

__all__ = ["CsvValues"]


class CsvValues:
    """Parses records of one shape with Polars.

    Parameters
    ----------
    delimiter
        The character between fields.
    options
        Quotes, nulls and dates.

    Attributes
    ----------
    padded : dict of str to str
        Columns that the last `infer` took for text since a number would lose the zeros of a
        value, and that value.
    empty : frozenset of str
        Columns that had no value in the records of the last `infer`.
    """

    def __init__(self, delimiter: str, options: CsvOptions) -> None:
        self.delimiter = delimiter
        self.options = options
        self.padded: dict[str, str] = {}
        self.empty: frozenset[str] = frozenset()

    def infer(
        self,
        data: bytes,
        names: Sequence[str],
        dtypes: Mapping[str, pl.DataType],
        wanted: Sequence[str],
    ) -> dict[str, pl.DataType]:
        """Return the data type of each wanted column: the given one, or what all values fit.

        Parameters
        ----------
        data
            Whole records.
        names
            Names of the fields, in order.
        dtypes
            Data types that are given, by name.
        wanted
            The columns to return types of.

        Notes
        -----
        Whole numbers are Int64, UInt64 where one is too large for it, String where one is too
        large for both. A column of numbers of which one starts with a zero that a number would
        lose (``007``) is String. A column without a value is String.
        """
        for name, dtype in dtypes.items():
            _require_parsable(name, dtype)
        positions = {name: f"column_{index + 1}" for index, name in enumerate(names)}
        frame = pl.read_csv(
            data,
            has_header=False,
            separator=self.delimiter,
            quote_char=self.options.quote_char,
            null_values=list(self.options.null_values) or None,
            try_parse_dates=self.options.parse_dates,
            infer_schema_length=None,
            schema_overrides={
                place: pl.String() for name, place in positions.items() if name in dtypes
            },
        )
        inferred = {
            name: dtypes[name] if name in dtypes else _offered(frame[positions[name]])
            for name in wanted
        }
        self.empty = frozenset(
            name for name in wanted if frame[positions[name]].null_count() == frame.height
        )
        numbers = [name for name in wanted if name not in dtypes and inferred[name].is_numeric()]
        padded = self.zero_padded(data, names, numbers)
        self.padded = {name: value for name, (_, value) in padded.items()}
        inferred |= dict.fromkeys(padded, pl.String())
        return inferred

    def zero_padded(
        self, data: bytes, names: Sequence[str], columns: Sequence[str]
    ) -> dict[str, tuple[int, str]]:
        """Return which columns hold values like ``007``: the first record and value of each.

        Parameters
        ----------
        data
            Whole records.
        names
            Names of the fields, in order.
        columns
            The columns to look at.
        """
        if not columns or not self._may_be_padded(data):
            return {}
        texts = self._read(data, dict.fromkeys(names, pl.String())).select(columns).collect()
        found: dict[str, tuple[int, str]] = {}
        for name in columns:
            rows = texts[name].str.contains(r"^[+-]?0[0-9]").arg_true()
            if len(rows):
                row = int(rows[0])
                found[name] = (row, texts[name][row])
        return found

    def _may_be_padded(self, data: bytes) -> bool:
        """Return whether any field starts with a zero and a digit, without parsing the fields."""
        quote = self.options.quote_char
        starts = [ord(mark) for mark in ("\n", self.delimiter, quote) if mark is not None]
        codes = np.frombuffer(b"\n\n" + data + b"\n", dtype=np.uint8)
        before, zero, after = codes[:-2], codes[1:-1] == ord("0"), codes[2:]
        # All that may stand before a first digit has a code below that of digits, but for some
        # delimiters; what is left after this one quick step is few.
        first = before < ord("0")
        if ord(self.delimiter) >= ord("0"):
            first |= before == ord(self.delimiter)
        at = np.flatnonzero(zero & first)
        at = at[(after[at] >= ord("0")) & (after[at] <= ord("9"))]
        signed = np.isin(before[at], [ord("-"), ord("+")])
        return bool(np.isin(codes[at - signed], starts).any())

    def parse(
        self, data: bytes, dtypes: Mapping[str, pl.DataType], columns: Sequence[str], rows: int
    ) -> pl.DataFrame:
        """Return some columns of whole records.

        Raises
        ------
        polars.exceptions.ComputeError
            If a value does not fit its column.
        """
        if not columns:
            return pl.DataFrame(height=rows)
        frame = self._read(data, dtypes).select(columns).collect()
        if frame.height != rows:
            raise pl.exceptions.ComputeError(f"{rows} rows cut, {frame.height} parsed")
        return frame

    def _read(self, data: bytes, dtypes: Mapping[str, pl.DataType]) -> pl.LazyFrame:
        return pl.scan_csv(
            io.BytesIO(data),
            has_header=False,
            schema=dict(dtypes),
            separator=self.delimiter,
            quote_char=self.options.quote_char,
            null_values=list(self.options.null_values) or None,
        )

    def first_misfit(
        self, block: CsvBlock, dtypes: Mapping[str, pl.DataType], columns: Sequence[str]
    ) -> tuple[int, str] | None:
        """Return the first record and column of it that does not parse, found by halving."""
        low, high = 0, len(block)
        if self._fits(block, low, high, dtypes, columns):
            return None
        while high - low > 1:
            middle = (low + high) // 2
            if self._fits(block, low, middle, dtypes, columns):
                low = middle
            else:
                high = middle
        for name in dtypes:
            if name in columns and not self._fits(block, low, high, dtypes, [name]):
                return low, name
        return None

    def _fits(
        self,
        block: CsvBlock,
        start: int,
        stop: int,
        dtypes: Mapping[str, pl.DataType],
        columns: Sequence[str],
    ) -> bool:
        try:
            self.parse(block.slice(start, stop), dtypes, columns, stop - start)
        except pl.exceptions.PolarsError:
            return False
        return True


def _offered(values: pl.Series) -> pl.DataType:
    """Return the type to read a column with whose first values parsed like this."""
    if values.dtype != pl.Int128:
        return values.dtype
    smallest, largest = values.min(), values.max()
    assert isinstance(smallest, int) and isinstance(largest, int)
    return pl.UInt64() if smallest >= 0 and largest < 2**64 else pl.String()


def _require_parsable(name: str, dtype: pl.DataType) -> None:
    parsable = (dtype.is_integer() or dtype.is_float()) and dtype != pl.Int128
    if parsable or isinstance(dtype, pl.String | pl.Boolean | pl.Date | pl.Datetime | pl.Time):
        return
    hint = " Read it as String and cut it with the Split operator." if dtype.is_nested() else ""
    raise SchemaError(f"column '{name}': csv fields cannot be read as {dtype_name(dtype)}.{hint}")
