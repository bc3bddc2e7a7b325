"""The columns of csv files: from their headers, or from the options."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from merlinkit.data.csv_options import CsvOptions
from merlinkit.data.csv_shape import CsvShape
from merlinkit.data.csv_tally import not_utf8
from merlinkit.data.text import line_error, read_blocks, shown
from merlinkit.errors import DataError

__all__ = ["CsvHeaders"]

_HEAD_BYTES = 64 << 10
_LONGEST_HEADER = 1 << 20


class CsvHeaders:
    """The column names of some files, read from the start of each.

    Parameters
    ----------
    files
        The files, sorted.
    delimiter
        The character between fields.
    options
        How the files are written.

    Attributes
    ----------
    by_file : dict of Path to list of str
        The names in the order of each file; None for an empty file.
    first : Path
        The first file that is not empty.
    names : list of str
        Its column names.

    Raises
    ------
    DataError
        If a header is not usable, or all files are empty.
    """

    def __init__(self, files: Sequence[Path], delimiter: str, options: CsvOptions) -> None:
        self.options = options
        self._shape = CsvShape(delimiter, options.quote_char, None)
        self.by_file: dict[Path, list[str] | None] = {}
        for file in files:
            record = self._first_record(file)
            self.by_file[file] = None if record is None else self._names_of(file, *record)
        for file, names in self.by_file.items():
            if names is not None:
                self.first, self.names = file, names
                break
        else:
            what = "is empty" if len(files) == 1 else f"and {len(files) - 1} more files are empty"
            raise DataError(f"{files[0]} {what}: rows were expected")

    @property
    def every(self) -> list[str]:
        """The column names of all files, those of the first one first."""
        return list(dict.fromkeys(name for names in self.by_file.values() for name in names or ()))

    def lacking(self, name: str) -> list[Path]:
        """Return the files, but for empty ones, that have no column of this name."""
        return [file for file, names in self.by_file.items() if names and name not in names]

    def having(self, name: str) -> list[Path]:
        """Return the files that have a column of this name."""
        return [file for file, names in self.by_file.items() if names and name in names]

    def _first_record(self, file: Path) -> tuple[list[str], int] | None:
        """Return the values of the first record that is not blank, and its line."""
        shape = self._shape
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
            if len(text) > _LONGEST_HEADER:
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
            raise line_error(file, line, not_utf8(record, error)) from None

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
        if _looks_like_data(values):
            raise line_error(
                file,
                line,
                f"the header would be {_quoted(values)}: numbers, as in a row of data. If there is "
                "no header, say CsvOptions(has_header=False, names=[...]); if this is one, "
                "CsvOptions(names=[...]) alone",
            )
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


def _looks_like_data(values: Sequence[str]) -> bool:
    """Return whether a header holds numbers alone, and not those that count columns."""
    try:
        numbers = [float(value) for value in values]
    except ValueError:
        return False
    counting = range(len(numbers))
    return numbers not in (list(counting), [number + 1 for number in counting])


def _quoted(names: Sequence[str], limit: int = 5) -> str:
    listed = ", ".join(f"'{name}'" for name in names[:limit])
    return listed if len(names) <= limit else f"{listed} and {len(names) - limit} more"
