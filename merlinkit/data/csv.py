"""Csv and tsv files, plain or gzipped: no row is lost or changed without a word.

What Polars' own reader does, as of 1.44, and why it is not used alone: missing fields and blank
lines become nulls; with some columns selected, rows with too many fields pass; ``schema=`` renames
the columns of a file whose header has another order; errors name neither file nor line. It reads
gzipped files as a stream, in little memory, but in one thread. Here records are cut and counted
first (see `merlinkit.data.csv_records`), and whole blocks of them are then parsed by Polars.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import polars as pl

from merlinkit.data.csv_options import CsvOptions
from merlinkit.data.csv_records import BadRecord, CsvBlock, CsvShape, csv_blocks
from merlinkit.data.csv_values import CsvValues
from merlinkit.data.malformed import SAMPLE_SIZE, Malformed, MalformedRow
from merlinkit.data.text import line_error, read_blocks, shown
from merlinkit.dtypes import dtype_name
from merlinkit.errors import DataError, SchemaError, did_you_mean

__all__ = ["CsvReader"]

_HEAD_BYTES = 64 << 10


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
        self.notes: list[str] = []
        self._delimiter = options.delimiter_for(format)
        self._names = self._read_names(files)
        first = next((file for file in files if self._names[file] is not None), None)
        if first is None:
            what = "is empty" if len(files) == 1 else f"and {len(files) - 1} more files are empty"
            raise DataError(f"{files[0]} {what}: 0 bytes, rows were expected")
        names = self._names[first]
        assert names is not None
        self._require_same(first, names)
        wanted = list(names if columns is None else columns)
        for name in [*wanted, *dtypes]:
            if name not in names:
                hint = did_you_mean(name, names) or f" There are: {', '.join(names[:20])}."
                raise SchemaError(f"{first}: no column '{name}'.{hint}")
        self.has_rows = False
        inferred = self._infer(files, dtypes, wanted)
        self._given = set(dtypes)
        self.schema = pl.Schema({name: inferred[name] for name in wanted})

    # -- headers ------------------------------------------------------------------------------

    def _shape(self, width: int | None) -> CsvShape:
        return CsvShape(
            self._delimiter,
            self.options.quote_char,
            width,
            fill_short=self.options.missing_fields == "null",
        )

    def _read_names(self, files: Sequence[Path]) -> dict[Path, list[str] | None]:
        """Return the column names of each file in its own order, None for an empty file."""
        names: dict[Path, list[str] | None] = {}
        for file in files:
            first = self._first_record(file)
            names[file] = None if first is None else self._names_of(file, *first)
            if first is None and len(files) > 1:
                self.notes.append(f"{file} is empty")
        return names

    def _first_record(self, file: Path) -> tuple[list[str], int] | None:
        """Return the values of the first record that is not blank, and its line."""
        shape = self._shape(None)
        text = b""
        for block in read_blocks(file, _HEAD_BYTES):
            text += block
            start = 0
            while (end := shape.match(text, start)) is not None:
                record = text[start:end]
                if not shape.is_blank(record):
                    line = text.count(b"\n", 0, start) + 1
                    return self._values_of(file, shape, record, line), line
                start = end
            if len(text) > 1 << 20:
                break
        if text.strip(b"\r\n"):
            start = len(text) - len(text.lstrip(b"\r\n"))
            line = text.count(b"\n", 0, start) + 1
            first = text[start:].partition(b"\n")[0]
            raise line_error(
                file,
                line,
                f"the first row cannot be read, its quotes do not match: {shown(first)}. "
                "If quotes are ordinary text, say CsvOptions(quote_char=None)",
            )
        return None

    def _values_of(self, file: Path, shape: CsvShape, record: bytes, line: int) -> list[str]:
        fields = shape.fields(record)
        if any(b"\r" in field and shape.value(field) == field for field in fields):
            raise DataError(
                f"{file}: lines end in a carriage return alone; convert them, as "
                "`tr '\\r' '\\n'` does"
            )
        try:
            return [shape.value(field).decode() for field in fields]
        except UnicodeDecodeError as error:
            raise line_error(file, line, _not_utf8(record, error)) from None

    def _names_of(self, file: Path, values: list[str], line: int) -> list[str]:
        options = self.options
        if options.names is not None:
            if len(options.names) != len(values):
                raise line_error(
                    file,
                    line,
                    f"{len(values)} fields found, but CsvOptions has {len(options.names)} names",
                )
            return list(options.names)
        if not options.has_header:
            return [f"column_{index + 1}" for index in range(len(values))]
        problems = []
        blank = [index + 1 for index, name in enumerate(values) if not name.strip()]
        if blank:
            problems.append(f"column {blank[0]} has no name")
        repeated = sorted({name for name in values if name.strip() and values.count(name) > 1})
        if repeated:
            problems.append(f"'{repeated[0]}' is there more than once")
        if problems:
            raise line_error(
                file,
                line,
                f"the header is not usable: {' and '.join(problems)}. Give the names with "
                "CsvOptions(names=[...]), and has_header=False if this is no header",
            )
        return values

    def _require_same(self, first: Path, names: list[str]) -> None:
        problems = []
        for file, others in self._names.items():
            if others is None or others == names:
                continue
            missing = [name for name in names if name not in others]
            extra = [name for name in others if name not in names]
            if missing:
                problems.append(f"{file} has no {_quoted(missing)}")
            if extra:
                problems.append(f"{file} has {_quoted(extra)}, which {first} has not")
        if problems:
            more = "" if len(problems) <= 5 else f"; and {len(problems) - 5} more"
            raise DataError(
                f"the files have different columns: {'; '.join(problems[:5])}{more}. If the files "
                "have no header, say CsvOptions(has_header=False, names=[...])"
            )

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
        for block in self._blocks(file, width, _Tally(file, self.options)):
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
        tally = _Tally(file, self.options)
        if names is not None:
            values = CsvValues(self._delimiter, self.options)
            dtypes = {name: self.schema.get(name, pl.String()) for name in names}
            for block in self._blocks(file, len(names), tally):
                try:
                    yield values.parse(block.data, dtypes, columns, len(block))
                except pl.exceptions.PolarsError as error:
                    raise self._misfit(file, values, block, dtypes, columns, error) from None
        self.malformed.record(file, tally.count, tally.sample)

    def _blocks(self, file: Path, width: int, tally: _Tally) -> Iterator[CsvBlock]:
        for block in csv_blocks(
            file, self._shape(width), header=self.options.has_header, on_bad=tally.add
        ):
            decodable = block if block.data.isascii() else _decodable(block, tally)
            if len(decodable):
                yield decodable

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


class _Tally:
    """Raises for the first malformed row of a file, or counts them, as the options say."""

    def __init__(self, file: Path, options: CsvOptions) -> None:
        self.file = file
        self.skip = options.on_malformed == "skip"
        self.quotes = options.quote_char is not None
        self.count = 0
        self.sample: list[MalformedRow] = []

    def add(self, bad: BadRecord) -> None:
        """Take note of a record that cannot become a row."""
        if not self.skip:
            fix = "Correct it, or drop such rows with CsvOptions(on_malformed='skip')"
            if "quote" in bad.reason:
                fix += "; if quotes are ordinary text, CsvOptions(quote_char=None)"
            elif bad.reason.startswith("not UTF-8"):
                fix = f"Convert the file, as `iconv -f LATIN1 -t UTF-8` does. {fix}"
            elif bad.reason[0].isdigit() and "field" in bad.reason:
                fix += "; CsvOptions(missing_fields='null') fills rows that are too short"
            raise line_error(self.file, bad.line, f"{bad.reason}: {shown(bad.text)}. {fix}")
        self.count += 1
        if len(self.sample) < SAMPLE_SIZE:
            self.sample.append(MalformedRow(self.file, bad.line, shown(bad.text), bad.reason))


def _decodable(block: CsvBlock, tally: _Tally) -> CsvBlock:
    """Return the block without the records that are not UTF-8, which are reported."""
    try:
        block.data.decode()
    except UnicodeDecodeError:
        pass
    else:
        return block
    kept: list[int] = []
    for row in range(len(block)):
        record = block.slice(row, row + 1)
        try:
            record.decode()
        except UnicodeDecodeError as error:
            line = int(block.lines[row]) + record.count(b"\n", 0, error.start)
            tally.add(BadRecord(line, record, _not_utf8(record, error)))
        else:
            kept.append(row)
    return block.take(kept)


def _not_utf8(record: bytes, error: UnicodeDecodeError) -> str:
    return f"not UTF-8, byte 0x{record[error.start]:02x} at offset {error.start} of the row"


def _quoted(names: Sequence[str], limit: int = 5) -> str:
    listed = ", ".join(f"'{name}'" for name in names[:limit])
    return listed if len(names) <= limit else f"{listed} and {len(names) - limit} more"


def _wider(value: str) -> str:
    """Return a type that a value which did not fit would fit."""
    try:
        float(value)
    except ValueError:
        return "String"
    return "Float64" if any(mark in value.lower() for mark in ".en") else "String"
