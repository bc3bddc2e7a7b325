"""Reading values of JSON that may be anything: what does not fit becomes None or empty."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any

__all__ = ["integer", "mapping", "number", "read_json", "read_json_lines", "sequence", "text"]

_LARGEST = 1e150  # Squares and differences of what is drawn stay finite.


def number(value: object) -> float | None:
    """Return a finite number, or None for anything else (booleans, NaN, infinity, text).

    Examples
    --------
    >>> number(2), number("2"), number(float("nan")), number(True)
    (2.0, None, None, None)
    """
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    if not -_LARGEST < value < _LARGEST:
        return None
    found = float(value)
    return found if math.isfinite(found) else None


def integer(value: object) -> int | None:
    """Return a whole number, or None for anything else."""
    found = number(value)
    return None if found is None or found != int(found) else int(found)


def text(value: object) -> str | None:
    """Return a string that is not blank; None for anything else."""
    return value if isinstance(value, str) and value.strip() else None


def mapping(value: object) -> Mapping[str, Any]:
    """Return a mapping, or an empty one."""
    return value if isinstance(value, Mapping) else {}


def sequence(value: object) -> list[Any]:
    """Return a list, or an empty one."""
    return value if isinstance(value, list) else []


def read_json(path: Path) -> tuple[Mapping[str, Any], str | None]:
    """Return the object that a file holds, and a sentence about what is wrong with it.

    A file that does not exist is empty, and nothing is wrong with that.
    """
    try:
        loaded = json.loads(path.read_bytes())
    except FileNotFoundError:
        return {}, None
    except (OSError, ValueError, RecursionError) as error:
        return {}, f"{path.name} could not be read: {error}"
    if not isinstance(loaded, dict):
        return {}, f"{path.name} could not be read: it does not hold a JSON object"
    return loaded, None


def read_json_lines(path: Path) -> tuple[list[Mapping[str, Any]], int]:
    """Return the objects of a file with one a line, and how many lines before the last are broken.

    The last line may be cut off where the process was killed: that is not counted.
    """
    objects: list[Mapping[str, Any]] = []
    broken: list[int] = []
    try:
        lines = path.read_bytes().splitlines()
    except OSError:
        return [], 0
    for place, line in enumerate(lines):
        if not line.strip():
            continue
        try:
            loaded = json.loads(line)
        except (ValueError, RecursionError):
            loaded = None
        if isinstance(loaded, dict):
            objects.append(loaded)
        else:
            broken.append(place)
    return objects, sum(place < len(lines) - 1 for place in broken)
