"""Turning a section of the configuration into a checked object, with every problem collected."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from typing import Any, TypeVar

from merlinkit.errors import ConfigError, MerlinkitError, did_you_mean

__all__ = ["as_mapping", "build"]

T = TypeVar("T")


def as_mapping(key: str, value: Any, problems: list[str]) -> dict[str, Any]:
    """Return a section as a dict; anything else is a problem and gives an empty one."""
    if isinstance(value, Mapping):
        return {str(name): item for name, item in value.items()}
    problems.append(f"{key}: {value!r} found, a mapping of names to values expected")
    return {}


def build(
    make: Callable[..., T], key: str, values: Mapping[str, Any], problems: list[str]
) -> T | None:
    """Return what a class or function makes of the values of a section, or None.

    Parameters
    ----------
    make
        Takes the values by name and raises a `MerlinkitError` for bad ones.
    key
        Where the section is, for messages: ``"dataset.csv"``.
    values
        The values. Names that `make` does not take are problems.
    problems
        Where problems are added.
    """
    signature = inspect.signature(make).parameters
    before = len(problems)
    for name in values:
        if name not in signature:
            problems.append(
                f"{key}.{name} is not a setting.{did_you_mean(name, signature)} "
                f"{key} takes {', '.join(signature)}."
            )
    for name, parameter in signature.items():
        if parameter.default is inspect.Parameter.empty and values.get(name) is None:
            problems.append(f"{key}.{name} is missing")
    known = {name: value for name, value in values.items() if name in signature}
    if len(problems) > before and any(problem.endswith("is missing") for problem in problems):
        return None
    try:
        made = make(**known)
    except ConfigError as error:
        problems.extend(error.problems)
        return None
    except MerlinkitError as error:
        problems.append(f"{key}: {error}")
        return None
    except (TypeError, ValueError) as error:
        # A dataclass that meets a value of a type it never thought of.
        problems.append(f"{key}: {error}")
        return None
    return made if len(problems) == before else None
