"""Checks that what a parameter holds survives in JSON as it is."""

from __future__ import annotations

import math
from collections.abc import Mapping
from numbers import Integral, Real

from merlinkit.errors import ParameterError
from merlinkit.schema import JSONValue

__all__ = ["json_object"]

_DEEPEST = 32
_LARGEST = 2**64


def json_object(operator: str, parameter: str, value: object) -> dict[str, JSONValue]:
    """Return a copy of a mapping that ``json`` writes and reads back equal.

    Parameters
    ----------
    operator, parameter
        What the message starts with.
    value
        The mapping; numbers of NumPy become those of Python, tuples become lists.

    Raises
    ------
    ParameterError
        If it is no mapping, a key is no string, or a value is nothing that JSON has: NaN and
        infinity, whole numbers beyond 64 bits, text with half a surrogate pair, other objects, or
        lists and mappings more than 32 within one another.

    Examples
    --------
    >>> json_object("AddProperties", "properties", {"shop": (1, "a")})
    {'shop': [1, 'a']}
    >>> json_object("AddProperties", "properties", {"shop": float("nan")})
    Traceback (most recent call last):
        ...
    merlinkit.errors.ParameterError: AddProperties: properties holds NaN
    """
    if not isinstance(value, Mapping):
        raise ParameterError(
            f"{operator}: {parameter} is {value!r}, a mapping of names to values expected"
        )
    return _mapping(f"{operator}: {parameter}", value, 0)


def _mapping(where: str, value: Mapping[object, object], depth: int) -> dict[str, JSONValue]:
    out: dict[str, JSONValue] = {}
    for key, item in value.items():
        if not isinstance(key, str):
            raise ParameterError(
                f"{where} has the name {key!r} ({type(key).__name__}), a string expected"
            )
        _require_text(f"{where} has a name that", key)
        out[key] = _value(f"{where}[{key!r}]", item, depth + 1)
    return out


def _value(where: str, value: object, depth: int) -> JSONValue:
    if depth > _DEEPEST:
        raise ParameterError(
            f"{where}: lists and mappings are more than {_DEEPEST} within one another"
        )
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, str):
        _require_text(where, value)
        return str(value)
    if isinstance(value, Integral):
        number = int(value)
        if abs(number) >= _LARGEST:
            raise ParameterError(f"{where} is a whole number beyond 64 bits; make it a string")
        return number
    if isinstance(value, Real):
        if not math.isfinite(value):
            raise ParameterError(f"{where} is {float(value)}, which JSON cannot hold; use None")
        return float(value)
    if isinstance(value, list | tuple):
        return [_value(f"{where}[{place}]", item, depth + 1) for place, item in enumerate(value)]
    if isinstance(value, Mapping):
        return _mapping(where, value, depth)
    raise ParameterError(
        f"{where} is {value!r} ({type(value).__name__}), which JSON cannot hold; expected numbers, "
        "strings, booleans, None, and lists and mappings of these"
    )


def _require_text(where: str, text: str) -> None:
    try:
        text.encode()
    except UnicodeEncodeError:
        raise ParameterError(f"{where} holds half of a surrogate pair, which is no text") from None
