"""Checks of operator parameters, so that all operators refuse bad ones in the same words."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from merlinkit.errors import ParameterError, did_you_mean

__all__ = [
    "is_finite_number",
    "per_column",
    "require_bool",
    "require_choice",
    "require_int",
    "require_number",
    "require_text",
    "text_list",
]


def per_column(operator: str, name: str, value: int | Mapping[str, int]) -> int | dict[str, int]:
    """Return a whole number, or one for each named column, as a plain int or dict."""
    if isinstance(value, Mapping):
        return {str(column): number for column, number in value.items()}
    return value


def require_int(
    operator: str,
    name: str,
    value: int | dict[str, int],
    *,
    minimum: int | None = None,
    maximum: int = 2**31 - 1,
) -> None:
    """Raise `ParameterError` unless a value, or each value of a mapping, is a whole number."""
    items = value.items() if isinstance(value, dict) else [("", value)]
    for column, number in items:
        where = f" for column '{column}'" if column else ""
        if isinstance(number, bool) or not isinstance(number, int):
            raise ParameterError(
                f"{operator}: {name}{where} is {number!r}, a whole number expected"
            )
        if minimum is not None and number < minimum:
            raise ParameterError(
                f"{operator}: {name}{where} is {number}, at least {minimum} expected"
            )
        if number > maximum:
            raise ParameterError(
                f"{operator}: {name}{where} is {number}, at most {maximum} expected"
            )


def require_number(operator: str, name: str, value: object) -> None:
    """Raise `ParameterError` unless a value is a finite number."""
    if not is_finite_number(value):
        raise ParameterError(f"{operator}: {name} is {value!r}, a finite number expected")


def is_finite_number(value: object) -> bool:
    """Tell whether a value is a number that a float can hold, and no boolean."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return False
    try:
        return math.isfinite(value)
    except OverflowError:
        return False


def require_bool(operator: str, name: str, value: object) -> None:
    """Raise `ParameterError` unless a value is true or false."""
    if not isinstance(value, bool):
        raise ParameterError(f"{operator}: {name} is {value!r}, true or false expected")


def require_text(operator: str, name: str, value: object) -> None:
    """Raise `ParameterError` unless a value is a string that is not empty."""
    if not isinstance(value, str) or not value:
        raise ParameterError(f"{operator}: {name} is {value!r}, a non-empty string expected")


def require_choice(operator: str, name: str, value: object, choices: Sequence[str]) -> str:
    """Return the value, or raise `ParameterError` unless it is one of the choices."""
    if not isinstance(value, str) or value not in choices:
        listed = ", ".join(repr(choice) for choice in choices)
        raise ParameterError(
            f"{operator}: {name} is {value!r}, one of {listed} expected."
            f"{did_you_mean(str(value), choices)}"
        )
    return value


def text_list(operator: str, name: str, value: object) -> list[str]:
    """Return a list of strings from one string or several, or raise `ParameterError`."""
    listed = [value] if isinstance(value, str) else value
    if (
        not isinstance(listed, Sequence | set | frozenset)
        or not listed
        or not all(isinstance(item, str) and item for item in listed)
    ):
        raise ParameterError(
            f"{operator}: {name} is {value!r}, a string or a list of strings expected"
        )
    return [
        str(item) for item in (sorted(listed) if isinstance(listed, set | frozenset) else listed)
    ]
