"""Cutting csv text into records and checking the shape of each one.

Polars' csv reader fills missing fields with nulls, makes a row of nulls of a blank line, and,
where only some columns are read, does not notice rows with too many fields. So rows are counted
here first, field by field: with whole-array arithmetic as long as quotes are where they should be,
and with a regular expression for the blocks where they are not.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt

from merlinkit.data.csv_shape import CsvShape
from merlinkit.data.text import read_blocks

__all__ = ["BadRecord", "CsvBlock", "csv_blocks"]

MAX_RECORD_BYTES = 16 << 20
"""A record that is longer has a quote that is never closed."""

_NEWLINE = 10
_RETURN = 13

Offsets = npt.NDArray[np.int64]


@dataclass(frozen=True)
class BadRecord:
    """A record that cannot become a row."""

    line: int
    text: bytes
    reason: str


OnBad = Callable[[BadRecord], None]


@dataclass(frozen=True)
class CsvBlock:
    """Some whole records of a file, each of the right number of fields.

    Parameters
    ----------
    data
        Their text.
    bounds
        Offsets in ``data`` where they start, and its length: ``[records + 1]``.
    lines
        The line of the file on which each one starts, counted from 1.
    """

    data: bytes
    bounds: Offsets
    lines: Offsets

    def __len__(self) -> int:
        return len(self.lines)

    def slice(self, start: int, stop: int) -> bytes:
        """Return the text of some of the records."""
        return self.data[self.bounds[start] : self.bounds[stop]]

    def take(self, rows: Sequence[int]) -> CsvBlock:
        """Return a block of some of the records."""
        records = [self.slice(row, row + 1) for row in rows]
        lengths = np.array([0, *map(len, records)], dtype=np.int64)
        return CsvBlock(b"".join(records), np.cumsum(lengths), self.lines[list(rows)])


def csv_blocks(path: Path, shape: CsvShape, *, header: bool, on_bad: OnBad) -> Iterator[CsvBlock]:
    """Yield the records of a file in blocks, in order, in bounded memory.

    Parameters
    ----------
    path
        The file.
    shape
        How its records look.
    header
        Whether the first record that is not blank is a header, which is left out.
    on_bad
        Called with each record that has another number of fields or that cannot be told apart;
        it may raise. Such records are not in the blocks.

    Notes
    -----
    Blank lines are left out, but for files of one column, where they are null values. A quoted
    field may hold line ends.
    """
    rest = b""
    line = 1
    for block, last in _with_last(read_blocks(path)):
        text = rest + block
        start = 0
        if header:
            end = _header_end(text, shape)
            if end is None:
                rest = text
                continue
            line += text.count(b"\n", 0, end)
            start, header = end, False
        cut = _Cutter(shape, text, start, line, on_bad)
        used = cut.regular(last)
        if used is None:
            used = cut.irregular(last)
        line += text.count(b"\n", start, used)
        rest = text[used:]
        if cut.block is not None and len(cut.block):
            yield cut.block


def _with_last(blocks: Iterator[bytes]) -> Iterator[tuple[bytes, bool]]:
    waiting = next(blocks, None)
    for block in blocks:
        assert waiting is not None
        yield waiting, False
        waiting = block
    if waiting is not None:
        yield waiting, True


def _header_end(text: bytes, shape: CsvShape) -> int | None:
    start = 0
    while (end := shape.match(text, start)) is not None:
        if text[start:end] not in (b"\n", b"\r\n"):
            return end
        start = end
    return None


class _Cutter:
    """Cuts one piece of text; the result is in `block`."""

    def __init__(self, shape: CsvShape, text: bytes, start: int, line: int, on_bad: OnBad) -> None:
        self.shape = shape
        self.text = text
        self.start = start
        self.line = line
        self.on_bad = on_bad
        self.block: CsvBlock | None = None

    def regular(self, last: bool) -> int | None:
        """Cut with array arithmetic; return how far, or None if quotes stand in odd places."""
        shape = self.shape
        text = memoryview(self.text)[self.start :]
        codes = np.frombuffer(text, dtype=np.uint8)
        delimiter = shape.delimiter[0]
        special = (codes == _NEWLINE) | (codes == delimiter)
        quoted = shape.quote is not None and shape.quote in self.text
        if quoted:
            assert shape.quote is not None
            special |= codes == shape.quote[0]
        places = np.flatnonzero(special)
        kinds = codes[places]
        newlines = places[kinds == _NEWLINE]
        if quoted:
            assert shape.quote is not None
            is_quote = kinds == shape.quote[0]
            inside = np.bitwise_xor.accumulate(is_quote)
            outside = ~(inside | is_quote)
            quotes = places[is_quote]
            places, kinds = places[outside], kinds[outside]
        ends_at = np.flatnonzero(kinds == _NEWLINE)
        if quoted and last and len(quotes) % 2:
            return None
        if not len(ends_at):
            return None if len(text) > MAX_RECORD_BYTES else self.start
        stop = int(places[ends_at[-1]]) + 1
        if quoted and not _quotes_in_place(codes, quotes[quotes < stop], delimiter):
            return None
        counts = np.diff(ends_at, prepend=-1)
        bounds = np.concatenate([[0], places[ends_at] + 1]).astype(np.int64)
        lines = self.line + np.searchsorted(newlines, bounds[:-1]).astype(np.int64)
        self._keep(codes[:stop], bounds, lines, counts)
        return self.start + stop

    def _keep(
        self, codes: npt.NDArray[np.uint8], bounds: Offsets, lines: Offsets, counts: Offsets
    ) -> None:
        """Report the bad records, fill short ones, and hold the others as `block`."""
        shape = self.shape
        lengths = np.diff(bounds)
        keep = np.ones(len(lengths), dtype=bool)
        if shape.width != 1:
            keep &= (lengths > 1) & ~((lengths == 2) & (codes[bounds[:-1]] == _RETURN))
        short: list[int] = []
        if shape.width is not None:
            for index in np.flatnonzero(keep & (counts != shape.width)):
                record = codes[bounds[index] : bounds[index + 1]].tobytes()
                reason = shape.problem(int(counts[index]))
                if reason is None:
                    short.append(int(index))
                else:
                    keep[index] = False
                    self.on_bad(BadRecord(int(lines[index]), record, reason))
        if short:
            assert shape.width is not None
            # Empty fields go in front of the line end, which may be two bytes.
            at = bounds[1:][short] - 1
            at = at - ((codes[at - 1] == _RETURN) & (lengths[short] > 1))
            missing = shape.width - counts[short]
            codes = np.insert(codes, np.repeat(at, missing), shape.delimiter[0])
            lengths = lengths.copy()
            lengths[short] += missing
        if not keep.all():
            codes = codes[np.repeat(keep, lengths)]
            lengths, lines = lengths[keep], lines[keep]
        bounds = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
        self.block = CsvBlock(codes.tobytes(), bounds, lines)

    def irregular(self, last: bool) -> int:
        """Cut record by record; return how far. Nothing follows the ``last`` text."""
        shape, text = self.shape, self.text
        records: list[bytes] = []
        lines: list[int] = []
        at, line = self.start, self.line
        while at < len(text):
            end = shape.match(text, at)
            if end is None:
                unclosed = shape.is_unfinished(text, at)
                newline = text.find(b"\n", at)
                too_long = len(text) - at > MAX_RECORD_BYTES
                if newline < 0 or (unclosed and not last and not too_long):
                    break
                reason = (
                    "a quote is opened and never closed"
                    if unclosed
                    else "text follows a closing quote"
                )
                self.on_bad(BadRecord(line, text[at : newline + 1], reason))
                line += 1
                at = newline + 1
                continue
            record = text[at:end]
            if not shape.is_blank(record):
                self._take(record, line, records, lines)
            line += record.count(b"\n")
            at = end
        lengths = np.array([0, *map(len, records)], dtype=np.int64)
        self.block = CsvBlock(
            b"".join(records), np.cumsum(lengths), np.array(lines, dtype=np.int64)
        )
        return at

    def _take(self, record: bytes, line: int, records: list[bytes], lines: list[int]) -> None:
        shape = self.shape
        count = len(shape.fields(record))
        reason = shape.problem(count)
        if reason is not None:
            self.on_bad(BadRecord(line, record, reason))
            return
        if shape.quote is not None and shape.quote in record:
            record = shape.normal(record)
        if shape.width is not None and count < shape.width:
            ending = b"\r\n" if record.endswith(b"\r\n") else b"\n"
            record = record[: -len(ending)] + shape.delimiter * (shape.width - count) + ending
        records.append(record)
        lines.append(line)


def _quotes_in_place(
    codes: npt.NDArray[np.uint8], quotes: npt.NDArray[np.int64], delimiter: int
) -> bool:
    """Return whether each quoted field starts and ends where a field does."""
    if not len(quotes):
        return True
    opening, closing = quotes[0::2], quotes[1::2]
    doubled = opening[1:] == closing[:-1] + 1
    before = codes[np.maximum(opening - 1, 0)]
    starts = (opening == 0) | (before == delimiter) | (before == _NEWLINE)
    starts[1:] |= doubled
    # Every record ends with a line end, so that a quote is never the last byte.
    after = codes[closing + 1]
    next_after = codes[np.minimum(closing + 2, len(codes) - 1)]
    stops = (after == delimiter) | (after == _NEWLINE)
    stops |= (after == _RETURN) & (next_after == _NEWLINE)
    stops[:-1] |= doubled
    return bool(starts.all() and stops.all())
