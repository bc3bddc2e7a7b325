"""How csv and tsv files are written, and what to do with rows that do not fit."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from merlinkit.errors import ParameterError, did_you_mean

__all__ = ["CsvOptions"]


@dataclass(frozen=True)
class CsvOptions:
    r"""How csv and tsv files are read.

    Parameters
    ----------
    delimiter
        One character between fields. None takes ``,`` for csv and a tab for tsv.
    quote_char
        The character around fields that hold delimiters or line ends, doubled within them. None
        if quotes are ordinary text, as in many tsv logs. A quote in the middle of a field that
        does not start with one is ordinary text too.
    has_header
        Whether the first line of each file names the columns.
    names
        Names of the columns, in the order of the file. They replace those of a header. Files
        without a header and without names have ``column_1``, ``column_2``, ….
    null_values
        Texts that stand for null, quoted or not, besides the empty field. A quoted empty field is
        an empty string in a String column and null in others.
    parse_dates
        Whether columns whose first rows look like dates or time stamps become Date or Datetime.
        They are String otherwise; `dtypes` of the data set can name single columns.
    infer_rows
        Types are inferred from so many rows of the first file that has any.
    on_malformed
        What to do with a row that has too many or too few fields, text behind a closing quote, a
        quote that is never closed, or bytes that are not UTF-8: ``"error"``, or ``"skip"``,
        which drops such rows, counts them and keeps a few to show (`Dataset.malformed`). A value
        that does not fit its column's type is always an error.
    missing_fields
        ``"error"`` makes a row with too few fields malformed, ``"null"`` fills it with nulls.

    Raises
    ------
    ParameterError
        If a value is out of range.

    Examples
    --------
    >>> CsvOptions(delimiter="|", null_values=["NA", "\\N"]).null_values
    ('NA', '\\N')
    >>> CsvOptions(on_malformed="ignore")
    Traceback (most recent call last):
        ...
    merlinkit.errors.ParameterError: on_malformed 'ignore': expected 'error' or 'skip'.
    """

    delimiter: str | None = None
    quote_char: str | None = '"'
    has_header: bool = True
    names: Sequence[str] | None = None
    null_values: Sequence[str] = ()
    parse_dates: bool = False
    infer_rows: int = 10_000
    on_malformed: Literal["error", "skip"] = "error"
    missing_fields: Literal["error", "null"] = "error"

    def __post_init__(self) -> None:
        set_ = object.__setattr__
        if isinstance(self.null_values, str):
            set_(self, "null_values", (self.null_values,))
        set_(self, "null_values", tuple(self.null_values))
        if self.names is not None:
            if isinstance(self.names, str):
                raise ParameterError(f"names '{self.names}': expected a list of column names")
            set_(self, "names", tuple(self.names))
            self._check_names()
        for field in ("delimiter", "quote_char"):
            self._check_character(field)
        if self.quote_char is not None and self.quote_char == self.delimiter:
            raise ParameterError(f"delimiter and quote_char are both {self.delimiter!r}")
        if self.infer_rows < 1:
            raise ParameterError(f"infer_rows {self.infer_rows}: expected 1 or more")
        for field, known in (
            ("on_malformed", ("error", "skip")),
            ("missing_fields", ("error", "null")),
        ):
            value = getattr(self, field)
            if value not in known:
                raise ParameterError(
                    f"{field} '{value}': expected '{known[0]}' or '{known[1]}'."
                    f"{did_you_mean(str(value), known)}"
                )

    def _check_character(self, field: str) -> None:
        value = getattr(self, field)
        if value is None:
            return
        if len(value) != 1 or not value.isascii() or value in "\r\n":
            raise ParameterError(
                f"{field} {value!r}: expected one ASCII character that is no line end"
            )

    def _check_names(self) -> None:
        assert self.names is not None
        if not self.names:
            raise ParameterError("names is empty: expected one name for each column")
        repeated = sorted({name for name in self.names if self.names.count(name) > 1})
        if repeated:
            raise ParameterError(f"names holds '{repeated[0]}' more than once")

    def delimiter_for(self, format: str) -> str:
        """Return the delimiter of files of a format, ``csv`` or ``tsv``."""
        return self.delimiter or ("\t" if format == "tsv" else ",")
