"""Turning whole csv records into typed columns, and finding the value that does not fit."""

from __future__ import annotations

import io
from collections.abc import Mapping, Sequence

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
    """

    def __init__(self, delimiter: str, options: CsvOptions) -> None:
        self.delimiter = delimiter
        self.options = options

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
        large for both. A column without a value is String.
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
            schema_overrides={positions[name]: pl.String() for name in dtypes},
        )
        inferred = {name: _offered(frame[positions[name]]) for name in wanted}
        return {name: dtypes.get(name, inferred[name]) for name in wanted}

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
        plan = pl.scan_csv(
            io.BytesIO(data),
            has_header=False,
            schema=dict(dtypes),
            separator=self.delimiter,
            quote_char=self.options.quote_char,
            null_values=list(self.options.null_values) or None,
        )
        frame = plan.select(columns).collect()
        if frame.height != rows:
            raise pl.exceptions.ComputeError(f"{rows} rows cut, {frame.height} parsed")
        return frame

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
