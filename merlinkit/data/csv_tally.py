"""What becomes of csv records that cannot be rows: an error, or a count and a sample."""

from __future__ import annotations

from pathlib import Path

from merlinkit.data.csv_options import CsvOptions
from merlinkit.data.csv_records import BadRecord, CsvBlock
from merlinkit.data.malformed import SAMPLE_SIZE, MalformedRow
from merlinkit.data.text import line_error, shown

__all__ = ["CsvTally", "decodable", "not_utf8"]


class CsvTally:
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


def decodable(block: CsvBlock, tally: CsvTally) -> CsvBlock:
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
            tally.add(BadRecord(line, record, not_utf8(record, error)))
        else:
            kept.append(row)
    return block.take(kept)


def not_utf8(record: bytes, error: UnicodeDecodeError) -> str:
    """Return what is wrong with a record that is not UTF-8."""
    return f"not UTF-8, byte 0x{record[error.start]:02x} at offset {error.start} of the row"
