"""Writes protobuf's text format, the way protobuf itself lays it out."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeAlias

__all__ = ["Fields", "Word", "print_fields"]


@dataclass(frozen=True, slots=True)
class Word:
    """A value that is written without quotes: the name of an enum's member."""

    text: str


Fields: TypeAlias = "Sequence[tuple[str, str | bytes | bool | int | float | Word | Fields]]"
"""The fields of a message, in order; a message is a sequence of fields itself."""

# Protobuf writes these with letters and every other byte that is not printable ASCII in octal.
_ESCAPES = {
    **{byte: f"\\{byte:03o}" for byte in (*range(0x20), *range(0x7F, 0x100))},
    **{ord(char): f"\\{letter}" for char, letter in zip("\n\r\t\"'\\", "nrt\"'\\", strict=True)},
}


def print_fields(fields: Fields, indent: str = "") -> str:
    r"""Return the text of a message.

    Parameters
    ----------
    fields
        Its fields.
    indent
        What each line starts with.

    Raises
    ------
    UnicodeEncodeError
        If a string holds half of a surrogate pair, which has no UTF-8 form.

    Examples
    --------
    >>> print(print_fields([("name", "caf\u00e9"), ("type", Word("INT")), ("top", [("x", 3)])]))
    name: "caf\303\251"
    type: INT
    top {
      x: 3
    }
    """
    lines: list[str] = []
    for name, value in fields:
        if isinstance(value, str | bytes):
            lines.append(f"{indent}{name}: {_quoted(value)}\n")
        elif isinstance(value, Word):
            lines.append(f"{indent}{name}: {value.text}\n")
        elif isinstance(value, bool):
            lines.append(f"{indent}{name}: {str(value).lower()}\n")
        elif isinstance(value, int | float):
            lines.append(f"{indent}{name}: {value!r}\n")
        else:
            inner = print_fields(value, indent + "  ")
            lines.append(f"{indent}{name} {{\n{inner}{indent}}}\n")
    return "".join(lines)


def _quoted(value: str | bytes) -> str:
    data = value.encode() if isinstance(value, str) else value
    return '"' + data.decode("latin-1").translate(_ESCAPES) + '"'
