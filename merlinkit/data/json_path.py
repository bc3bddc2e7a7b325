"""Paths of keys into nested JSON objects, as in ``$.user.address.city``."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, cast

import polars as pl

from merlinkit.errors import ParameterError

__all__ = ["JsonPath", "nested_schema", "parse_fields"]

_STEP = re.compile(r"""\.?([^.\[\]"'*$]+)|\[(?:"([^"]+)"|'([^']+)')\]""")


@dataclass(frozen=True)
class JsonPath:
    """The keys from an object of a line to a value within it.

    Parameters
    ----------
    keys
        One or more keys, the outermost first.
    """

    keys: tuple[str, ...]

    @classmethod
    def parse(cls, column: str, text: object) -> JsonPath:
        """Return the path that a text stands for.

        Parameters
        ----------
        column
            The column it is for, for messages.
        text
            Keys with dots between them; ``$.`` before them may be left out. A key that holds a
            dot or a bracket stands in brackets and quotes: ``$.user["home.city"]``.

        Raises
        ------
        ParameterError
            If it is no such path.

        Examples
        --------
        >>> JsonPath.parse("city", '$.user["home.town"].city').keys
        ('user', 'home.town', 'city')
        """
        keys: list[str] = []
        if isinstance(text, str):
            rest = text.removeprefix("$")
            while rest and (found := _STEP.match(rest)):
                keys.append(next(filter(None, found.groups())))
                rest = rest[found.end() :]
            if keys and not rest:
                return cls(tuple(keys))
        raise ParameterError(
            f"fields['{column}'] is {text!r}: keys of nested objects were expected, as in "
            "'$.user.address.city', a key with a dot in it as in '$.user[\"home.city\"]'. Elements "
            "of lists have no path"
        )

    def dtype_in(self, schema: Mapping[str, pl.DataType]) -> pl.DataType | None:
        """Return the data type at the end of the path, None if a key of it is not there."""
        level: Mapping[str, pl.DataType] = schema
        found: pl.DataType | None = None
        for key in self.keys:
            found = level.get(key)
            if found is None:
                return None
            inner = found.fields if isinstance(found, pl.Struct) else []
            level = {field.name: cast(pl.DataType, field.dtype) for field in inner}
        return found

    def value_in(self, line: Any) -> Any:
        """Return the value at the end of the path in a line, None if there is none."""
        for key in self.keys:
            line = line.get(key) if isinstance(line, dict) else None
        return line

    def blocked_in(self, line: Any) -> tuple[JsonPath, Any] | None:
        """Return the first part of the path that ends in no object or null, and its value."""
        for depth, key in enumerate(self.keys[:-1], start=1):
            line = line.get(key)
            if line is None:
                return None
            if not isinstance(line, dict):
                return JsonPath(self.keys[:depth]), line
        return None

    def expr(self) -> pl.Expr:
        """Return the value as an expression over the outermost keys."""
        found = pl.col(self.keys[0])
        for key in self.keys[1:]:
            found = found.struct.field(key)
        return found

    def __str__(self) -> str:
        return "$." + ".".join(self.keys)


def parse_fields(fields: Mapping[str, str] | None) -> dict[str, JsonPath]:
    """Return the path of each column that has one.

    Raises
    ------
    ParameterError
        If one is no path, or leads through the end of another.
    """
    if fields is not None and not isinstance(fields, Mapping):
        raise ParameterError(
            f"fields is {fields!r}: paths by column were expected, as in "
            "{'city': '$.user.address.city'}"
        )
    paths = {name: JsonPath.parse(name, text) for name, text in (fields or {}).items()}
    for name, path in paths.items():
        for other, longer in paths.items():
            if len(longer.keys) > len(path.keys) and longer.keys[: len(path.keys)] == path.keys:
                raise ParameterError(
                    f"fields['{other}'] goes through {path}, which fields['{name}'] reads as a "
                    "whole; leave one of them out"
                )
    return paths


def nested_schema(paths: Mapping[str, JsonPath], dtypes: Mapping[str, pl.DataType]) -> pl.Schema:
    """Return the data types of the outermost keys that hold these columns and no others."""
    return pl.Schema(_fields([(path.keys, dtypes[name]) for name, path in paths.items()]))


def _fields(
    ends: Sequence[tuple[tuple[str, ...], pl.DataType]],
) -> dict[str, pl.DataType]:
    inner: dict[str, list[tuple[tuple[str, ...], pl.DataType]]] = {}
    for keys, dtype in ends:
        inner.setdefault(keys[0], []).append((keys[1:], dtype))
    return {
        key: found[0][1] if not found[0][0] else pl.Struct(_fields(found))
        for key, found in inner.items()
    }
