"""Getting a `DataError` back out of Polars, which wraps what a Python reader raises.

Text files are read by readers of ours that run inside a Polars plan. Polars reports whatever they
raise as a ``ComputeError`` that quotes the message. Whoever runs plans puts `data_errors` around
the call, so that the user sees the reader's one clear message.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import polars as pl

from merlinkit.errors import DataError, RunDirError

__all__ = ["POLARS_ERRORS", "as_data_error", "data_error", "data_errors", "folder_errors"]

POLARS_ERRORS = (pl.exceptions.PolarsError, pl.exceptions.PanicException)
"""What Polars raises: errors, and panics, which damaged files can cause and `Exception` is not."""

_MARK = f"exception: {DataError.__name__}: "
_CONTEXT = "\n\nThis error occurred with the following context stack"


def as_data_error(error: BaseException) -> DataError | None:
    """Return the `DataError` that a reader raised inside a plan, or None for any other error."""
    _, found, message = str(error).partition(_MARK)
    return DataError(message.partition(_CONTEXT)[0]) if found else None


def data_error(what: str, error: BaseException) -> DataError:
    """Return what a reader found wrong with the data, or else what Polars says, as `DataError`.

    Parameters
    ----------
    what
        What was being done, for messages that do not come from a reader of ours.
    error
        What Polars raised.
    """
    found = as_data_error(error)
    said = str(error).partition(chr(10))[0]
    if isinstance(error, pl.exceptions.PanicException):
        said = f"Polars gave up on it, most often since a file is damaged ({said})"
    return found or DataError(f"{what}: {said}")


@contextmanager
def folder_errors(folder: Path) -> Iterator[None]:
    """Raise what the system says of a folder that cannot be written as `RunDirError`."""
    if folder.exists() and not folder.is_dir():
        raise RunDirError(f"{folder} is a file, a folder to write expected")
    try:
        yield
    except OSError as error:
        reason = error.strerror or str(error)
        raise RunDirError(f"{folder} cannot be written: {reason}") from error


@contextmanager
def data_errors(what: str | None = None) -> Iterator[None]:
    """Raise what readers found wrong with the data as `DataError`.

    Parameters
    ----------
    what
        What was being done, for anything else that Polars says of the data. With None that passes
        through.

    Examples
    --------
    >>> with data_errors():
    ...     rows = pl.LazyFrame({"a": [1, 2]}).collect().height
    >>> rows
    2
    """
    try:
        yield
    except POLARS_ERRORS as error:
        if what is not None:
            raise data_error(what, error) from error
        found = as_data_error(error)
        if found is None:
            raise
        raise found from None
