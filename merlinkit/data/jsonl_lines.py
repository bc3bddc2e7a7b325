"""Lines of JSON text: cut into blocks, numbered, and checked one by one where need be."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from merlinkit.data.text import line_error, read_blocks, shown
from merlinkit.errors import DataError

__all__ = ["first_lines", "first_not_object", "kind_of", "line_blocks", "numbered_lines"]

MAX_LINE_BYTES = 64 << 20
_BLANK = b" \t\r\n"


def line_blocks(file: Path) -> Iterator[tuple[bytes, int]]:
    """Yield whole lines and the number of the first of them; blocks of blank lines are left out."""
    rest = b""
    line = 1
    for block in read_blocks(file):
        text = rest + block
        stop = text.rfind(b"\n") + 1
        rest = text[stop:]
        if len(rest) > MAX_LINE_BYTES:
            raise line_error(
                file,
                line + text.count(b"\n", 0, stop),
                f"longer than {MAX_LINE_BYTES >> 20} MiB; one JSON object a line was expected",
            )
        data = text[:stop]
        if data.strip(_BLANK):
            yield data, line
        line += data.count(b"\n")


def first_lines(data: bytes, count: int) -> bytes:
    """Return so many lines of a block, or all of it if these are blank."""
    stop = 0
    for _ in range(count):
        found = data.find(b"\n", stop)
        if found < 0:
            return data
        stop = found + 1
    return data[:stop] if data[:stop].strip(_BLANK) else data


def numbered_lines(data: bytes, line: int) -> Iterator[tuple[int, bytes]]:
    """Yield the lines of a block that are not blank, with their numbers."""
    for number, text in enumerate(data.split(b"\n"), start=line):
        if text.strip(_BLANK):
            yield number, text


def first_not_object(file: Path, data: bytes, line: int) -> DataError | None:
    """Return the error about the first line that is not a JSON object in UTF-8, if there is one."""
    for number, text in numbered_lines(data, line):
        try:
            # NaN and Infinity are no JSON, though Python would read them.
            value = json.loads(text.decode(), parse_constant=_refuse_constant)
        except UnicodeDecodeError as error:
            return line_error(
                file,
                number,
                f"not UTF-8, byte 0x{text[error.start]:02x} at offset {error.start} of the line: "
                f"{shown(text)}. Convert the file, as `iconv -f LATIN1 -t UTF-8` does",
            )
        except ValueError as error:
            return line_error(file, number, f"not JSON ({error}): {shown(text)}")
        if not isinstance(value, dict):
            return line_error(
                file, number, f"{kind_of(value)} found, a JSON object was expected: {shown(text)}"
            )
    return None


def _refuse_constant(name: str) -> Any:
    raise ValueError(f"{name} is not a JSON value")


def kind_of(value: Any) -> str:
    """Return what kind of JSON value it is, in words."""
    if isinstance(value, bool):
        return "a boolean"
    for kind, name in (
        (int, "an integer"),
        (float, "a number"),
        (str, "a string"),
        (list, "a list"),
        (dict, "an object"),
    ):
        if isinstance(value, kind):
            return name
    return "null"
