"""What one csv record looks like: delimiter, quotes, number of fields."""

from __future__ import annotations

import re

__all__ = ["CsvShape"]


class CsvShape:
    """How fields are separated and quoted, and how many a record has.

    Parameters
    ----------
    delimiter, quote
        One ASCII character each; a quote of None means that quotes are ordinary text.
    width
        Number of fields of a record; None while it is not known.
    fill_short
        Whether records with too few fields are filled up with empty ones.
    """

    def __init__(
        self, delimiter: str, quote: str | None, width: int | None, *, fill_short: bool = False
    ) -> None:
        self.delimiter = delimiter.encode()
        self.quote = None if quote is None else quote.encode()
        self.width = width
        self.fill_short = fill_short
        d = re.escape(self.delimiter)
        bare = rb"[^" + d + rb"\n]*+"
        if self.quote is None:
            field = bare
            unfinished = bare
        else:
            q = re.escape(self.quote)
            inner = rb"[^" + q + rb"]*+(?:" + q + q + rb"[^" + q + rb"]*+)*+"
            # A quote in the middle of a field that does not start with one is ordinary text.
            field = (
                rb"(?:" + q + inner + q + rb"(?=" + d + rb"|\r?\n)|(?!" + q + rb")" + bare + rb")"
            )
            unfinished = rb"(?:" + q + inner + q + rb"?\r?|(?!" + q + rb")" + bare + rb")"
        self._record = re.compile(field + rb"(?:" + d + field + rb")*+\r?\n")
        self._unfinished = re.compile(rb"(?:" + field + d + rb")*+" + unfinished + rb"\Z")
        self._field = re.compile(rb"(" + field + rb")(?:" + d + rb"|\r?\n)")

    # -- one record ---------------------------------------------------------------------------

    def match(self, text: bytes, start: int) -> int | None:
        """Return the offset behind the record that starts there, None if there is no whole one."""
        found = self._record.match(text, start)
        return None if found is None else found.end()

    def is_unfinished(self, text: bytes, start: int) -> bool:
        """Return whether the text ends within the record, so that more of it may complete it."""
        return self._unfinished.match(text, start) is not None

    def fields(self, record: bytes) -> list[bytes]:
        """Return the fields of a record as they stand, quotes included."""
        return [found.rstrip(b"\r") for found in self._field.findall(record)]

    def value(self, field: bytes) -> bytes:
        """Return what a field says: without its quotes, doubled quotes made single."""
        if self.quote is not None and len(field) > 1 and field.startswith(self.quote):
            return field[1:-1].replace(self.quote * 2, self.quote)
        return field

    def normal(self, record: bytes) -> bytes:
        """Return a record in which every field that holds a quote is quoted."""
        quote = self.quote
        assert quote is not None
        fields = [
            field
            if field.startswith(quote) or quote not in field
            else quote + field.replace(quote, quote * 2) + quote
            for field in self.fields(record)
        ]
        return self.delimiter.join(fields) + b"\n"

    def is_blank(self, record: bytes) -> bool:
        """Return whether a record is an empty line that is no row."""
        return self.width != 1 and record in (b"\n", b"\r\n")

    def problem(self, count: int) -> str | None:
        """Return what is wrong with a record of so many fields, None if nothing is."""
        if self.width is None or count == self.width or (self.fill_short and count < self.width):
            return None
        return f"{count} field{'' if count == 1 else 's'} found, {self.width} expected"
