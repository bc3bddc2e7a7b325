"""A piece of work that an engine does in one place: on one partition, or on one result."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Generic, TypeVar

if TYPE_CHECKING:
    from merlinkit.engine.base import LocalEngine

__all__ = ["Task"]

Result = TypeVar("Result", covariant=True)


@dataclass(frozen=True)
class Task(Generic[Result]):
    """What to do with a partition, wherever it is done.

    Parameters
    ----------
    label
        What it works on, for messages: ``"transform logs/a.parquet"``.
    work
        Does it, with an engine of the process that it finds itself in. It can be pickled: a
        function of a module with `functools.partial`. What it returns is small, or names files.
    """

    label: str
    work: Callable[[LocalEngine], Result]
