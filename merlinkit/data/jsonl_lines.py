"""Lines of JSON text: cut into blocks, numbered, and checked one by one where need be."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import polars as pl

from merlinkit.data.text import line_error, read_blocks, shown
from merlinkit.errors import DataError

__all__ = [
    "first_ambiguous",
    "first_lines",
    "first_not_object",
    "kind_of",
    "line_blocks",
    "numbered_lines",
]

MAX_LINE_BYTES = 64 << 20
MAX_DEPTH = 64
"""Lists and objects within one another; Polars overflows its stack at a few thousand."""

_BLANK = b" \t\r\n"
_SURROGATE = re.compile(rb"\\u[dD][89a-fA-F]")
_BRACKET_OR_STRING = re.compile(rb'"(?:[^"\\]|\\.)*"|[\[\]{}]')
_KEY = r'"(?:[^"\\]|\\.)*"\s*:'
_SPACED_COLON = re.compile(rb'"[ \t\r]+:')


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
            _refuse_deep(file, data, line)
            yield data, line
        line += data.count(b"\n")


def _refuse_deep(file: Path, data: bytes, line: int) -> None:
    lines = data.split(b"\n")
    opened = _decoded(lines).str.count_matches(r"[\[{]")
    for index in (opened > MAX_DEPTH).arg_true():
        depth = 0
        for found in _BRACKET_OR_STRING.finditer(lines[index]):
            depth += {b"[": 1, b"{": 1, b"]": -1, b"}": -1}.get(found.group(), 0)
            if depth > MAX_DEPTH:
                raise line_error(
                    file,
                    line + index,
                    f"lists or objects are more than {MAX_DEPTH} within one another: "
                    f"{shown(lines[index])}. Flatten it",
                )


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


def first_ambiguous(file: Path, data: bytes, line: int) -> DataError | None:
    """Return the error about the first line that is JSON, but does not say one thing.

    Notes
    -----
    Those are a key that an object has twice, of which Polars reads the first and Python the last
    value, and a half of a surrogate pair, which is no character and which Polars makes a zero byte.
    Lines are only parsed here where one may be of these.
    """
    odd: set[int] = set()
    lines = data.split(b"\n")
    if _SURROGATE.search(data):
        odd |= {index for index, text in enumerate(lines) if _SURROGATE.search(text)}
    # Keys of objects within objects count as well, so that this only says where to look.
    keys = _decoded(lines).str.extract_all(_KEY)
    if _SPACED_COLON.search(data):
        keys = keys.list.eval(pl.element().str.strip_chars_end(": \t\r"))
    odd |= set((keys.list.n_unique() < keys.list.len()).arg_true().to_list())
    # A key may be written in more than one way, with its letters escaped.
    if b"\\" in data:
        escaped = keys.list.eval(pl.element().str.contains("\\", literal=True)).list.any()
        odd |= set(escaped.arg_true().to_list())
    for index in sorted(odd):
        text = lines[index]
        try:
            json.loads(text, object_pairs_hook=_require_one_each)
        except RecursionError:
            continue
        except _AmbiguousError as error:
            return line_error(file, line + index, f"{error}: {shown(text)}. Write the line again")
        except ValueError:
            continue  # not JSON at all, which others tell
    return None


def _decoded(lines: Sequence[bytes]) -> pl.Series:
    try:
        return pl.Series(lines, dtype=pl.Binary).cast(pl.String)
    except pl.exceptions.PolarsError:  # some are not UTF-8, which others tell
        return pl.Series([text.decode(errors="replace") for text in lines], dtype=pl.String)


class _AmbiguousError(Exception):
    """A line that does not say one thing."""


def _require_one_each(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for key, value in pairs:
        if key in found:
            raise _AmbiguousError(f"key {shown(key)} is there twice in one object")
        for text in (key, *_texts(value)):
            code = next((letter for letter in text if "\ud800" <= letter <= "\udfff"), None)
            if code is not None:
                raise _AmbiguousError(
                    f"key {shown(ascii(key)[1:-1])} holds \\u{ord(code):04x} alone, half of a "
                    "character"
                )
        found[key] = value
    return found


def _texts(value: Any) -> Iterator[str]:
    """Yield a value, or what lists in it hold, if it is text; objects were looked at before."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, list):
        for item in value:
            yield from _texts(item)


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
