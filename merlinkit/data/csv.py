"""Csv and tsv files, plain or compressed: no row is lost or changed without a word.

What Polars' own reader does, as of 1.44, and why it is not used alone: missing fields and blank
lines become nulls; with some columns selected, rows with too many fields pass; ``schema=`` renames
the columns of a file whose header has another order; errors name neither file nor line. It reads
gzipped files as a stream: 37 MiB of memory for 700 MiB of text. Here records are cut and counted
first (see `merlinkit.data.csv_records`), and whole blocks of them are then parsed by Polars.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Literal

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
    """Reads csv and tsv files by the names in their headers, in any order.

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
        The columns to read, in order; None reads those of the first file, in its order.
    malformed
        Where dropped rows are noted.
    missing_columns
        ``"error"``, or ``"null"``, which fills columns that a file lacks with nulls; with
        ``columns`` None all columns of all files are read then.

    Raises
    ------
    DataError
        If the files have no columns, one lacks a column that is read, or a header is not usable.
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
        missing_columns: Literal["error", "null"] = "error",
    ) -> None:
        self.options = options
        self.malformed = malformed
        self._delimiter = options.delimiter_for(format)
        headers = CsvHeaders(files, self._delimiter, options)
        self._names = headers.by_file
        self.notes = [f"{file} is empty" for file, names in self._names.items() if names is None]
        every = headers.every
        for name in [*(columns or ()), *dtypes]:
            if name not in every:
                hint = did_you_mean(name, every) or f" There are: {', '.join(every[:20])}."
                raise SchemaError(f"{headers.first}: no column '{name}'.{hint}")
        fill = missing_columns == "null"
        wanted = self._wanted(headers, dtypes, fill) if columns is None else list(columns)
        self._require(headers, wanted, fill)
        self.has_rows = False
        self._given = set(dtypes)
        self._sample_files: dict[str, Path] = {}
        inferred = self._infer(files, dtypes, wanted)
        self.schema = pl.Schema({name: inferred[name] for name in wanted})

    def _shape(self, width: int) -> CsvShape:
        fill = self.options.missing_fields == "null"
        return CsvShape(self._delimiter, self.options.quote_char, width, fill_short=fill)

    # -- columns ------------------------------------------------------------------------------

    def _wanted(
        self, headers: CsvHeaders, dtypes: Mapping[str, pl.DataType], fill: bool
    ) -> list[str]:
        """Return the columns of the first file and those with a given type, or else all."""
        if fill:
            return headers.every
        extra = [name for name in headers.every if name not in headers.names and name not in dtypes]
        for name in extra:
            self.notes.append(
                f"column '{name}' is not read: it is in {_listed(headers.having(name))}, but not "
                f"in {headers.first}"
            )
        return [name for name in headers.every if name not in extra]

    def _require(self, headers: CsvHeaders, wanted: Sequence[str], fill: bool) -> None:
        """Raise if a file lacks columns that are read, or note that they are null there."""
        problems = []
        for name in wanted:
            lacking = headers.lacking(name)
            if lacking and fill:
                self.notes.append(f"column '{name}' is null in {_listed(lacking)}, which lack it")
            elif lacking:
                having = headers.having(name)[0]
                problems.append(f"'{name}' of {having} is missing in {_listed(lacking)}")
        if problems:
            more = "" if len(problems) <= 5 else f"; and {len(problems) - 5} more"
            raise DataError(
                f"the files have different columns: {'; '.join(problems[:5])}{more}. Read them as "
                "null there with missing_columns='null', or leave them out with columns=[...]. If "
                "the files have no header, say CsvOptions(has_header=False, names=[...])"
            )

    # -- types --------------------------------------------------------------------------------

    def _infer(
        self, files: Sequence[Path], dtypes: Mapping[str, pl.DataType], wanted: Sequence[str]
    ) -> dict[str, pl.DataType]:
        """Return the data types of the wanted columns, given or from the first rows there are."""
        inferred: dict[str, pl.DataType] = {}
        values = CsvValues(self._delimiter, self.options)
        for file in files:
            names = self._names[file]
            open_ = [name for name in wanted if name not in inferred]
            if self.has_rows and not open_:
                break
            here = [name for name in open_ if name in (names or ())]
            if names is None or (self.has_rows and not here):
                continue
            sample = b"".join(self._sample(file, len(names)))
            if not sample:
                continue
            self.has_rows = True
            found = values.infer(sample, names, dtypes, here)
            # A column without any value says nothing of its type: other files may.
            found = {n: kind for n, kind in found.items() if n not in values.empty or n in dtypes}
            inferred |= found
            self._sample_files |= dict.fromkeys(here, file)
            for name, value in values.padded.items():
                self.notes.append(
                    f"column '{name}' is read as String: a number would lose the zeros of "
                    f"{shown(value)}; dtypes={{'{name}': 'Int64'}} reads numbers"
                )
        return {name: inferred.get(name, dtypes.get(name, pl.String())) for name in wanted}

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
            here = [name for name in columns if name in dtypes]
            guessed = [n for n in here if n not in self._given and dtypes[n].is_numeric()]
            for block in self._blocks(file, len(names), tally):
                try:
                    frame = values.parse(block.data, dtypes, here, len(block))
                except pl.exceptions.PolarsError as error:
                    raise self._misfit(file, values, block, dtypes, here, error) from None
                self._refuse_padded(file, values, block, names, guessed)
                if len(here) < len(columns):
                    frame = pl.DataFrame(
                        [
                            frame[name] if name in dtypes else self._nulls(name, len(block))
                            for name in columns
                        ]
                    )
                yield frame
        self.malformed.record(file, tally.count, tally.sample)

    def _nulls(self, name: str, count: int) -> pl.Series:
        return pl.Series(name, [], dtype=self.schema[name]).extend_constant(None, count)

    def _refuse_padded(
        self,
        file: Path,
        values: CsvValues,
        block: CsvBlock,
        names: Sequence[str],
        guessed: Sequence[str],
    ) -> None:
        """Raise for a number that starts with zeros, where the sample showed none."""
        for name, (row, value) in values.zero_padded(block.data, names, guessed).items():
            raise line_error(
                file,
                int(block.lines[row]),
                f"column '{name}' holds {shown(value)}, whose leading zeros would be lost as "
                f"{dtype_name(self.schema[name])}, {self._origin(name)}. Read it as text with "
                f"dtypes={{'{name}': 'String'}}, or as numbers with dtypes={{'{name}': 'Int64'}}",
            )

    def _origin(self, name: str) -> str:
        return (
            f"the type inferred from the first {self.options.infer_rows:,} rows of "
            f"{self._sample_files[name]}"
        )

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
        origin = "as dtypes says" if name in self._given else self._origin(name)
        return line_error(
            file,
            int(block.lines[row]),
            f"column '{name}' holds {shown(value)}, which is not {kind}, {origin}. If it is right, "
            f"read the column as another type with dtypes={{'{name}': '{_wider(value)}'}}; if it "
            "stands for null, name it in CsvOptions(null_values=[...])",
        )


def _is_number(value: str) -> bool:
    try:
        float(value)
    except ValueError:
        return False
    return True


def _listed(paths: Sequence[Path], limit: int = 3) -> str:
    named = ", ".join(str(path) for path in paths[:limit])
    return named if len(paths) <= limit else f"{named} and {len(paths) - limit} more"


def _wider(value: str) -> str:
    """Return a type that a value which did not fit would fit."""
    if not _is_number(value):
        return "String"
    return "Float64" if any(mark in value.lower() for mark in ".en") else "String"
