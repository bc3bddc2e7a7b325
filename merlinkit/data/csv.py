"""Csv and tsv files, plain or gzipped: no row is lost or changed without a word.

What Polars' own reader does, as of 1.44, and why it is not used alone: missing fields and blank
lines become nulls; with some columns selected, rows with too many fields pass; ``schema=`` renames
the columns of a file whose header has another order; errors name neither file nor line. It reads
gzipped files as a stream: 37 MiB of memory for 700 MiB of text. Here records are cut and counted
first (see `merlinkit.data.csv_records`), and whole blocks of them are then parsed by Polars.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import polars as pl

from merlinkit.data.csv_header import CsvHeaders
from merlinkit.data.csv_options import CsvOptions
from merlinkit.data.csv_records import CsvBlock, csv_blocks
from merlinkit.data.csv_shape import CsvShape
from merlinkit.data.csv_tally import CsvTally, decodable
from merlinkit.data.csv_values import CsvValues
from merlinkit.data.malformed import Malformed
from merlinkit.data.text import line_error, shown
from merlinkit.dtypes import dtype_name
from merlinkit.errors import DataError, SchemaError, did_you_mean

__all__ = ["CsvReader"]


class CsvReader:
    """Reads csv and tsv files whose headers hold the same columns, in any order.

    Parameters
    ----------
    files
        The files, sorted.
    format
        ``"csv"`` or ``"tsv"``.
    options
        How they are written.
    dtypes
        Data types that are not inferred, by column.
    columns
        The columns to read, in order; None reads all, in the order of the first file.
    malformed
        Where dropped rows are noted.

    Raises
    ------
    DataError
        If the files have no columns, or not the same ones, or a header is not usable.
    SchemaError
        If a column that is named is not there or cannot have the data type it is given.
    """

    def __init__(
        self,
        files: Sequence[Path],
        format: str,
        options: CsvOptions,
        dtypes: Mapping[str, pl.DataType],
        columns: Sequence[str] | None,
        malformed: Malformed,
    ) -> None:
        self.options = options
        self.malformed = malformed
        self._delimiter = options.delimiter_for(format)
        headers = CsvHeaders(files, self._delimiter, options)
        self._names = headers.by_file
        self.notes = [f"{file} is empty" for file, names in self._names.items() if names is None]
        wanted = list(headers.names if columns is None else columns)
        for name in [*wanted, *dtypes]:
            if name not in headers.names:
                hint = did_you_mean(name, headers.names)
                hint = hint or f" There are: {', '.join(headers.names[:20])}."
                raise SchemaError(f"{headers.first}: no column '{name}'.{hint}")
        self.has_rows = False
        inferred = self._infer(files, dtypes, wanted)
        self._given = set(dtypes)
        self.schema = pl.Schema({name: inferred[name] for name in wanted})

    def _shape(self, width: int) -> CsvShape:
        fill = self.options.missing_fields == "null"
        return CsvShape(self._delimiter, self.options.quote_char, width, fill_short=fill)

    # -- types --------------------------------------------------------------------------------

    def _infer(
        self, files: Sequence[Path], dtypes: Mapping[str, pl.DataType], wanted: Sequence[str]
    ) -> dict[str, pl.DataType]:
        """Return the data types of the wanted columns, given or from the first rows there are."""
        for file in files:
            names = self._names[file]
            if names is None:
                continue
            sample = self._sample(file, len(names))
            if not sample:
                continue
            self.has_rows = True
            self._sample_file = file
            values = CsvValues(self._delimiter, self.options)
            return values.infer(b"".join(sample), names, dtypes, wanted)
        return {name: dtypes.get(name, pl.String()) for name in wanted}

    def _sample(self, file: Path, width: int) -> list[bytes]:
        """Return the text of the first rows of a file."""
        parts: list[bytes] = []
        left = self.options.infer_rows
        for block in self._blocks(file, width, CsvTally(file, self.options)):
            stop = min(left, len(block))
            parts.append(block.slice(0, stop))
            left -= stop
            if left == 0:
                break
        return parts

    # -- rows ---------------------------------------------------------------------------------

    def frames(self, file: Path, columns: Sequence[str]) -> Iterator[pl.DataFrame]:
        """Yield the rows of a file in order, the named columns alone, block by block.

        Raises
        ------
        DataError
            If a row is malformed or a value does not fit, naming file, line and column.
        """
        names = self._names[file]
        tally = CsvTally(file, self.options)
        if names is not None:
            values = CsvValues(self._delimiter, self.options)
            dtypes = {name: self.schema.get(name, pl.String()) for name in names}
            for block in self._blocks(file, len(names), tally):
                try:
                    yield values.parse(block.data, dtypes, columns, len(block))
                except pl.exceptions.PolarsError as error:
                    raise self._misfit(file, values, block, dtypes, columns, error) from None
        self.malformed.record(file, tally.count, tally.sample)

    def _blocks(self, file: Path, width: int, tally: CsvTally) -> Iterator[CsvBlock]:
        for block in csv_blocks(
            file, self._shape(width), header=self.options.has_header, on_bad=tally.add
        ):
            kept = block if block.data.isascii() else decodable(block, tally)
            if len(kept):
                yield kept

    def _misfit(
        self,
        file: Path,
        values: CsvValues,
        block: CsvBlock,
        dtypes: Mapping[str, pl.DataType],
        columns: Sequence[str],
        error: Exception,
    ) -> DataError:
        """Return the error that names the first value that does not fit its column."""
        found = values.first_misfit(block, dtypes, columns)
        if found is None:
            first = str(error).partition("\n")[0]
            return line_error(file, int(block.lines[0]), f"the rows from here on: {first}")
        row, name = found
        shape = self._shape(len(dtypes))
        field = shape.fields(block.slice(row, row + 1))[list(dtypes).index(name)]
        value = shape.value(field).decode()
        kind = dtype_name(dtypes[name])
        if name in self._given:
            origin = "as dtypes says"
        else:
            origin = (
                f"the type inferred from the first {self.options.infer_rows:,} rows of "
                f"{self._sample_file}"
            )
        return line_error(
            file,
            int(block.lines[row]),
            f"column '{name}' holds {shown(value)}, which is not {kind}, {origin}. If it is right, "
            f"read the column as another type with dtypes={{'{name}': '{_wider(value)}'}}; if it "
            "stands for null, name it in CsvOptions(null_values=[...])",
        )


def _wider(value: str) -> str:
    """Return a type that a value which did not fit would fit."""
    try:
        float(value)
    except ValueError:
        return "String"
    return "Float64" if any(mark in value.lower() for mark in ".en") else "String"
