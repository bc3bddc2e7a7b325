"""Parses protobuf's text format into a `Message`, without knowing which message it is.

Everything that the format specification (https://protobuf.dev/reference/protobuf/textformat-spec)
allows is read: comments, both kinds of quotes with all escapes, adjacent strings, ``[a, b]`` for
repeated fields, ``<>`` for braces, optional commas and semicolons, and names in brackets.
"""

from __future__ import annotations

import re

from merlinkit.errors import DataError
from merlinkit.pbtxt.message import Field, Message, Scalar

__all__ = ["parse_message"]

MAX_DEPTH = 100
"""Messages within messages; protobuf's own limit."""

_SPACE = re.compile(r"(?:\s+|#[^\n]*)*")
_WORD = re.compile(r"[A-Za-z_]\w*", re.ASCII)
# The name of the message that an Any holds, or of an extension.
_BRACKETED = re.compile(r"\[\s*([\w.\-/%]+)\s*\]", re.ASCII)
_NUMBER = re.compile(
    r"0[xX][0-9a-fA-F]+|(?:\d+\.?\d*|\.\d+)(?:[eE][+\-]?\d+)?[fF]?",
)
_STRING = re.compile(r"""("|')((?:[^\\\n]|\\.)*?)\1""")
_ESCAPE = re.compile(
    r"\\(?:([0-7]{1,3})|[xX]([0-9a-fA-F]{1,2})|u([0-9a-fA-F]{4})|U([0-9a-fA-F]{8})|(.))|[^\\]+",
    re.DOTALL,
)
_SIMPLE_ESCAPES = dict(zip("abfnrtv\\'\"?", b"\a\b\f\n\r\t\v\\'\"?", strict=True))
_CLOSING = {"{": "}", "<": ">"}


def parse_message(text: str, name: str, source: str) -> Message:
    """Return the fields of a text protobuf.

    Parameters
    ----------
    text
        The whole text.
    name
        What to call the outermost message in errors.
    source
        What to call the text in errors, such as its path.

    Raises
    ------
    DataError
        If the text breaks the format, naming source and line.

    Examples
    --------
    >>> message = parse_message('point { x: 1 } tags: ["a", "b"]', "drawing", "example")
    >>> message.messages("point")[0].integer("x"), message.strings("tags")
    (1, ['a', 'b'])
    """
    return _Parser(text, source).parse(name)


class _Parser:
    """Walks through the text once; `position` is the next character, `line` its line."""

    def __init__(self, text: str, source: str) -> None:
        self.text = text
        self.source = source
        self.position = 0
        self.line = 1

    def parse(self, name: str) -> Message:
        message = Message(name, self.source, 1)
        self._space()
        self._fields(message, "", 0)
        return message

    def _fields(self, message: Message, closing: str, depth: int) -> None:
        if depth > MAX_DEPTH:
            raise self._error(f"messages are nested deeper than {MAX_DEPTH}")
        while self._peek() != closing:
            if not self._peek():
                raise self._error(
                    f"the text ends inside '{message.name}', which opens in line {message.line}; "
                    f"expected '{closing}'"
                )
            self._field(message, depth)
            if self._peek() in (",", ";"):
                self._advance(1)
        self._advance(len(closing))

    def _field(self, message: Message, depth: int) -> None:
        line = self.line
        match = _WORD.match(self.text, self.position) or _BRACKETED.match(self.text, self.position)
        if match is None:
            raise self._expected(f"the name of a field of '{message.name}'")
        name = match[1] if match.re is _BRACKETED else match[0]
        self._advance(len(match[0]))
        colon = self._peek() == ":"
        if colon:
            self._advance(1)
        if self._peek() != "[":
            message.fields.append(Field(name, self._value(name, colon, depth), line))
            return
        self._advance(1)
        while self._peek() != "]":
            line = self.line
            message.fields.append(Field(name, self._value(name, colon, depth), line))
            if self._peek() == ",":
                self._advance(1)
            elif self._peek() != "]":
                raise self._expected(f"',' or ']' in the list of {name}")
        self._advance(1)

    def _value(self, name: str, colon: bool, depth: int) -> Scalar | Message:
        opening = self._peek()
        if opening in _CLOSING:
            message = Message(name, self.source, self.line)
            self._advance(1)
            self._fields(message, _CLOSING[opening], depth + 1)
            return message
        if not colon:
            raise self._expected(f"':' or '{{' after {name}")
        if opening in ('"', "'"):
            return self._strings()
        sign = ""
        if opening == "-":
            sign = "-"
            self._advance(1)
        if match := _NUMBER.match(self.text, self.position):
            kind, text = "number", match[0]
        elif match := _WORD.match(self.text, self.position):
            kind, text = "number" if sign else "word", match[0]
        else:
            raise self._expected(f"a value for {name}")
        end = match.end()
        if kind == "number" and _WORD.match(self.text, end):
            raise self._expected(f"a value for {name}")
        self._advance(len(text))
        return Scalar("word" if kind == "word" else "number", sign + text)

    def _strings(self) -> Scalar:
        """Return one string, or several that stand side by side and count as one."""
        data = b""
        while self._peek() in ('"', "'"):
            match = _STRING.match(self.text, self.position)
            if match is None:
                raise self._error("a string is not closed before the end of the line")
            data += self._unescaped(match[2])
            self._advance(len(match[0]))
        return Scalar("string", data.decode("latin-1"))

    def _unescaped(self, text: str) -> bytes:
        out = bytearray()
        surrogate = ""
        for match in _ESCAPE.finditer(text):
            octal, hexadecimal, short, long, simple = match.groups()
            if surrogate and not short:
                break
            if octal or hexadecimal:
                value = int(octal, 8) if octal else int(hexadecimal, 16)
                if value > 255:
                    raise self._error(f"escape \\{octal} is above \\377")
                out.append(value)
            elif short or long:
                # A pair of \u escapes may spell one character, as in JSON.
                code = int(short or long, 16)
                if code > 0x10FFFF:
                    raise self._error(f"escape \\U{long} is above \\U0010ffff")
                pair = (surrogate + chr(code)).encode("utf-16-le", "surrogatepass")
                try:
                    out += pair.decode("utf-16-le").encode()
                    surrogate = ""
                except UnicodeDecodeError:
                    if surrogate or not 0xD800 <= code < 0xDC00:
                        raise self._error(f"escape {match[0]} is half a character") from None
                    surrogate = chr(code)
            elif simple:
                if simple not in _SIMPLE_ESCAPES:
                    raise self._error(f"unknown escape \\{simple} in a string")
                out.append(_SIMPLE_ESCAPES[simple])
            else:
                out += match[0].encode("utf-8", "surrogatepass")
        if surrogate:
            raise self._error(f"escape \\u{ord(surrogate):04x} is half a character")
        return bytes(out)

    # -- position -----------------------------------------------------------------------------

    def _peek(self) -> str:
        return self.text[self.position : self.position + 1]

    def _advance(self, characters: int) -> None:
        self.position += characters
        self._space()

    def _space(self) -> None:
        match = _SPACE.match(self.text, self.position)
        assert match is not None, "the pattern matches the empty string"
        self.line += match[0].count("\n")
        self.position = match.end()

    def _expected(self, what: str) -> DataError:
        rest = self.text[self.position : self.position + 20].split("\n")[0]
        return self._error(f"expected {what}, found {rest!r}" if rest else f"expected {what}")

    def _error(self, text: str) -> DataError:
        return DataError(f"{self.source}, line {self.line}: {text}")
