"""What a text protobuf says, before anybody asks which message it is.

The text format can be parsed without knowing the message: what a value means is decided when it
is taken out, by `Message.string`, `Message.integer` and so on. Each value knows its line, so a
value of the wrong kind is reported where it stands.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Literal

from merlinkit.errors import DataError, did_you_mean

__all__ = ["Field", "Message", "Scalar"]


@dataclass(frozen=True, slots=True)
class Scalar:
    """One value that is no message.

    Parameters
    ----------
    kind
        How it is written: in quotes, as a number (with sign; ``-inf`` too) or as a bare word.
    text
        The number or word; a string's bytes, one character each.
    """

    kind: Literal["string", "number", "word"]
    text: str

    def __str__(self) -> str:
        return repr(self.text) if self.kind == "string" else self.text


@dataclass(frozen=True, slots=True)
class Field:
    """One occurrence of a field: ``name: value``."""

    name: str
    value: Scalar | Message
    line: int


@dataclass(slots=True)
class Message:
    """A list of fields in the order of the text.

    Parameters
    ----------
    name
        Name of the field that holds it.
    source
        Name of the file, for messages.
    line
        Where it starts.

    Notes
    -----
    The methods that take one value return None when the field is missing, and raise DataError
    when it is there twice or holds a value of another kind.
    """

    name: str
    source: str
    line: int
    fields: list[Field] = field(default_factory=list)

    def error(self, text: str, line: int | None = None) -> DataError:
        """Return an error that names the file and the line, by default that of the message."""
        return DataError(f"{self.source}, line {line or self.line}: {text}")

    def check_names(self, known: Collection[str]) -> None:
        """Raise DataError at the first field that the message does not have."""
        for each in self.fields:
            if each.name not in known:
                raise self.error(
                    f"'{self.name}' has no field '{each.name}'.{did_you_mean(each.name, known)}",
                    each.line,
                )

    def string(self, name: str) -> str | None:
        """Return the text of a string field."""
        found = self._one(name)
        return None if found is None else self._text(found)

    def strings(self, name: str) -> list[str]:
        """Return the texts of a repeated string field."""
        return [self._text(each) for each in self._all(name)]

    def data(self, name: str) -> bytes | None:
        """Return the bytes of a bytes field."""
        found = self._one(name)
        return None if found is None else self._data(found)

    def integer(self, name: str) -> int | None:
        """Return the value of a 64-bit integer field: decimal, ``0x`` or with a leading 0."""
        found = self._one(name)
        if found is None:
            return None
        text = self._number(found, "a whole number")
        digits = text.removeprefix("-")
        try:
            if digits[:2] in ("0x", "0X"):
                value = int(digits, 16)
            else:
                value = int(digits, 8 if digits.startswith("0") else 10)
        except ValueError:
            raise self._wrong(found, "a whole number") from None
        value = -value if text.startswith("-") else value
        if not -(2**63) <= value < 2**63:
            raise self.error(f"{name} {value} does not fit in 64 bits", found.line)
        return value

    def number(self, name: str) -> float | None:
        """Return the value of a floating point field; ``inf`` and ``nan`` are allowed."""
        found = self._one(name)
        if found is None:
            return None
        text = self._number(found, "a number", words=("inf", "infinity", "nan"))
        try:
            # A number may end in f, as in C; inf and infinity are words.
            return float(text.rstrip("fF") if text.lstrip("-")[0] in "0123456789." else text)
        except ValueError:
            raise self._wrong(found, "a number") from None

    def boolean(self, name: str) -> bool | None:
        """Return the value of a boolean field."""
        found = self._one(name)
        if found is None:
            return None
        values = {"true": True, "True": True, "t": True, "1": True}
        values |= {"false": False, "False": False, "f": False, "0": False}
        match found.value:
            case Scalar("word" | "number", text) if text in values:
                return values[text]
        raise self._wrong(found, "true or false")

    def enum(self, name: str, members: Mapping[str, int]) -> str | None:
        """Return the name of the member that an enum field holds, given by name or number."""
        found = self._one(name)
        if found is None:
            return None
        match found.value:
            case Scalar("word", text) if text in members:
                return text
            case Scalar("number", text):
                for member, value in members.items():
                    if str(value) == text:
                        return member
        raise self._wrong(found, "one of " + ", ".join(members))

    def message(self, name: str) -> Message | None:
        """Return the value of a message field."""
        found = self._one(name)
        return None if found is None else self._message(found)

    def messages(self, name: str) -> list[Message]:
        """Return the values of a repeated message field."""
        return [self._message(each) for each in self._all(name)]

    # -- one occurrence -----------------------------------------------------------------------

    def _all(self, name: str) -> Iterator[Field]:
        return (each for each in self.fields if each.name == name)

    def _one(self, name: str) -> Field | None:
        first: Field | None = None
        for each in self._all(name):
            if first is not None:
                raise self.error(
                    f"'{self.name}' has a second {name}; the first is in line {first.line}",
                    each.line,
                )
            first = each
        return first

    def _wrong(self, found: Field, expected: str) -> DataError:
        value = "a message" if isinstance(found.value, Message) else str(found.value)
        return self.error(f"{found.name} is {value}, expected {expected}", found.line)

    def _number(self, found: Field, expected: str, words: Collection[str] = ()) -> str:
        match found.value:
            case Scalar("number", text):
                return text
            case Scalar("word", text) if text.lower() in words:
                return text
        raise self._wrong(found, expected)

    def _data(self, found: Field) -> bytes:
        match found.value:
            case Scalar("string", text):
                return text.encode("latin-1")
        raise self._wrong(found, "a string in quotes")

    def _text(self, found: Field) -> str:
        try:
            return self._data(found).decode("utf-8")
        except UnicodeDecodeError as error:
            raise self.error(f"{found.name} is not valid UTF-8: {error}", found.line) from None

    def _message(self, found: Field) -> Message:
        if isinstance(found.value, Message):
            return found.value
        raise self._wrong(found, "a message in braces")
